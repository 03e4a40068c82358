//! One subscriber: its options, its progress, and its reading end.

use super::{
    broadcaster::Broadcaster,
    event_log::Cursor,
    metrics::SubscriberMetrics,
    options::{Filter, Replay},
    policy::Policy,
    reader::{Chunk, ReadPosition, Reader},
};
use arc_swap::ArcSwap;
use futures_util::task::AtomicWaker;
use std::{
    future::poll_fn,
    ops::Deref,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering, fence},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};
use tokio::{sync::Notify, task::Id, time::Instant};
use tokio_util::sync::CancellationToken;

/// A subscriber, shared by its reading end, its [`Registration`](super::Registration)s and the broadcaster.
pub(super) struct Subscriber<K> {
    pub(super) broadcaster: Arc<Broadcaster<K>>,
    pub(super) config: SubscriberConfig<K>,
    pub(super) metrics: ArcSwap<SubscriberMetrics>,
    /// The task in which its handler runs.
    pub(super) task: OnceLock<Id>,
    /// Cancelled once the handler has returned from its last call, or the stream is closed.
    pub(super) done: CancellationToken,
    is_closed: AtomicBool,
    state: Mutex<State<K>>,
    /// The number of events that were read and not delivered yet.
    undelivered: AtomicU64,
    handled: AtomicU64,
    has_initial_state: AtomicBool,
    panics: AtomicU64,
    /// Notified when `handled` or `is_closed` changes, and when the cache or the informer changes its state.
    progress: Notify,
    is_waiting: AtomicBool,
    waker: AtomicWaker,
    resync: Option<Mutex<ResyncSchedule>>,
}

/// The properties of a subscriber that never change.
pub(super) struct SubscriberConfig<K> {
    pub(super) id: u64,
    pub(super) name: String,
    /// The label of its metrics.
    pub(super) label: String,
    pub(super) policy: Policy,
    pub(super) filter: Filter<K>,
    pub(super) replay: Replay,
    pub(super) on_stop: OnStop,
}

/// The behavior of a subscriber when the informer is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnStop {
    /// The subscriber reads the rest of the log.
    Drain,
    /// The subscriber is closed immediately.
    Detach,
}

struct State<K> {
    reader: Reader<K>,
    /// When the oldest event of the chunk that is being delivered was received.
    delivering_since: Option<Instant>,
}

/// When a subscriber receives every object again.
struct ResyncSchedule {
    period: Duration,
    /// `None` if that is beyond what an `Instant` can hold.
    due: Option<Instant>,
    /// The end of the log after the last resync.
    last: u64,
}

impl<K> Subscriber<K> {
    /// Creates a subscriber; without a reader it is closed from the start.
    pub(super) fn new(
        broadcaster: Arc<Broadcaster<K>>,
        config: SubscriberConfig<K>,
        resync_period: Option<Duration>,
        reader: Option<Reader<K>>,
    ) -> Self {
        let is_closed = reader.is_none();
        let unread = ReadPosition { log: 0, has_initial_state: false };
        let position = reader.as_ref().map_or(unread, Reader::position);
        let schedule =
            |period| Mutex::new(ResyncSchedule { period, due: Instant::now().checked_add(period), last: 0 });
        let metrics = SubscriberMetrics::register(&broadcaster.name, &config.label);
        Self {
            broadcaster,
            config,
            metrics: ArcSwap::from_pointee(metrics),
            task: OnceLock::new(),
            done: CancellationToken::new(),
            is_closed: AtomicBool::new(is_closed),
            state: Mutex::new(State { reader: reader.unwrap_or_else(detached), delivering_since: None }),
            undelivered: AtomicU64::new(0),
            handled: AtomicU64::new(position.log),
            has_initial_state: AtomicBool::new(position.has_initial_state),
            panics: AtomicU64::new(0),
            progress: Notify::new(),
            is_waiting: AtomicBool::new(false),
            waker: AtomicWaker::new(),
            resync: resync_period.map(schedule),
        }
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Delivers no more events. Does not wait for the event that is being handled.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        let unread = std::mem::replace(&mut self.state().reader, detached());
        drop(unread);
        let metrics = self.metrics.load();
        metrics.depth.set(0.0);
        metrics.lag.set(0.0);
        if self.config.on_stop == OnStop::Drain {
            self.done.cancel();
        }
        self.notify();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Wakes the reading end and everything that waits for progress.
    pub(super) fn notify(&self) {
        self.progress.notify_waiters();
        self.waker.wake();
    }

    /// Returns the waker if the reading end waits for events. The events must have been written before.
    pub(super) fn take_waker(&self) -> Option<Waker> {
        if self.is_waiting.load(Ordering::Acquire) && self.is_waiting.swap(false, Ordering::AcqRel) {
            self.waker.take()
        } else {
            None
        }
    }

    /// Polls for the next events; `None` once the subscriber is closed, or has read all events of a stopped informer.
    pub(super) fn poll_chunk(&self, context: &Context<'_>) -> Poll<Option<Chunk<K>>> {
        if self.is_closed() {
            return Poll::Ready(None);
        }
        if let Some(chunk) = self.next_chunk() {
            return Poll::Ready(Some(chunk));
        }
        self.waker.register(context.waker());
        self.is_waiting.store(true, Ordering::Release);
        // Pairs with the fence in `Broadcaster::published`: either this sees the new events, or that sees the flag.
        fence(Ordering::SeqCst);
        // Read before the second attempt: events published before the informer was stopped are still delivered.
        let is_stopped = self.broadcaster.is_closed();
        match self.next_chunk() {
            Some(chunk) => Poll::Ready(Some(chunk)),
            None if is_stopped || self.is_closed() => Poll::Ready(None),
            None => Poll::Pending,
        }
    }

    /// Returns the next events; `None` if there are none yet.
    pub(super) fn next_chunk(&self) -> Option<Chunk<K>> {
        let mut state = self.state();
        let chunk = state.reader.next_chunk();
        state.delivering_since = chunk.as_ref().and_then(Chunk::received);
        match &chunk {
            Some(chunk) => self.set_undelivered(chunk.events().len()),
            None => {
                // Entries that are not for this subscriber were skipped.
                let position = state.reader.position();
                drop(state);
                self.advance(position);
            }
        }
        chunk
    }

    /// Records that all events of a chunk have been handled at `now`.
    pub(super) fn handled_chunk(&self, chunk: &Chunk<K>, now: Instant) {
        if let Some(received) = chunk.received() {
            self.metrics.load().latency.record(now.saturating_duration_since(received));
        }
        self.advance(chunk.position);
    }

    fn advance(&self, position: ReadPosition) {
        let before = self.handled.swap(position.log, Ordering::AcqRel);
        let had_initial_state = self.has_initial_state.swap(position.has_initial_state, Ordering::AcqRel);
        if before != position.log || had_initial_state != position.has_initial_state {
            self.progress.notify_waiters();
            if self.config.policy.block_limit().is_some() {
                self.broadcaster.capacity.notify_waiters();
            }
        }
    }

    /// Sets how many events of the current chunk have not been delivered.
    pub(super) fn set_undelivered(&self, events: usize) {
        self.undelivered.store(events as u64, Ordering::Relaxed);
    }

    /// Returns the number of events that have not been delivered, with the log written up to `end`.
    pub(super) fn depth(&self, end: u64) -> u64 {
        self.state().reader.depth(end) + self.undelivered.load(Ordering::Relaxed)
    }

    /// Returns the position before which all events have been handled; `None` until the initial state has been handled.
    pub(super) fn handled(&self) -> Option<u64> {
        let position = self.handled.load(Ordering::Acquire);
        self.has_initial_state.load(Ordering::Acquire).then_some(position)
    }

    /// Returns the number of unhandled events, including those being delivered, with the log written up to `end`.
    pub(super) fn unhandled(&self, end: u64) -> u64 {
        end.saturating_sub(self.handled.load(Ordering::Acquire))
    }

    /// Waits until `condition` holds. It is evaluated again on each progress of this subscriber.
    pub(super) async fn wait_until(&self, condition: impl Fn(&Self) -> bool) {
        loop {
            let mut progress = std::pin::pin!(self.progress.notified());
            progress.as_mut().enable();
            if condition(self) {
                return;
            }
            progress.await;
        }
    }

    pub(super) fn count_panic(&self) {
        self.panics.fetch_add(1, Ordering::Relaxed);
        self.metrics.load().panics.increment(1);
    }

    pub(super) fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }

    /// Registers the metrics with the current recorder.
    pub(super) fn register_metrics(&self, informer: &str) {
        self.metrics.store(Arc::new(SubscriberMetrics::register(informer, &self.config.label)));
    }

    /// Sets the gauges, with the log written up to `end`.
    pub(super) fn set_gauges(&self, end: u64, now: Instant) {
        let oldest = {
            let state = self.state();
            [state.delivering_since, state.reader.oldest()].into_iter().flatten().min()
        };
        let lag = oldest.map_or(Duration::ZERO, |oldest| now.saturating_duration_since(oldest));
        let metrics = self.metrics.load();
        metrics.depth.set(self.depth(end) as f64);
        metrics.lag.set(lag.as_secs_f64());
    }

    fn schedule(&self) -> Option<MutexGuard<'_, ResyncSchedule>> {
        self.resync.as_ref().map(|schedule| schedule.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns whether unchanged objects are delivered too.
    pub(super) fn includes_resyncs(&self) -> bool {
        self.resync.is_some()
    }

    /// Returns when the next resync is due.
    pub(super) fn resync_due(&self) -> Option<Instant> {
        self.schedule()?.due
    }

    /// Returns whether to resync now, and schedules the next resync. Skips a resync if the last one is still being
    /// delivered.
    pub(super) fn begin_resync(&self, now: Instant, end: u64) -> bool {
        let Some(mut schedule) = self.schedule() else { return false };
        if schedule.due.is_none_or(|due| now < due) {
            return false;
        }
        schedule.due = now.checked_add(schedule.period);
        let is_idle = self.handled.load(Ordering::Acquire) >= schedule.last;
        if is_idle {
            schedule.last = end + 1;
        }
        is_idle
    }

    /// Schedules the next resync one period after `now`.
    pub(super) fn reschedule_resync(&self, now: Instant) {
        if let Some(mut schedule) = self.schedule() {
            schedule.due = now.checked_add(schedule.period);
        }
    }
}

impl<K: kube_core::Resource> Subscriber<K> {
    /// Folds the backlog if the policy asks for it, with the log written up to `end`.
    pub(super) fn coalesce(&self, end: u64) {
        if let Some(limit) = self.config.policy.coalesce_limit()
            && self.unhandled(end) > limit
        {
            self.state().reader.coalesce_beyond(limit, end);
        }
    }
}

/// Returns a reader that never returns an event.
fn detached<K>() -> Reader<K> {
    Reader::new(None, Cursor::detached())
}

/// The reading end of a subscriber, of which there is one. Dropping it removes the subscriber.
pub(super) struct Receiver<K>(pub(super) Arc<Subscriber<K>>);

impl<K> Receiver<K> {
    /// Waits for the next events; `None` at the end.
    pub(super) async fn wait_for_chunk(&mut self) -> Option<Chunk<K>> {
        poll_fn(|context| self.0.poll_chunk(context)).await
    }
}

impl<K> Deref for Receiver<K> {
    type Target = Subscriber<K>;

    fn deref(&self) -> &Subscriber<K> {
        &self.0
    }
}

impl<K> Drop for Receiver<K> {
    fn drop(&mut self) {
        self.broadcaster.remove(self);
        self.done.cancel();
    }
}
