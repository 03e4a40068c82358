//! How long an item waits before it is tried again.

mod bucket;
mod exponential;
mod fast_slow;
mod max_of;
mod max_wait;

use std::hash::Hash;
use std::time::Duration;

use crate::sync::Instant;

pub use bucket::Bucket;
pub use exponential::Exponential;
pub use fast_slow::FastSlow;
pub use max_of::MaxOf;
pub use max_wait::MaxWait;

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

/// Creates the limiter of a controller: each item backs off from 5 ms to 1000 s, and all together are retried ten
/// times a second after a burst of a hundred.
pub fn default_controller<T: Clone + Eq + Hash>() -> MaxOf<Exponential<T>, Bucket> {
    MaxOf::new(Exponential::new(Duration::from_millis(5), Duration::from_secs(1000)), Bucket::new(10.0, 100))
}

/// Creates a limiter that knows only about single items, which back off from 1 ms to 1000 s.
pub fn default_item_based<T: Clone + Eq + Hash>() -> Exponential<T> {
    Exponential::new(Duration::from_millis(1), Duration::from_secs(1000))
}

#[cfg(test)]
mod tests;
