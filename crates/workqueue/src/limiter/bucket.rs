//! Limits the total rate of all items.

use std::time::Duration;

use super::rate_limiter::RateLimiter;
use crate::sync::Instant;

/// A token bucket. Each retry takes a token, and waits for it if the bucket is empty.
///
/// It does not distinguish items, so `forget` does nothing and `retries` is always 0.
#[derive(Clone, Debug)]
pub struct Bucket {
    per_second: f64,
    burst: f64,
    tokens: f64,
    filled: Option<Instant>,
}

impl Bucket {
    /// Creates a full bucket of `burst` tokens that gains `per_second` tokens a second.
    pub fn new(per_second: f64, burst: u32) -> Self {
        let burst = f64::from(burst);
        Self { per_second, burst, tokens: burst, filled: None }
    }
}

impl<T> RateLimiter<T> for Bucket {
    fn when(&mut self, _: &T, now: Instant) -> Duration {
        let elapsed = self.filled.map_or(Duration::ZERO, |filled| now.saturating_duration_since(filled));
        self.filled = self.filled.max(Some(now));
        self.tokens = (self.tokens + elapsed.as_secs_f64() * self.per_second).min(self.burst) - 1.0;
        if self.tokens >= 0.0 {
            return Duration::ZERO;
        }
        // A rate of zero never refills the bucket.
        Duration::try_from_secs_f64(-self.tokens / self.per_second).unwrap_or(Duration::MAX)
    }

    fn forget(&mut self, _: &T) {}

    fn retries(&self, _: &T) -> u32 {
        0
    }
}
