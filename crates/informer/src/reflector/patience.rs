//! How long to bear with a server that has trouble of its own.

use std::time::Duration;
use tokio::time::Instant;

/// Errors further apart than this do not belong together.
const RESET: Duration = Duration::from_secs(60);

/// Retries at once for as long as errors of one kind have not gone on for too long.
#[derive(Clone, Debug)]
pub(crate) struct Patience {
    limit: Duration,
    reset: Duration,
    /// The first and the last error of those that belong together.
    errors: Option<(Instant, Instant)>,
}

impl Patience {
    /// Retries for `limit`; zero means never.
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit, reset: RESET, errors: None }
    }

    /// An error came. Whether to retry at once.
    pub(crate) fn bears(&mut self, now: Instant) -> bool {
        let recent = self.errors.filter(|(_, last)| now - *last < self.reset);
        let first = recent.map_or(now, |(first, _)| first);
        let bears = !self.limit.is_zero() && now - first <= self.limit;
        self.errors = bears.then_some((first, now));
        bears
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether it bears with errors after each of these many seconds.
    fn bears(patience: Patience, gaps: &[u64]) -> Vec<bool> {
        let (mut patience, mut now) = (patience, Instant::now());
        gaps.iter()
            .map(|gap| {
                now += Duration::from_secs(*gap);
                patience.bears(now)
            })
            .collect()
    }

    // R34
    #[test]
    fn ends_when_errors_have_gone_on_for_too_long() {
        let patience =
            || Patience { reset: Duration::from_secs(30), ..Patience::new(Duration::from_secs(1)) };
        assert_eq!(bears(patience(), &[1, 1, 1]), [true, true, false]);
        assert_eq!(bears(patience(), &[1, 1, 1, 1]), [true, true, false, true]);
        assert_eq!(bears(patience(), &[1, 1, 30, 1, 1]), [true, true, true, true, false]);
    }

    // R33
    #[test]
    fn never_retries_without_patience() {
        assert_eq!(bears(Patience::new(Duration::ZERO), &[1, 1]), [false, false]);
    }

    // R33
    #[test]
    fn retries_until_the_time_is_over() {
        let retries = |gaps: &[u64]| {
            let all = bears(Patience::new(Duration::from_secs(30)), gaps);
            all.iter().take_while(|bears| **bears).count()
        };
        assert_eq!(retries(&[1; 100]), 31);
        let mut jump = [1; 100];
        jump[9] = 60;
        assert_eq!(retries(&jump), 40);
    }
}
