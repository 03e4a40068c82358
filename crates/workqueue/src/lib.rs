//! A deduplicating work queue for controllers, in the manner of client-go's `workqueue`.
//!
//! Producers add keys; workers get one key at a time. A key that is added several times before a worker takes it is
//! handed out once. A key that is added while a worker processes it is handed out again afterwards, never to two
//! workers at once. Keys can be delayed, retried with a rate limit, and ordered by priority.
//!
//! ```
//! use kube_workqueue::Queue;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! # async fn reconcile(_: &str) -> Result<(), &'static str> { Ok(()) }
//! let queue = Queue::new();
//! queue.add("default/web");
//! queue.add("default/web");
//! queue.shut_down();
//!
//! let mut rounds = 0;
//! while let Some(key) = queue.get().await {
//!     match reconcile(&key).await {
//!         Ok(()) => queue.forget(&key),
//!         Err(_) => queue.add_rate_limited(*key),
//!     }
//!     rounds += 1;
//! } // dropping `key` marks it as done
//! assert_eq!(rounds, 1);
//! # }
//! ```
//!
//! # From client-go
//!
//! | client-go | here |
//! |---|---|
//! | `TypedRateLimitingInterface[T]` | [`Queue<T>`](Queue); always with delays and rate limits |
//! | `NewTypedRateLimitingQueue`, its config | [`Queue::new`], [`Queue::builder`] |
//! | `Add`, `AddAfter` | [`Queue::add`], [`Queue::add_after`] |
//! | `AddRateLimited` | [`Queue::add_rate_limited`] |
//! | `Get`, `Done` | [`Queue::get`], dropping [`Processing`] or calling [`Processing::done`] |
//! | `Forget`, `NumRequeues` | [`Queue::forget`], [`Queue::retries`] |
//! | `Len`, `ShuttingDown` | [`Queue::len`], [`Queue::is_shutting_down`] |
//! | `ShutDown`, `ShutDownWithDrain` | [`Queue::shut_down`], [`Queue::shut_down_with_drain`] |
//! | `TypedRateLimiter[T]` | [`limiter::RateLimiter`] |
//! | `DefaultTypedControllerRateLimiter` | [`limiter::default_controller`] |
//! | `DefaultTypedItemBasedRateLimiter` | [`limiter::default_item_based`] |
//! | `TypedItemExponentialFailureRateLimiter` | [`limiter::Exponential`] |
//! | `TypedItemFastSlowRateLimiter` | [`limiter::FastSlow`] |
//! | `TypedBucketRateLimiter` | [`limiter::Bucket`] |
//! | `TypedMaxOfRateLimiter`, `TypedWithMaxWaitRateLimiter` | [`limiter::MaxOf`], [`limiter::MaxWait`] |
//! | `MetricsProvider` | [`Queue::metrics`], pulled instead of pushed |
//! | controller-runtime's `priorityqueue` | [`Queue<T, Priority>`](Priority), [`Queue::at_priority`] |
//!
//! There are two differences. After shutdown, [`Queue::get`] and a drain also wait for keys that were added again while
//! they were processed, because these are handed out once more. And there is no background task: the waiting workers
//! set the timers for delayed keys, so there is nothing to stop.

mod sync;
mod capacity;
mod order;
mod waiters;
mod entries;
mod delayed;
pub mod limiter;
mod metrics;
mod backlog;
mod state;
mod locked_state;
mod drain;
mod idle;
mod processing;
mod get;
mod queue;
mod at_priority;
mod builder;

pub use at_priority::AtPriority;
pub use builder::Builder;
pub use metrics::{Histogram, Metrics};
pub use order::{Fifo, Order, Priority};
pub use processing::Processing;
pub use queue::Queue;

/// Compiles the example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
