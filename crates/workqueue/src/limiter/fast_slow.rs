//! Retries an item quickly a few times, then slowly.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use super::rate_limiter::RateLimiter;
use crate::sync::Instant;

/// Waits `fast` for the first attempts of an item and `slow` for the others.
#[derive(Clone, Debug)]
pub struct FastSlow<T> {
    fast: Duration,
    slow: Duration,
    fast_attempts: u32,
    failures: HashMap<T, u32>,
}

impl<T> FastSlow<T> {
    /// Creates a limiter that waits `fast` up to `fast_attempts` times and `slow` from then on.
    pub fn new(fast: Duration, slow: Duration, fast_attempts: u32) -> Self {
        Self { fast, slow, fast_attempts, failures: HashMap::new() }
    }
}

impl<T: Clone + Eq + Hash> RateLimiter<T> for FastSlow<T> {
    fn when(&mut self, item: &T, _: Instant) -> Duration {
        let failures = self.failures.entry(item.clone()).or_insert(0);
        *failures = failures.saturating_add(1);
        if *failures <= self.fast_attempts { self.fast } else { self.slow }
    }

    fn forget(&mut self, item: &T) {
        self.failures.remove(item);
    }

    fn retries(&self, item: &T) -> u32 {
        self.failures.get(item).copied().unwrap_or(0)
    }
}
