//! Takes the stricter of two limiters.

use std::time::Duration;

use super::rate_limiter::RateLimiter;
use crate::sync::Instant;

/// Combines two limiters: returns the longer delay and the larger number of retries.
///
/// Nest it to combine more than two: `MaxOf::new(a, MaxOf::new(b, c))`.
#[derive(Clone, Debug)]
pub struct MaxOf<A, B> {
    first: A,
    second: B,
}

impl<A, B> MaxOf<A, B> {
    /// Creates a limiter from two others.
    pub fn new(first: A, second: B) -> Self {
        Self { first, second }
    }
}

impl<T, A: RateLimiter<T>, B: RateLimiter<T>> RateLimiter<T> for MaxOf<A, B> {
    fn when(&mut self, item: &T, now: Instant) -> Duration {
        self.first.when(item, now).max(self.second.when(item, now))
    }

    fn forget(&mut self, item: &T) {
        self.first.forget(item);
        self.second.forget(item);
    }

    fn retries(&self, item: &T) -> u32 {
        self.first.retries(item).max(self.second.retries(item))
    }
}
