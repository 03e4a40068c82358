//! A follower's place in an informer.

use super::{
    broadcaster::Hub,
    subscriber::{Ending, Seat},
};
use std::{fmt, sync::Arc};

/// A follower's place: whether it has synced, how far it is behind, and how to remove it.
///
/// Dropping this changes nothing: a handler goes on until it is removed or the informer is stopped.
pub struct Registration<K> {
    hub: Arc<Hub<K>>,
    /// Nothing where the informer had been stopped before.
    seat: Option<Arc<Seat<K>>>,
}

impl<K> Registration<K> {
    pub(super) fn new(hub: Arc<Hub<K>>, seat: Option<Arc<Seat<K>>>) -> Self {
        Self { hub, seat }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.seat.as_ref().map_or("", |seat| &seat.name)
    }

    /// Whether it has handled everything that was there when the informer had synced.
    ///
    /// An event at which a handler panicked counts as handled.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.seat.as_ref().is_some_and(|seat| self.hub.has_synced(seat))
    }

    /// How many events it has not been told.
    #[must_use]
    pub fn depth(&self) -> u64 {
        self.seat.as_ref().map_or(0, |seat| self.hub.depth(seat))
    }

    /// How often its handler panicked.
    #[must_use]
    pub fn panics(&self) -> u64 {
        self.seat.as_ref().map_or(0, |seat| seat.panics())
    }

    /// Whether it is told nothing any longer: removed, dropped, or its informer stopped and all there was is read.
    #[must_use]
    pub fn has_left(&self) -> bool {
        self.seat.as_ref().is_none_or(|seat| seat.has_left())
    }

    /// Removes it: it is told nothing more, from now on. Await what this returns to wait until its handler has
    /// finished with the event it is at. Removing what is removed changes nothing.
    ///
    /// Within the handler itself, and for a stream, there is nothing to wait for, and this does not.
    pub fn remove(&self) -> impl Future<Output = ()> + Send + 'static + use<K> {
        let finished = self.seat.as_ref().map(|seat| {
            self.hub.leave(seat);
            let is_own = tokio::task::try_id().is_some_and(|id| seat.task.get() == Some(&id));
            (!is_own && seat.ending == Ending::Leaves).then(|| seat.finished.clone())
        });
        async move {
            if let Some(finished) = finished.flatten() {
                finished.cancelled().await;
            }
        }
    }

    /// Waits until it has handled all that is in the cache by now, or has left.
    pub fn caught_up(&self) -> impl Future<Output = ()> + Send + 'static + use<K>
    where
        K: Send + Sync + 'static,
    {
        let (target, seat) = (self.hub.told(), self.seat.clone());
        async move {
            let Some(seat) = seat else { return };
            loop {
                let mut moved = std::pin::pin!(seat.moved());
                moved.as_mut().enable();
                if seat.has_left() || seat.handled().is_some_and(|handled| handled >= target) {
                    return;
                }
                moved.await;
            }
        }
    }

    /// Waits until nothing of it runs any longer: it was removed, or its informer stopped.
    pub fn ended(&self) -> impl Future<Output = ()> + Send + 'static + use<K> {
        let finished = self.seat.as_ref().map(|seat| seat.finished.clone());
        async move {
            if let Some(finished) = finished {
                finished.cancelled().await;
            }
        }
    }

    /// Waits until it has [synced](Self::has_synced), or has left.
    pub(crate) fn settled(&self) -> impl Future<Output = bool> + Send + use<K>
    where
        K: Send + Sync + 'static,
    {
        let (hub, seat) = (Arc::clone(&self.hub), self.seat.clone());
        async move {
            let Some(seat) = seat else { return false };
            loop {
                let mut moved = std::pin::pin!(seat.moved());
                moved.as_mut().enable();
                let has_ended = seat.has_left() || hub.is_closed();
                if hub.has_synced(&seat) {
                    return true;
                }
                if has_ended {
                    return false;
                }
                moved.await;
            }
        }
    }
}

impl<K> Clone for Registration<K> {
    fn clone(&self) -> Self {
        Self { hub: Arc::clone(&self.hub), seat: self.seat.clone() }
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
