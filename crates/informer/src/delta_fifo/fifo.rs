//! A queue of deltas with waiting producers and consumers.

use super::queue::{Entry, Queue};
use crate::{
    boxed::BoxError,
    cache::Store,
    delta::{Delta, DeltaBatch},
    ingest::{Ingest, RejectedError},
    object::{Listing, RawObject, Storage},
    reflector::Sink,
    sync::{Mutex, MutexGuard},
    waiters::{Ticket, Waiters, wake},
};
use kube_core::Resource;
use kube_informer_wire::{Key, ResourceVersion};
use serde::Serialize;
use std::{
    fmt,
    future::poll_fn,
    num::NonZeroUsize,
    sync::{
        Arc, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll},
};

/// A queue that groups changes by key: client-go's `DeltaFIFO`.
///
/// The deltas of one key are popped together, keys are in the order in which they first appeared, and no group crosses a relist or a
/// resync. The handle is cheap to clone. Several producers and consumers may share it, but only with one consumer is the order
/// meaningful, and the version of a [`Batch`] is exact with one producer only.
///
/// An [`Informer`](crate::Informer) does not use it: it delivers changes in the order of the watch.
///
/// # Memory
///
/// Without a capacity the queue grows with the number of keys, but not with the number of changes of one key (see
/// [`Deltas`](super::Deltas)). With [`DeltaFifoBuilder::capacity`], producers wait while that many deltas are queued. A list is
/// treated as one delta.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_informer::delta_fifo::{DeltaFifo, Entry};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let fifo = DeltaFifo::<ConfigMap>::builder().build();
/// let mut map = ConfigMap::default();
/// map.metadata.name = Some("settings".into());
/// fifo.add(map.clone()).await?;
/// fifo.update(map).await?;
/// let batch = fifo.pop().await.expect("the queue is open");
/// assert!(matches!(&batch.entries[..], [Entry::Deltas(deltas)] if deltas.len() == 2));
/// # Ok(()) }
/// ```
pub struct DeltaFifo<K> {
    shared: Arc<Shared<K>>,
}

/// The queue is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("queue is closed")]
pub struct ClosedError;

/// Entries that were popped together.
#[derive(Debug)]
pub struct Batch<K> {
    /// The entries, in order.
    pub entries: Vec<Entry<K>>,
    /// The last version whose changes are all in this batch or an earlier one.
    pub version: Option<ResourceVersion>,
    /// To be called when the entries have been applied.
    pub applied: Applied,
}

/// Marks a batch as applied; see [`DeltaFifo::has_synced`].
#[derive(Debug)]
#[must_use = "the queue has not synced until `done` is called"]
pub struct Applied(Option<Arc<AtomicBool>>);

impl Applied {
    /// Marks the batch as applied. A batch that is dropped before that is not applied.
    pub fn done(self) {
        if let Some(has_synced) = self.0 {
            has_synced.store(true, Ordering::Release);
        }
    }
}

/// Configures a [`DeltaFifo`].
#[derive(Debug)]
#[must_use]
pub struct DeltaFifoBuilder<K> {
    capacity: usize,
    ingest: Ingest<K>,
    on_rejected: OnRejected,
}

/// Called for every object that is skipped.
#[derive(Clone)]
struct OnRejected(Arc<dyn Fn(RejectedError) + Send + Sync>);

struct Shared<K> {
    state: Mutex<State<K>>,
    ingest: Ingest<K>,
    on_rejected: OnRejected,
    rejected: AtomicU64,
    capacity: usize,
    has_synced: Arc<AtomicBool>,
}

struct State<K> {
    queue: Queue<K>,
    is_closed: bool,
    consumers: Waiters,
    producers: Waiters,
}

impl<K> DeltaFifoBuilder<K> {
    /// Makes producers wait while this many deltas are queued. The default is no limit.
    pub fn capacity(mut self, deltas: NonZeroUsize) -> Self {
        self.capacity = deltas.get();
        self
    }

    /// Adds a function that changes every object before it is queued; see [`Ingest::transform`].
    pub fn transform(mut self, transform: impl Fn(K) -> Result<K, BoxError> + Send + Sync + 'static) -> Self
    where
        K: Serialize + 'static,
    {
        self.ingest = self.ingest.transform(transform);
        self
    }

    /// Reuses the objects of `store` for lists that contain the same version: these are neither decoded nor transformed
    /// (client-go's `KnownObjects`).
    pub fn known_objects(mut self, store: &Store<K>) -> Self
    where
        K: Resource + Send + Sync + 'static,
    {
        self.ingest = self.ingest.known_objects(store.known_objects());
        self
    }

    /// Sets the form in which objects are stored. The default is [`Storage::Decoded`].
    pub fn storage(mut self, storage: Storage) -> Self {
        self.ingest = self.ingest.storage(storage);
        self
    }

    /// Sets the function that is called for every object that is passed to the queue and skipped. The default logs a
    /// warning. Objects that a reflector reads are reported by the reflector.
    pub fn on_rejected(mut self, report: impl Fn(RejectedError) + Send + Sync + 'static) -> Self {
        self.on_rejected = OnRejected(Arc::new(report));
        self
    }

    /// Creates the queue.
    pub fn build(self) -> DeltaFifo<K> {
        let state = State {
            queue: Queue::default(),
            is_closed: false,
            consumers: Waiters::default(),
            producers: Waiters::default(),
        };
        let shared = Shared {
            state: Mutex::new(state),
            ingest: self.ingest,
            on_rejected: self.on_rejected,
            rejected: AtomicU64::new(0),
            capacity: self.capacity,
            has_synced: Arc::default(),
        };
        DeltaFifo { shared: Arc::new(shared) }
    }
}

impl<K: Resource> DeltaFifo<K> {
    /// Queues a new object. Waits while the queue is full.
    ///
    /// # Errors
    /// [`ClosedError`].
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, nothing was queued.
    pub async fn add(&self, object: K) -> Result<(), ClosedError> {
        self.queue_object(object, Delta::Added, Delta::Skipped).await
    }

    /// Queues a changed object; otherwise as [`add`](Self::add).
    ///
    /// # Errors
    /// [`ClosedError`].
    pub async fn update(&self, object: K) -> Result<(), ClosedError> {
        self.queue_object(object, Delta::Updated, Delta::Skipped).await
    }

    /// Queues the final state of a deleted object; otherwise as [`add`](Self::add).
    ///
    /// # Errors
    /// [`ClosedError`].
    pub async fn delete(&self, object: K) -> Result<(), ClosedError> {
        let deleted = |key, object| Delta::Deleted(key, Some(object));
        self.queue_object(object, deleted, |key| Delta::Deleted(key, None)).await
    }

    /// Queues a full list.
    ///
    /// # Errors
    /// [`ClosedError`].
    pub async fn replace(
        &self,
        objects: impl IntoIterator<Item = K>,
        version: Option<ResourceVersion>,
    ) -> Result<(), ClosedError> {
        let mut listing = Listing::empty(version);
        let objects = objects.into_iter().map(RawObject::from).collect();
        for result in self.shared.ingest.listed(objects) {
            match result {
                Ok(object) => listing.objects.push(object),
                Err(error) => listing.skipped.extend(self.reject(error)),
            }
        }
        self.push(|queue| queue.replace(listing)).await
    }

    async fn queue_object(
        &self,
        object: K,
        accepted: fn(Key, crate::object::Object<K>) -> Delta<K>,
        rejected: fn(Key) -> Delta<K>,
    ) -> Result<(), ClosedError> {
        let version = object.meta().resource_version.as_deref().and_then(|text| text.parse().ok());
        let delta = match self.shared.ingest.watched(object.into()) {
            Ok((key, object)) => Some(accepted(key, object)),
            Err(error) => self.reject(error).map(rejected),
        };
        self.push(|queue| queue_delta(queue, delta, version)).await
    }

    /// Reports a skipped object, and returns its key.
    fn reject(&self, error: RejectedError) -> Option<Key> {
        let key = error.key().cloned();
        self.shared.rejected.fetch_add(1, Ordering::Relaxed);
        (self.shared.on_rejected.0)(error);
        key
    }
}

/// Queues a change. A skipped object still changes the version, because consumers may wait for that version.
fn queue_delta<K>(queue: &mut Queue<K>, delta: Option<Delta<K>>, version: Option<ResourceVersion>) {
    match delta {
        Some(delta @ (Delta::Added(..) | Delta::Updated(..) | Delta::Deleted(..))) => {
            queue.delta(delta, version)
        }
        Some(Delta::Skipped(_)) | None => {
            if let Some(version) = version {
                queue.bookmark(version);
            }
        }
    }
}

impl<K> DeltaFifo<K> {
    /// Returns a builder.
    pub fn builder() -> DeltaFifoBuilder<K> {
        DeltaFifoBuilder { capacity: usize::MAX, ingest: Ingest::new(), on_rejected: OnRejected::default() }
    }

    /// Queues the deletion of an object whose final state is unknown.
    ///
    /// # Errors
    /// [`ClosedError`].
    pub async fn delete_unobserved(&self, key: Key) -> Result<(), ClosedError> {
        self.push(|queue| queue.delta(Delta::Deleted(key, None), None)).await
    }

    /// Queues a resync, unless it is the newest entry already.
    ///
    /// # Errors
    /// [`ClosedError`].
    pub async fn resync(&self) -> Result<(), ClosedError> {
        self.push(Queue::resync).await
    }

    /// Queues a newer version without changes.
    ///
    /// # Errors
    /// [`ClosedError`].
    pub async fn bookmark(&self, version: ResourceVersion) -> Result<(), ClosedError> {
        self.push(|queue| queue.bookmark(version)).await
    }

    /// Queues that the [restored](Self::restored) state has caught up with the source.
    ///
    /// # Errors
    /// [`ClosedError`].
    pub async fn resumed(&self) -> Result<(), ClosedError> {
        self.push(Queue::resumed).await
    }

    /// Declares that the consumer has a state of this version: the next list is then not the initial one.
    pub fn restored(&self, version: Option<ResourceVersion>) {
        self.lock().queue.restored(version);
    }

    /// Removes and returns the oldest entry; `None` if the queue is closed and empty. Waits while the queue is empty.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, no entry is lost.
    pub async fn pop(&self) -> Option<Batch<K>> {
        self.pop_batch(NonZeroUsize::MIN).await
    }

    /// Removes and returns at most `max` of the oldest entries. Waits only for the first.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, no entry is lost.
    pub async fn pop_batch(&self, max: NonZeroUsize) -> Option<Batch<K>> {
        let mut wait = Wait { fifo: self, side: |state| &mut state.consumers, ticket: Ticket::default() };
        poll_fn(|context| self.poll_pop(context, max, &mut wait.ticket)).await
    }

    /// Closes the queue, and wakes all waiting producers and consumers. Queued entries can still be popped.
    pub fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        let consumers = state.consumers.take();
        let producers = state.producers.take();
        drop(state);
        wake(consumers);
        wake(producers);
    }

    /// Returns the number of keys and barriers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().queue.len()
    }

    /// Returns the number of deltas and barriers, which a [capacity](DeltaFifoBuilder::capacity) limits.
    #[must_use]
    pub fn load(&self) -> usize {
        self.lock().queue.load()
    }

    /// Returns whether the queue is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether the first list was popped and its [`Applied`] is done, or a restored state has caught up.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.shared.has_synced.load(Ordering::Acquire)
    }

    /// Returns the number of objects that were passed to the queue and skipped.
    #[must_use]
    pub fn rejected(&self) -> u64 {
        self.shared.rejected.load(Ordering::Relaxed)
    }

    async fn push(&self, put: impl FnOnce(&mut Queue<K>)) -> Result<(), ClosedError> {
        let mut put = Some(put);
        let mut wait = Wait { fifo: self, side: |state| &mut state.producers, ticket: Ticket::default() };
        poll_fn(|context| {
            let mut state = self.lock();
            if state.is_closed {
                return Poll::Ready(Err(ClosedError));
            }
            if state.queue.load() >= self.shared.capacity {
                state.producers.register(&mut wait.ticket, context.waker());
                return Poll::Pending;
            }
            let put = put.take().expect("not polled again once ready");
            put(&mut state.queue);
            let consumers = state.consumers.take();
            drop(state);
            wake(consumers);
            Poll::Ready(Ok(()))
        })
        .await
    }

    fn poll_pop(
        &self,
        context: &Context<'_>,
        max: NonZeroUsize,
        ticket: &mut Ticket,
    ) -> Poll<Option<Batch<K>>> {
        let mut state = self.lock();
        let count = max.get().min(state.queue.len());
        if count == 0 && state.is_closed {
            return Poll::Ready(None);
        }
        if count == 0 {
            state.consumers.register(ticket, context.waker());
            return Poll::Pending;
        }
        let entries: Vec<_> = (0..count).map_while(|_| state.queue.pop()).collect();
        let version = state.queue.version().cloned();
        let producers = state.producers.take();
        drop(state);
        wake(producers);
        let completes = |entry: &Entry<K>| matches!(entry, Entry::Replaced { .. } | Entry::Resumed);
        let has_synced = entries.iter().any(completes).then(|| Arc::clone(&self.shared.has_synced));
        Poll::Ready(Some(Batch { entries, version, applied: Applied(has_synced) }))
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.lock().queue.capacity()
    }

    fn lock(&self) -> MutexGuard<'_, State<K>> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Fails only after the queue was closed.
impl<K: Resource + Send + Sync + 'static> Sink<K> for DeltaFifo<K> {
    fn ingest(&self) -> Ingest<K> {
        self.shared.ingest.clone()
    }

    async fn replace(&mut self, listing: Listing<K>) -> Result<(), BoxError> {
        Ok(self.push(|queue| queue.replace(listing)).await?)
    }

    async fn apply(&mut self, batch: DeltaBatch<K>) -> Result<(), BoxError> {
        let mut deltas = batch.deltas.into_iter().peekable();
        while let Some(delta) = deltas.next() {
            // The version of the batch is set with its last change.
            let version = if deltas.peek().is_none() { batch.version.clone() } else { None };
            self.push(|queue| queue_delta(queue, Some(delta), version)).await?;
        }
        if let Some(version) = batch.version.filter(|version| self.lock().queue.lacks_version(version)) {
            self.push(|queue| queue.bookmark(version)).await?;
        }
        Ok(())
    }

    async fn resumed(&mut self) -> Result<(), BoxError> {
        Ok(Self::resumed(self).await?)
    }

    async fn resync(&mut self) -> Result<(), BoxError> {
        Ok(Self::resync(self).await?)
    }
}

/// Unregisters a waiter when dropped.
struct Wait<'f, K> {
    fifo: &'f DeltaFifo<K>,
    side: fn(&mut State<K>) -> &mut Waiters,
    ticket: Ticket,
}

impl<K> Drop for Wait<'_, K> {
    fn drop(&mut self) {
        if self.ticket.is_issued() {
            (self.side)(&mut self.fifo.lock()).leave(&self.ticket);
        }
    }
}

impl Default for OnRejected {
    fn default() -> Self {
        Self(Arc::new(|rejected: RejectedError| {
            let cause = std::error::Error::source(&rejected).map(ToString::to_string);
            tracing::warn!(%rejected, cause, "object skipped");
        }))
    }
}

impl fmt::Debug for OnRejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnRejected")
    }
}

/// Prints no objects, because they may contain secrets.
impl<K> fmt::Debug for DeltaFifo<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeltaFifo")
            .field("len", &self.len())
            .field("ingest", &self.shared.ingest)
            .finish_non_exhaustive()
    }
}

impl<K> Clone for DeltaFifo<K> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<K> Clone for DeltaFifoBuilder<K> {
    fn clone(&self) -> Self {
        Self { capacity: self.capacity, ingest: self.ingest.clone(), on_rejected: self.on_rejected.clone() }
    }
}
