//! The handle to a queue.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use crate::drain::Drain;
use crate::get::Get;
use crate::idle::Idle;
use crate::locked_state::Shared;
use crate::metrics::Metrics;
use crate::order::{Fifo, Order};
use crate::processing::Processing;
use crate::sync::{Instant, now};

/// A work queue that stores each item once and hands it out to one worker at a time.
///
/// It is a handle: clones are cheap and share the queue. Items are small keys; their `Eq`, `Clone` and `Drop` run
/// while the queue is locked and must not call it. The queue is unbounded, but equal items are stored once.
pub struct Queue<T, O: Order = Fifo> {
    shared: Arc<Shared<T, O>>,
}

impl<T: Clone + Eq + Hash, O: Order> Queue<T, O> {
    /// Adds an item that needs processing.
    ///
    /// An item that is queued already keeps its position. One that is being processed is queued again once it is done.
    /// After shutdown this does nothing, like all methods that add items.
    pub fn add(&self, item: T) {
        self.add_level(item, O::Level::default());
    }

    /// Adds an item once `delay` has passed.
    ///
    /// An item that is delayed already keeps the earlier of the two times. The delay is independent of `add`: a delayed
    /// item that is added is ready now, and again after its delay.
    pub fn add_after(&self, item: T, delay: Duration) {
        self.add_level_after(item, O::Level::default(), delay);
    }

    /// Adds an item as soon as the rate limiter allows it.
    pub fn add_rate_limited(&self, item: T) {
        self.add_level_rate_limited(item, O::Level::default());
    }

    /// Resets the failures of an item, so that its next rate-limited add has the initial delay.
    ///
    /// Call it when the work succeeded or is abandoned; the rate limiter keeps the item until then.
    pub fn forget(&self, item: &T) {
        self.shared.limit(|limiter| limiter.forget(item));
    }

    /// Returns how often an item was added with a rate limit since it was last forgotten.
    pub fn retries(&self, item: &T) -> u32 {
        self.shared.limit(|limiter| limiter.retries(item))
    }

    /// Waits for the next item; `None` if the queue is shut down and has no more items.
    ///
    /// After shutdown it still waits for items that were added again while they were processed.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses neither an item nor a wake-up, only its position among the waiting workers.
    ///
    /// # Panics
    ///
    /// Panics if it waits for a delayed item outside a Tokio runtime with time enabled.
    pub async fn get(&self) -> Option<Processing<T, O>> {
        Get::new(&self.shared).await
    }

    pub(crate) fn add_level(&self, item: T, level: O::Level) {
        let hash = self.shared.hash(&item);
        self.shared.update(|state| state.backlog.add(hash, item, level));
    }

    pub(crate) fn add_level_after(&self, item: T, level: O::Level, delay: Duration) {
        let hash = self.shared.hash(&item);
        let due = if delay.is_zero() { None } else { Some(after(delay)) };
        self.shared.update(|state| {
            state.backlog.count_delayed_add();
            match due {
                None => state.backlog.add(hash, item, level),
                Some(due) => state.backlog.add_at(hash, item, level, due),
            }
        });
    }

    pub(crate) fn add_level_rate_limited(&self, item: T, level: O::Level) {
        let delay = self.shared.limit(|limiter| limiter.when(&item, now()));
        self.add_level_after(item, level, delay);
    }
}

impl<T, O: Order> Queue<T, O> {
    pub(crate) fn from_shared(shared: Shared<T, O>) -> Self {
        Self { shared: Arc::new(shared) }
    }

    /// Returns how many items are ready, without those that are being processed or delayed.
    pub fn len(&self) -> usize {
        self.shared.update(|state| state.backlog.len())
    }

    /// Returns true if no item is ready.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many items are being processed.
    pub fn processing(&self) -> usize {
        self.shared.update(|state| state.backlog.processing())
    }

    /// Returns how many items are delayed, including those that were also added without a delay.
    pub fn delayed(&self) -> usize {
        self.shared.update(|state| state.backlog.delayed())
    }

    /// Waits until no item is ready or being processed. Delayed items are not waited for until they are due.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future only ends the wait.
    pub async fn idle(&self) {
        Idle::new(&self.shared).await;
    }

    /// Shuts the queue down: further adds are ignored, delayed items are dropped, and workers get the remaining items.
    ///
    /// It also ends all calls of [`shut_down_with_drain`](Self::shut_down_with_drain).
    pub fn shut_down(&self) {
        self.shared.update(|state| state.backlog.shut_down());
    }

    /// Shuts the queue down and waits until every item is done, or until [`shut_down`](Self::shut_down) is called.
    ///
    /// Adds are ignored and delayed items are dropped from the first poll on. Items that were added again while they
    /// were processed are handed out once more. Workers must continue to call [`get`](Self::get), or the wait never ends.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future only ends the wait; the queue stays shut down.
    pub async fn shut_down_with_drain(&self) {
        self.shared.update(|state| state.backlog.shut_down_with_drain());
        Drain::new(&self.shared).await;
    }

    /// Returns true if the queue is shut down or shutting down.
    pub fn is_shutting_down(&self) -> bool {
        self.shared.update(|state| state.backlog.is_shutting_down())
    }

    /// Returns the metrics; `None` unless the queue was built [`with_metrics`](crate::Builder::with_metrics).
    ///
    /// They do not change after shutdown.
    pub fn metrics(&self) -> Option<Metrics> {
        self.shared.update(|state| state.backlog.metrics())
    }
}

impl<T, O: Order> Clone for Queue<T, O> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<T, O: Order> fmt::Debug for Queue<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// The maximum delay, which prevents overflow.
const MAX_DELAY: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

fn after(delay: Duration) -> Instant {
    now() + delay.min(MAX_DELAY)
}
