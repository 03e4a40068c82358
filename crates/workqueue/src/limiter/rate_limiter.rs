//! The trait of all rate limiters.

use std::time::Duration;

use crate::sync::Instant;

/// Determines the delay of an item from the number of its failures.
///
/// The queue calls it under a lock, so implementations need none, and must not call the queue.
pub trait RateLimiter<T> {
    /// Counts a failure of `item` and returns its delay from `now`.
    fn when(&mut self, item: &T, now: Instant) -> Duration;

    /// Drops `item` and its failures, because it succeeded or was abandoned.
    fn forget(&mut self, item: &T);

    /// Returns the number of failures of `item` since it was last forgotten.
    fn retries(&self, item: &T) -> u32;
}
