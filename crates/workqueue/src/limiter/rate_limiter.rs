//! What every rate limiter answers.

use std::time::Duration;

use crate::sync::Instant;

/// Says how long an item has to wait, and remembers its failures until they are forgotten.
///
/// The queue calls it under a lock of its own, so implementations need none, and must not call the queue.
pub trait RateLimiter<T> {
    /// Counts one more failure of `item` and returns how long it waits from `now` on.
    fn when(&mut self, item: &T, now: Instant) -> Duration;

    /// Forgets the failures of `item`, because it succeeded or because it is given up; keeps nothing of the item.
    fn forget(&mut self, item: &T);

    /// Returns how many failures of `item` are remembered.
    fn retries(&self, item: &T) -> u32;
}
