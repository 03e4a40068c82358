//! Doubles the delay with each failure of an item.

use std::hash::Hash;
use std::time::Duration;

use super::failures::Failures;
use super::rate_limiter::RateLimiter;
use crate::sync::Instant;

/// Delays each item by `base` at first and doubles the delay with each failure, up to `max`.
#[derive(Clone, Debug)]
pub struct Exponential<T> {
    base: Duration,
    max: Duration,
    failures: Failures<T>,
}

impl<T> Exponential<T> {
    /// Creates a limiter with the initial delay `base` and the maximum delay `max`.
    pub fn new(base: Duration, max: Duration) -> Self {
        Self { base, max, failures: Failures::new() }
    }
}

impl<T: Clone + Eq + Hash> RateLimiter<T> for Exponential<T> {
    fn when(&mut self, item: &T, _: Instant) -> Duration {
        // The largest power of two that is still a finite number.
        let doublings = self.failures.item_failed(item).min(1023) as i32;
        let wait = self.base.as_secs_f64() * 2f64.powi(doublings);
        Duration::try_from_secs_f64(wait).map_or(self.max, |wait| wait.min(self.max))
    }

    fn forget(&mut self, item: &T) {
        self.failures.forget(item);
    }

    fn retries(&self, item: &T) -> u32 {
        self.failures.count(item)
    }
}
