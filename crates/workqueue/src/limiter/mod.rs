//! Rate limiters, which determine the delay before an item is retried.

mod rate_limiter;
mod failures;
mod bucket;
mod exponential;
mod fast_slow;
mod max_of;
mod max_wait;

use std::hash::Hash;
use std::time::Duration;

pub use bucket::Bucket;
pub use exponential::Exponential;
pub use fast_slow::FastSlow;
pub use max_of::MaxOf;
pub use max_wait::MaxWait;
pub use rate_limiter::RateLimiter;

/// Creates the default limiter of a controller: each item backs off from 5 ms to 1000 s, and all items together are
/// limited to 10 retries per second with a burst of 100.
pub fn default_controller<T: Clone + Eq + Hash>() -> MaxOf<Exponential<T>, Bucket> {
    MaxOf::new(Exponential::new(Duration::from_millis(5), Duration::from_secs(1000)), Bucket::new(10.0, 100))
}

/// Creates a limiter without an overall limit: each item backs off from 1 ms to 1000 s.
pub fn default_item_based<T: Clone + Eq + Hash>() -> Exponential<T> {
    Exponential::new(Duration::from_millis(1), Duration::from_secs(1000))
}

#[cfg(test)]
mod tests;
