//! Delays between retries: exponential backoff, jitter, and a window for immediate retries.

use kube_informer_wire::rng;
use std::time::Duration;
use tokio::time::Instant;

/// The parameters of an exponential backoff.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backoff {
    /// The first delay.
    pub initial: Duration,
    /// The maximum delay, before jitter.
    pub cap: Duration,
    /// The factor by which each delay is longer than the previous one.
    pub factor: f64,
    /// The maximum share of a delay that is added to it at random: 1 at most doubles it. Negative values mean no jitter.
    pub jitter: f64,
    /// The time without a failure, after a delay, after which delays start with `initial` again. Zero means that all delays are
    /// `initial`.
    pub reset: Duration,
}

/// client-go's values: from 0.8 s, doubling up to 30 s, with a jitter of 1 and a reset after two minutes.
impl Default for Backoff {
    fn default() -> Self {
        Self {
            initial: Duration::from_millis(800),
            cap: Duration::from_secs(30),
            factor: 2.0,
            jitter: 1.0,
            reset: Duration::from_secs(120),
        }
    }
}

/// The current state of a [`Backoff`].
#[derive(Clone, Debug)]
pub(super) struct BackoffState {
    backoff: Backoff,
    next: Duration,
    last: Option<Instant>,
}

impl BackoffState {
    pub(super) fn new(backoff: Backoff) -> Self {
        Self { backoff, next: backoff.initial, last: None }
    }

    /// Returns the delay after a failure at `now`.
    pub(super) fn next(&mut self, now: Instant, random: &mut Jitter) -> Duration {
        let Backoff { initial, cap, factor, jitter, reset } = self.backoff;
        if self.last.is_some_and(|last| reset.is_zero() || now - last > reset) {
            self.next = initial;
        }
        let delay = self.next.min(cap);
        self.next = delay.mul_f64(factor.max(1.0)).min(cap);
        let delay = delay + delay.mul_f64(jitter.max(0.0) * random.next());
        // The delay itself is not a time without a failure: it may be longer than `reset`.
        self.last = Some(now + delay);
        delay
    }
}

/// A SplitMix64 generator, which is good enough for jitter.
#[derive(Clone, Debug)]
pub(super) struct Jitter(u64);

impl Jitter {
    pub(super) fn from_entropy() -> Self {
        Self(rng::next_u64())
    }

    #[cfg(test)]
    fn from_seed(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number in `0.0..1.0`.
    pub(super) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        // The upper 53 bits fill the mantissa of a double.
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Errors further apart than this do not count as consecutive.
const RETRY_WINDOW_RESET: Duration = Duration::from_secs(60);

/// Allows immediate retries while consecutive errors span less than a limit.
#[derive(Clone, Debug)]
pub(super) struct RetryWindow {
    limit: Duration,
    reset: Duration,
    errors: Option<ErrorSpan>,
}

/// The first and the last of consecutive errors.
#[derive(Clone, Copy, Debug)]
struct ErrorSpan {
    first: Instant,
    last: Instant,
}

impl RetryWindow {
    /// Allows retries for `limit`; zero means none.
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, reset: RETRY_WINDOW_RESET, errors: None }
    }

    /// Returns whether to retry immediately after an error at `now`.
    pub(super) fn allows(&mut self, now: Instant) -> bool {
        let consecutive = self.errors.filter(|errors| now - errors.last < self.reset);
        let first = consecutive.map_or(now, |errors| errors.first);
        let is_allowed = !self.limit.is_zero() && now - first <= self.limit;
        self.errors = is_allowed.then_some(ErrorSpan { first, last: now });
        is_allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Backoff = Backoff {
        initial: Duration::from_secs(1),
        cap: Duration::from_secs(10),
        factor: 2.0,
        jitter: -1.0,
        reset: Duration::from_secs(10),
    };

    /// Returns the first delays of a backoff whose failures all happen at the same time.
    fn delays(backoff: Backoff, seed: u64, count: usize) -> Vec<Duration> {
        let mut state = BackoffState::new(backoff);
        let mut jitter = Jitter::from_seed(seed);
        let now = Instant::now();
        (0..count).map(|_| state.next(now, &mut jitter)).collect()
    }

    fn seconds(backoff: Backoff, count: usize) -> Vec<u64> {
        delays(backoff, 1, count).iter().map(Duration::as_secs).collect()
    }

    // R56
    #[test]
    fn delays_double_up_to_the_cap_and_reset_after_a_pause() {
        assert_eq!(seconds(PLAIN, 7), [1, 2, 4, 8, 10, 10, 10]);
        let mut state = BackoffState::new(PLAIN);
        let mut jitter = Jitter::from_seed(1);
        let now = Instant::now();
        let mut at = |seconds| state.next(now + Duration::from_secs(seconds), &mut jitter).as_secs();
        assert_eq!([at(0), at(11), at(23), at(38)], [1, 2, 4, 1]);
    }

    #[test]
    fn delays_do_not_reset_while_failures_continue() {
        let mut state = BackoffState::new(Backoff::default());
        let mut jitter = Jitter::from_seed(1);
        let mut now = Instant::now();
        let all: Vec<_> = (0..200)
            .map(|_| {
                let delay = state.next(now, &mut jitter);
                now += delay;
                delay
            })
            .collect();
        assert!(all[10..].iter().all(|delay| *delay >= Duration::from_secs(30)), "{all:?}");
    }

    // R56
    #[test]
    fn delays_reach_a_cap_above_the_reset_time() {
        let patient = Backoff { cap: Duration::from_secs(600), jitter: 1.0, ..Backoff::default() };
        let mut state = BackoffState::new(patient);
        let mut jitter = Jitter::from_seed(1);
        let mut now = Instant::now();
        let mut longest = Duration::ZERO;
        for _ in 0..20 {
            let delay = state.next(now, &mut jitter);
            assert!(delay >= longest.min(Duration::from_secs(600)) / 2, "{delay:?} after {longest:?}");
            longest = longest.max(delay);
            now += delay;
        }
        assert!(longest >= patient.cap, "{longest:?}");
    }

    // R57
    #[test]
    fn all_delays_are_initial_if_the_reset_is_zero() {
        assert_eq!(seconds(Backoff { reset: Duration::ZERO, ..PLAIN }, 4), [1, 1, 1, 1]);
    }

    // R58
    #[test]
    fn jitter_adds_up_to_its_share() {
        let mut jitter = Jitter::from_seed(7);
        let now = Instant::now();
        let backoff = Backoff { jitter: 1.0, ..PLAIN };
        let mut first = || BackoffState::new(backoff).next(now, &mut jitter).as_secs_f64();
        let all: Vec<_> = (0..1000).map(|_| first()).collect();
        assert!(all.iter().all(|delay| (1.0..=2.0).contains(delay)));
        assert!(all.iter().any(|delay| *delay < 1.1) && all.iter().any(|delay| *delay > 1.9));
    }

    // R59
    #[test]
    fn a_custom_backoff_is_used() {
        let custom = Backoff { initial: Duration::from_millis(10), cap: Duration::from_millis(100), ..PLAIN };
        let total: Duration = delays(custom, 1, 5).iter().sum();
        assert_eq!(total, Duration::from_millis(10 + 20 + 40 + 80 + 100));
    }

    // R60
    #[test]
    fn delays_with_jitter_sum_to_between_once_and_twice_the_plain_sum() {
        let quick =
            Backoff { initial: Duration::from_millis(1), cap: Duration::from_secs(30), jitter: 1.0, ..PLAIN };
        let capped = Backoff { cap: Duration::from_millis(50), ..quick };
        for (backoff, count, min, max) in [(quick, 5, 31, 64), (capped, 40, 1700, 4000)] {
            let total: Duration = delays(backoff, 3, count).iter().sum();
            assert!((min..=max).contains(&total.as_millis()), "{total:?}");
        }
    }

    /// Returns whether a retry is allowed for errors after each of these gaps, in seconds.
    fn allowed(mut window: RetryWindow, gaps: &[u64]) -> Vec<bool> {
        let mut now = Instant::now();
        gaps.iter()
            .map(|gap| {
                now += Duration::from_secs(*gap);
                window.allows(now)
            })
            .collect()
    }

    // R34
    #[test]
    fn the_retry_window_closes_and_opens_again() {
        let window =
            || RetryWindow { reset: Duration::from_secs(30), ..RetryWindow::new(Duration::from_secs(1)) };
        assert_eq!(allowed(window(), &[1, 1, 1]), [true, true, false]);
        assert_eq!(allowed(window(), &[1, 1, 1, 1]), [true, true, false, true]);
        assert_eq!(allowed(window(), &[1, 1, 30, 1, 1]), [true, true, true, true, false]);
    }

    // R33
    #[test]
    fn a_retry_window_of_zero_allows_no_retry() {
        assert_eq!(allowed(RetryWindow::new(Duration::ZERO), &[1, 1]), [false, false]);
    }

    // R33
    #[test]
    fn the_retry_window_allows_retries_up_to_its_limit() {
        let retries = |gaps: &[u64]| {
            let all = allowed(RetryWindow::new(Duration::from_secs(30)), gaps);
            all.iter().take_while(|is_allowed| **is_allowed).count()
        };
        assert_eq!(retries(&[1; 100]), 31);
        let mut jump = [1; 100];
        jump[9] = 60;
        assert_eq!(retries(&jump), 40);
    }
}
