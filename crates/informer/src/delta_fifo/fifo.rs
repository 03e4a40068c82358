//! The queue between whoever watches and whoever applies, with waiting at both ends.

use super::{
    batch::{Applied, Batch},
    delta::Delta,
    queue::{Entry, Queue},
    transform::{Gate, Look},
};
use crate::{
    object::Object,
    object::listing::Listing,
    reflector::Collected,
    source::Item,
    sync::{Mutex, MutexGuard},
    waiters::{Ticket, Waiters, wake},
};
use kube_core::Resource;
use kube_informer_wire::{Key, ResourceVersion};
use std::{
    fmt,
    future::poll_fn,
    num::NonZeroUsize,
    sync::{
        Arc, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

/// What happened to which key, in order, until somebody pops it.
///
/// Deltas of one key are grouped, keys stand in the order in which they first appeared, and a relist or a resync is
/// a barrier that no group crosses. The handle is cheap to clone, and any number of producers and consumers may share
/// it. But order means little with more than one consumer, and the version that a [`Batch`] claims is true for one
/// producer: what comes from several has no common order.
///
/// # What it can cost
///
/// Without a capacity the queue grows with the number of keys, never with the number of changes to one key (see
/// [`Deltas`](super::Deltas)). With [`Builder::capacity`](super::Builder::capacity), a producer waits while that many deltas are queued. A list
/// counts as one, because its objects become the cache.
pub struct DeltaFifo<K> {
    shared: Arc<Shared<K>>,
}

/// The queue is closed and takes nothing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("queue is closed")]
pub struct Closed;

struct Shared<K> {
    state: Mutex<State<K>>,
    gate: Gate<K>,
    capacity: usize,
    has_synced: Arc<AtomicBool>,
}

struct State<K> {
    queue: Queue<K>,
    is_closed: bool,
    consumers: Waiters,
    producers: Waiters,
}

impl<K: Resource> DeltaFifo<K> {
    /// Queues that an object came to be. Waits while the queue is full.
    ///
    /// # Errors
    /// [`Closed`].
    ///
    /// # Cancel safety
    /// Dropped while it waits, it has queued nothing.
    pub fn add(&self, object: K) -> impl Future<Output = Result<(), Closed>> + use<'_, K> {
        self.present(object.into(), Delta::Added)
    }

    /// Queues that an object changed; otherwise as [`add`](Self::add).
    ///
    /// # Errors
    /// [`Closed`].
    pub fn update(&self, object: K) -> impl Future<Output = Result<(), Closed>> + use<'_, K> {
        self.present(object.into(), Delta::Updated)
    }

    /// Queues that an object went away, with its final state; otherwise as [`add`](Self::add).
    ///
    /// # Errors
    /// [`Closed`].
    pub fn delete(&self, object: K) -> impl Future<Output = Result<(), Closed>> + use<'_, K> {
        self.present_gone(object.into())
    }

    /// Queues all there is, as a list found it.
    ///
    /// # Errors
    /// [`Closed`].
    pub fn replace<I>(
        &self,
        objects: I,
        version: Option<ResourceVersion>,
    ) -> impl Future<Output = Result<(), Closed>> + use<'_, K, I>
    where
        I: IntoIterator<Item = K>,
    {
        let mut listing = Listing::empty(version);
        for collected in self.collect(objects.into_iter().map(Item::from).collect()) {
            match collected {
                Ok(object) => listing.objects.push(object),
                Err(left_out) => listing.unreadable.extend(self.shared.gate.report(left_out)),
            }
        }
        self.replace_with(listing)
    }

    /// What lets objects in.
    pub(super) fn gate(&self) -> &Gate<K> {
        &self.shared.gate
    }

    /// Transforms objects of a list, or finds the known ones that are the same.
    pub(super) fn collect(&self, items: Vec<Item<K>>) -> Vec<Collected<K>> {
        self.shared.gate.admit_listed(items)
    }

    /// Queues all there is, of objects that were collected before.
    pub(super) fn replace_with(
        &self,
        mut listing: Listing<K>,
    ) -> impl Future<Output = Result<(), Closed>> + use<'_, K> {
        self.shared.gate.settle(&mut listing);
        self.push(|queue| queue.replace(listing))
    }

    /// Queues that an object came to be or changed.
    pub(super) fn present(
        &self,
        item: Item<K>,
        delta: fn(Object<K>) -> Delta<K>,
    ) -> impl Future<Output = Result<(), Closed>> + use<'_, K> {
        let (version, admitted) = self.admit(item);
        async move {
            match admitted {
                Ok((key, object)) => self.push(|queue| queue.delta(key, delta(object), version)).await,
                Err(key) => self.pass_over(key, version).await,
            }
        }
    }

    /// Queues that an object went away.
    pub(super) fn present_gone(
        &self,
        item: Item<K>,
    ) -> impl Future<Output = Result<(), Closed>> + use<'_, K> {
        let (version, admitted) = self.admit(item);
        let gone = match admitted {
            Ok((key, object)) => Some((key, Some(object))),
            Err(key) => key.map(|key| (key, None)),
        };
        async move {
            match gone {
                Some((key, object)) => {
                    self.push(|queue| queue.delta(key, Delta::Deleted(object), version)).await
                }
                None => Ok(()),
            }
        }
    }

    /// Lets an object in, or tells the key of one that is not, if it has one; and the version of either.
    fn admit(&self, item: Item<K>) -> (Option<ResourceVersion>, Admitted<K>) {
        let version = item.identity().and_then(|identity| identity.version());
        // A queue that is long has more that is about to be looked at than should be decoded at once.
        let look = if self.load() < DECODED { Look::Soon } else { Look::Later };
        (version, self.shared.gate.admit(item, look).map_err(|left_out| self.shared.gate.report(left_out)))
    }
}

type Admitted<K> = Result<(Key, Object<K>), Option<Key>>;

/// So many objects that are kept in the small stand decoded in a queue, about.
const DECODED: usize = 64;

impl<K> DeltaFifo<K> {
    /// An empty queue that lets things in by this gate, up to this many deltas.
    pub(super) fn new(gate: Gate<K>, capacity: Option<NonZeroUsize>) -> Self {
        let state = State {
            queue: Queue::default(),
            is_closed: false,
            consumers: Waiters::default(),
            producers: Waiters::default(),
        };
        let capacity = capacity.map_or(usize::MAX, NonZeroUsize::get);
        let has_synced = Arc::new(AtomicBool::new(false));
        Self { shared: Arc::new(Shared { state: Mutex::new(state), gate, capacity, has_synced }) }
    }

    /// Queues that the object with this key went away unseen.
    ///
    /// # Errors
    /// [`Closed`].
    pub async fn delete_unseen(&self, key: Key) -> Result<(), Closed> {
        self.push(|queue| queue.delta(key, Delta::Deleted(None), None)).await
    }

    /// Queues that everything known is to be told again, unless that is the newest thing queued.
    ///
    /// # Errors
    /// [`Closed`].
    pub async fn resync(&self) -> Result<(), Closed> {
        self.push(Queue::resync).await
    }

    /// Queues that nothing happened up to this version.
    ///
    /// # Errors
    /// [`Closed`].
    pub async fn bookmark(&self, version: ResourceVersion) -> Result<(), Closed> {
        self.push(|queue| queue.bookmark(version)).await
    }

    /// Queues that what was [restored](Self::restored) has been caught up with.
    ///
    /// # Errors
    /// [`Closed`].
    pub async fn resumed(&self) -> Result<(), Closed> {
        self.push(Queue::resumed).await
    }

    /// Says that whoever pops has a state already, at this version: the next list is then not the first that is known of.
    pub fn restored(&self, version: Option<ResourceVersion>) {
        self.lock().queue.restored(version);
    }

    /// Notes that something was left out, and lets its version pass, or whoever waits for it would wait for ever.
    pub(super) async fn pass_over(
        &self,
        key: Option<Key>,
        version: Option<ResourceVersion>,
    ) -> Result<(), Closed> {
        self.push(|queue| {
            key.into_iter().for_each(|key| queue.left_out(key));
            version.into_iter().for_each(|version| queue.bookmark(version));
        })
        .await
    }

    /// Takes the oldest entry; nothing once the queue is closed and empty. Waits while it is empty.
    ///
    /// # Cancel safety
    /// Dropped while it waits, it has taken nothing.
    pub async fn pop(&self) -> Option<Batch<K>> {
        self.pop_batch(NonZeroUsize::MIN).await
    }

    /// Takes up to `max` of the oldest entries, but never waits for more than one.
    ///
    /// # Cancel safety
    /// Dropped while it waits, it has taken nothing.
    pub async fn pop_batch(&self, max: NonZeroUsize) -> Option<Batch<K>> {
        let mut wait = Wait { fifo: self, side: |state| &mut state.consumers, ticket: Ticket::default() };
        poll_fn(|context| self.poll_pop(context, max, &mut wait.ticket)).await
    }

    /// Takes nothing more in, wakes everybody. What is queued can still be popped.
    pub fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        let woken = [state.consumers.take(), state.producers.take()];
        drop(state);
        woken.into_iter().for_each(wake);
    }

    /// How many keys and barriers are queued.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().queue.len()
    }

    /// How many deltas and barriers are queued: what a [capacity](super::Builder::capacity) bounds.
    #[must_use]
    pub fn load(&self) -> usize {
        self.lock().queue.load()
    }

    /// Whether nothing is queued.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the first list has been applied, or what was restored has been caught up with: popped, and the [`Applied`] of its batch done.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.shared.has_synced.load(Ordering::Acquire)
    }

    /// How many objects were left out.
    #[must_use]
    pub fn rejected(&self) -> u64 {
        self.shared.gate.rejected()
    }

    pub(super) fn push(&self, put: impl FnOnce(&mut Queue<K>)) -> impl Future<Output = Result<(), Closed>> {
        let mut put = Some(put);
        let mut wait = Wait { fifo: self, side: |state| &mut state.producers, ticket: Ticket::default() };
        poll_fn(move |context| {
            let mut state = self.lock();
            if state.is_closed {
                return Poll::Ready(Err(Closed));
            }
            if state.queue.load() >= self.shared.capacity {
                state.producers.register(&mut wait.ticket, context.waker());
                return Poll::Pending;
            }
            let put = put.take().expect("not polled again once ready");
            put(&mut state.queue);
            let woken = state.consumers.take();
            drop(state);
            wake(woken);
            Poll::Ready(Ok(()))
        })
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
        let received = state.queue.oldest();
        let entries: Vec<_> = (0..count).map_while(|_| state.queue.pop()).collect();
        let (version, is_complete) = (state.queue.version().cloned(), state.queue.len() == 0);
        let has_gaps = state.queue.has_gaps();
        let woken = state.producers.take();
        drop(state);
        wake(woken);
        let is_whole = |entry: &Entry<K>| matches!(entry, Entry::Replaced { .. } | Entry::Resumed);
        let mark = entries.iter().any(is_whole).then(|| Arc::clone(&self.shared.has_synced));
        Poll::Ready(Some(Batch { entries, version, is_complete, has_gaps, received, applied: Applied(mark) }))
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.lock().queue.capacity()
    }

    fn lock(&self) -> MutexGuard<'_, State<K>> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Leaves the waiting when dropped.
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

/// Says how much is queued, not what: objects may hold secrets.
impl<K> fmt::Debug for DeltaFifo<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeltaFifo")
            .field("len", &self.len())
            .field("gate", &self.shared.gate)
            .finish_non_exhaustive()
    }
}

impl<K> Clone for DeltaFifo<K> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}
