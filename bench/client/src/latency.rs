//! How long events were on their way, in windows of some of them, and whether they came in time at all.
//!
//! One moment in which the machine did something else spoils the window that it falls in, and no other: what is typical
//! of a client is in its calm ones.

/// One event that says when it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timed {
    /// When, in nanoseconds since 1970.
    pub sent: u64,
    /// How long it was on its way, in nanoseconds.
    pub took: u64,
}

/// The length of a window, in nanoseconds, and of one of events that come less often than so many a second. With many events the
/// collector of a client runs every two seconds, and is in each long window; with few it runs every ten, and is in some of
/// many short ones, where it would be in one of few long ones or in none, by chance.
const WINDOW: u64 = 2_500_000_000;
const SHORT_WINDOW: u64 = 100_000_000;
const OFTEN: f64 = 2_000.0;
/// The least number of events in a window, unless there are no more.
const LEAST: f64 = 100.0;
/// What takes longer has waited in a queue, or for a collector.
const SOON: u64 = 5_000_000;

/// In each window, the time below which this share of its events lies, in milliseconds.
///
/// Windows have the same number of events, as many as are sent in some seconds, or in a tenth of one where they come seldom.
#[must_use]
pub fn windows(timed: &[Timed], share: f64) -> Vec<f64> {
    let mut sorted = timed.to_vec();
    sorted.sort_unstable();
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else { return Vec::new() };
    let span = last.sent - first.sent;
    let rate = sorted.len() as f64 * 1e9 / span.max(1) as f64;
    let window = if rate < OFTEN { SHORT_WINDOW.max((LEAST * 1e9 / rate) as u64) } else { WINDOW };
    let windows = ((span + window / 2) / window).max(1);
    let size = sorted.len().div_ceil(windows as usize);
    let quantile_of = |window: &[Timed]| {
        let mut took: Vec<_> = window.iter().map(|timed| timed.took).collect();
        took.sort_unstable();
        quantile(&took, share)
    };
    sorted.chunks(size).map(quantile_of).collect()
}

/// The share of so many events that came soon after they were sent: little where they are sent faster than they are taken.
#[must_use]
pub fn in_time(timed: &[Timed], events: u64) -> f64 {
    let came = timed.iter().filter(|timed| timed.took <= SOON).count();
    came as f64 / events.max(1) as f64
}

/// The value below which this share of sorted values lies, in milliseconds.
fn quantile(sorted: &[u64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    let at = (last as f64 * share).round() as usize;
    sorted.get(at).map_or(0.0, |nanos| *nanos as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An event a millisecond, each of which takes so many milliseconds.
    fn timed(took: impl IntoIterator<Item = u64>) -> Vec<Timed> {
        each(1_000_000, took)
    }

    /// An event every so many nanoseconds.
    fn each(every: u64, took: impl IntoIterator<Item = u64>) -> Vec<Timed> {
        let took = took.into_iter().enumerate();
        took.map(|(at, took)| Timed { sent: at as u64 * every, took: took * 1_000_000 }).collect()
    }

    #[test]
    fn quantiles_are_of_the_values_there_are() {
        let values: Vec<_> = (0..=100).map(|ms| ms * 1_000_000).collect();
        assert_eq!([0.5, 0.99].map(|share| quantile(&values, share)), [50.0, 99.0]);
        assert_eq!(quantile(&[], 0.5), 0.0);
    }

    #[test]
    fn a_bad_moment_spoils_the_window_it_is_in() {
        let took = |events: u64| (0..events).map(move |at| if at * 10 / events == 4 { 40 } else { 1 });
        assert_eq!(windows(&each(500_000, took(15_000)), 0.85), [1.0, 40.0, 1.0]);
        let seldom = windows(&timed(took(1000)), 0.99);
        assert_eq!(seldom, [1.0, 1.0, 1.0, 1.0, 40.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
        assert_eq!(windows(&timed(took(100)), 0.5), [1.0]);
        // In three seconds, a hundred a second.
        assert_eq!(windows(&each(10_000_000, took(300)), 0.85), [1.0, 40.0, 1.0]);
        assert_eq!(windows(&[], 0.5), [0.0; 0]);
    }

    #[test]
    fn what_comes_from_a_queue_that_grew_is_late() {
        assert_eq!(in_time(&timed(vec![3; 1000]), 1000), 1.0);
        // Each event waits longer than the one before it.
        let share = in_time(&timed((0..1000).map(|at| at / 100)), 1000);
        assert!((0.59..0.61).contains(&share), "{share}");
        // What never came did not come in time.
        assert_eq!(in_time(&timed(vec![3; 500]), 1000), 0.5);
    }
}
