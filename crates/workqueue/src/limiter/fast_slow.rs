//! Retries an item quickly a few times, then slowly.

use std::hash::Hash;
use std::time::Duration;

use super::failures::Failures;
use super::rate_limiter::RateLimiter;
use crate::sync::Instant;

/// Delays the first attempts of an item by `fast` and all others by `slow`.
#[derive(Clone, Debug)]
pub struct FastSlow<T> {
    fast: Duration,
    slow: Duration,
    fast_attempts: u32,
    failures: Failures<T>,
}

impl<T> FastSlow<T> {
    /// Creates a limiter that uses `fast` for the first `fast_attempts` attempts and `slow` for all others.
    pub fn new(fast: Duration, slow: Duration, fast_attempts: u32) -> Self {
        Self { fast, slow, fast_attempts, failures: Failures::new() }
    }
}

impl<T: Clone + Eq + Hash> RateLimiter<T> for FastSlow<T> {
    fn when(&mut self, item: &T, _: Instant) -> Duration {
        if self.failures.item_failed(item) < self.fast_attempts { self.fast } else { self.slow }
    }

    fn forget(&mut self, item: &T) {
        self.failures.forget(item);
    }

    fn retries(&self, item: &T) -> u32 {
        self.failures.count(item)
    }
}
