//! Caps the delays of another limiter.

use std::time::Duration;

use super::rate_limiter::RateLimiter;
use crate::sync::Instant;

/// Caps the delays of another limiter.
#[derive(Clone, Debug)]
pub struct MaxWait<L> {
    limiter: L,
    max: Duration,
}

impl<L> MaxWait<L> {
    /// Creates a limiter that returns the delays of `limiter`, but at most `max`.
    pub fn new(limiter: L, max: Duration) -> Self {
        Self { limiter, max }
    }
}

impl<T, L: RateLimiter<T>> RateLimiter<T> for MaxWait<L> {
    fn when(&mut self, item: &T, now: Instant) -> Duration {
        self.limiter.when(item, now).min(self.max)
    }

    fn forget(&mut self, item: &T) {
        self.limiter.forget(item);
    }

    fn retries(&self, item: &T) -> u32 {
        self.limiter.retries(item)
    }
}
