//! The handle that producers and workers hold.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use crate::drain::Drain;
use crate::get::Get;
use crate::hub::Hub;
use crate::metrics::Metrics;
use crate::order::{Fifo, Order};
use crate::processing::Processing;
use crate::sync::{Instant, now};

/// A work queue that holds each item once, and gives it to one worker at a time.
///
/// It is a handle: clones are cheap and share the queue. Items are small keys; their `Eq`, `Clone` and `Drop` run
/// while the queue is locked and must not call it. The queue is not bounded: equal items are stored once, so it
/// holds no more than there are objects to name.
pub struct Queue<T, O: Order = Fifo> {
    shared: Arc<Hub<T, O>>,
}

impl<T: Clone + Eq + Hash, O: Order> Queue<T, O> {
    /// Adds an item that needs processing.
    ///
    /// An item that is queued already stays where it is. One that is in hand is queued again once it is done. After
    /// shutdown nothing is added, here and in the methods below.
    pub fn add(&self, item: T) {
        self.add_level(item, O::Level::default());
    }

    /// Adds an item once `delay` has passed.
    ///
    /// An item that waits already keeps the earlier of the two times. The delay is independent of `add`: an item
    /// that waits and is added is ready now, and again when its time comes.
    pub fn add_after(&self, item: T, delay: Duration) {
        self.add_level_after(item, O::Level::default(), delay);
    }

    /// Adds an item as soon as the rate limiter allows it.
    pub fn add_rate_limited(&self, item: T) {
        self.add_level_rate_limited(item, O::Level::default());
    }

    /// Forgets the failures of an item, so that its next rate-limited add waits as the first one did.
    ///
    /// Call it when the work succeeded or is given up; the rate limiter remembers the item until then.
    pub fn forget(&self, item: &T) {
        self.shared.limit(|limiter| limiter.forget(item));
    }

    /// Returns how often an item was added with a rate limit since it was last forgotten.
    pub fn retries(&self, item: &T) -> u32 {
        self.shared.limit(|limiter| limiter.retries(item))
    }

    /// Waits for the next item; `None` means that the queue is shut down and has nothing more to hand out.
    ///
    /// After shutdown it still waits for items in hand that were added again before, because they come back.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses neither an item nor a wake-up; only its place among the waiting is gone.
    ///
    /// # Panics
    ///
    /// If it waits for a delayed item outside a Tokio runtime with time enabled.
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
            state.backlog.delay_asked();
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
    pub(crate) fn from_shared(shared: Hub<T, O>) -> Self {
        Self { shared: Arc::new(shared) }
    }

    /// Returns how many items are ready, not counting those in hand and those that wait for their time.
    pub fn len(&self) -> usize {
        self.shared.update(|state| state.backlog.len())
    }

    /// Returns whether no item is ready.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ends the queue: adds are ignored from here on, delayed items are dropped, and workers get what is left.
    ///
    /// It also releases those who wait in [`shut_down_with_drain`](Self::shut_down_with_drain).
    pub fn shut_down(&self) {
        self.shared.update(|state| state.backlog.shut_down());
    }

    /// Ends the queue and waits until every item is done, or until [`shut_down`](Self::shut_down) is called.
    ///
    /// Adds are ignored and delayed items are dropped from the first poll on. Items in hand that were added again
    /// before get another round. Somebody must go on calling [`get`](Self::get), or what is queued is never done.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the waiting only; the queue stays shut down.
    pub async fn shut_down_with_drain(&self) {
        self.shared.update(|state| state.backlog.shut_down_with_drain());
        Drain::new(&self.shared).await;
    }

    /// Returns whether the queue was told to shut down.
    pub fn is_shutting_down(&self) -> bool {
        self.shared.update(|state| state.backlog.is_shutting_down())
    }

    /// Takes a snapshot of the metrics, if the queue was built [`with_metrics`](crate::Builder::with_metrics).
    ///
    /// From the moment of the shutdown it is always the same.
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

/// The longest delay that is told from forever.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

fn after(delay: Duration) -> Instant {
    now() + delay.min(FAR)
}
