//! The handle of a subscriber.

use super::subscriber::Subscriber;
use std::{fmt, sync::Arc};

/// The handle of a subscriber: whether it has synced, how far it is behind, and how to remove it.
///
/// Dropping it has no effect: a handler runs until it is removed or the informer is stopped.
pub struct Registration<K> {
    subscriber: Arc<Subscriber<K>>,
}

impl<K> Registration<K> {
    pub(super) fn new(subscriber: Arc<Subscriber<K>>) -> Self {
        Self { subscriber }
    }

    /// Returns the name of the subscriber: the given name, or the type name of a handler.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.subscriber.config.name
    }

    /// Returns whether the subscriber has handled everything that was in the cache when the informer had synced.
    ///
    /// An event whose handler panicked is treated as handled.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.subscriber.broadcaster.has_synced(&self.subscriber)
    }

    /// Returns the number of events that have not been delivered yet.
    #[must_use]
    pub fn depth(&self) -> u64 {
        // Without the broadcaster's lock, which is held while a list is applied.
        self.subscriber.depth(self.subscriber.broadcaster.log_end())
    }

    /// Returns how often the handler has panicked.
    #[must_use]
    pub fn panics(&self) -> u64 {
        self.subscriber.panics()
    }

    /// Returns whether no more events are delivered: it was removed, its stream was dropped, or the informer was stopped and
    /// a stream has returned all events.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.subscriber.is_closed()
    }

    /// Removes the subscriber: no more events are delivered, except the one that its handler is handling. Removing it again
    /// has no effect.
    ///
    /// Use [`removed`](Self::removed) to wait for that handler.
    pub fn remove(&self) {
        self.subscriber.broadcaster.remove(&self.subscriber);
    }

    /// Waits until the subscriber is closed ([`is_closed`](Self::is_closed)) and its handler has returned.
    ///
    /// Called from within the handler itself, this returns at once, since the handler cannot wait for itself.
    pub async fn removed(&self) {
        let current_task = tokio::task::try_id();
        if current_task.is_none() || current_task.as_ref() != self.subscriber.task.get() {
            self.subscriber.done.cancelled().await;
        }
    }

    /// Waits until the subscriber has handled all events that were published before this call, or is closed.
    pub async fn caught_up(&self) {
        let target = self.subscriber.broadcaster.log_end();
        let has_caught_up = |subscriber: &Subscriber<K>| {
            subscriber.is_closed() || subscriber.handled().is_some_and(|handled| handled >= target)
        };
        self.subscriber.wait_until(has_caught_up).await;
    }

    /// Waits until the subscriber has [synced](Self::has_synced). Returns false if it is closed or the informer stopped
    /// before that.
    pub(crate) async fn wait_for_sync(self) -> bool {
        let subscriber = &self.subscriber;
        let is_decided = |subscriber: &Subscriber<K>| {
            self.has_synced() || subscriber.is_closed() || subscriber.broadcaster.is_closed()
        };
        subscriber.wait_until(is_decided).await;
        self.has_synced()
    }
}

impl<K> Clone for Registration<K> {
    fn clone(&self) -> Self {
        Self { subscriber: Arc::clone(&self.subscriber) }
    }
}

impl<K> fmt::Debug for Registration<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration")
            .field("name", &self.name())
            .field("depth", &self.depth())
            .field("has_synced", &self.has_synced())
            .finish_non_exhaustive()
    }
}
