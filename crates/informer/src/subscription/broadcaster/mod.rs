//! Changes the cache and publishes the resulting events to subscribers in one step.

mod subscriber;

pub(super) use subscriber::{OnStop, Receiver, Subscriber};

use super::{
    event_log::{Audience, EventBatch, EventLog, LogEntry},
    metrics::InformerMetrics,
    options::{Replay, SubscribeOptions},
    reader::Reader,
};
use crate::cache::{Snapshot, Store, Writer};
#[cfg(any(test, feature = "testing"))]
use crate::{cache::EventSink, event::Event};
use kube_core::Resource;
use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering, fence},
    },
    task::Waker,
    time::Duration,
};
use subscriber::SubscriberConfig;
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;

/// The writer of a store, the log of its events, and the subscribers, changed together under one lock.
///
/// A subscriber joins between two changes, with the state of the cache and the end of the log at that moment. So it misses
/// no change and receives none twice.
pub(crate) struct Broadcaster<K> {
    /// The name of the informer.
    pub(super) name: String,
    store: Store<K>,
    state: Mutex<State<K>>,
    /// The end of the log, readable without the lock.
    log_end: AtomicU64,
    /// The end of the log when the cache was complete for the first time; `u64::MAX` before.
    synced_at: AtomicU64,
    is_closed: AtomicBool,
    /// Notified when a subscriber that blocks the informer has progressed or was removed.
    pub(super) capacity: Notify,
    /// Notified when the time of the next resync may have changed.
    rescheduled: Notify,
    default_resync: Duration,
}

struct State<K> {
    /// `None` once the broadcaster is closed.
    writer: Option<Writer<K>>,
    log: EventLog<K>,
    subscribers: Vec<Arc<Subscriber<K>>>,
    last_id: u64,
    /// The restored state, until the cache is complete.
    restored: Option<Arc<Snapshot<K>>>,
    /// The smallest position that a removed subscriber of [`Replay::Differences`] had handled, if it left events unhandled.
    abandoned_at: Option<u64>,
    metrics: InformerMetrics,
    gauges_set: Option<Instant>,
}

/// The shortest time between two updates of the subscribers' gauges.
const GAUGE_PERIOD: Duration = Duration::from_secs(1);

/// The time that the informer waits for a handler before it logs a warning.
const BLOCKED_WARNING: Duration = Duration::from_secs(30);

impl<K> Broadcaster<K> {
    pub(crate) fn new(store: Store<K>, writer: Writer<K>, name: &str, default_resync: Duration) -> Self {
        let restored = store.snapshot();
        let is_restored = restored.version().is_some() || !restored.is_empty();
        let state = State {
            writer: Some(writer),
            log: EventLog::new(),
            subscribers: Vec::new(),
            last_id: 0,
            restored: is_restored.then_some(restored),
            abandoned_at: None,
            metrics: InformerMetrics::register(name),
            gauges_set: None,
        };
        Self {
            name: name.to_owned(),
            store,
            state: Mutex::new(state),
            log_end: AtomicU64::new(0),
            synced_at: AtomicU64::new(u64::MAX),
            is_closed: AtomicBool::new(false),
            capacity: Notify::new(),
            rescheduled: Notify::new(),
            default_resync,
        }
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a subscriber, which is closed if the broadcaster is.
    pub(super) fn join(
        self: &Arc<Self>,
        options: SubscribeOptions<K>,
        on_stop: OnStop,
    ) -> Arc<Subscriber<K>> {
        let resync = options.resync_period(self.default_resync);
        let mut state = self.state();
        state.last_id += 1;
        let id = state.last_id;
        let SubscribeOptions { name, policy, filter, replay, .. } = options;
        // Subscribers without a name share one label: a label each would create an unlimited number of time series.
        let label = name.clone().unwrap_or_else(|| "subscriber".to_owned());
        let name = name.unwrap_or_else(|| format!("subscriber-{id}"));
        let reader = state.writer.is_some().then(|| {
            let reader = Reader::new(resync.map(|_| id), state.log.cursor());
            match (&state.restored, replay) {
                (Some(restored), Replay::Differences) => {
                    reader.after_differences(restored, &self.store.snapshot())
                }
                (Some(_), Replay::All) | (None, _) => reader.after_state(self.store.snapshot()),
            }
        });
        let config = SubscriberConfig { id, name, label, policy, filter, replay, on_stop };
        let subscriber = Arc::new(Subscriber::new(Arc::clone(self), config, resync, reader));
        if state.writer.is_some() {
            state.subscribers.push(Arc::clone(&subscriber));
        }
        drop(state);
        self.rescheduled.notify_waiters();
        subscriber
    }

    /// Removes a subscriber. It does not matter if it was removed before.
    pub(super) fn remove(&self, subscriber: &Subscriber<K>) {
        let mut state = self.state();
        let before = state.subscribers.len();
        state.subscribers.retain(|other| other.config.id != subscriber.config.id);
        if state.subscribers.len() < before && subscriber.config.replay == Replay::Differences {
            let handled = subscriber.handled().unwrap_or(0);
            if handled < state.log.end() {
                state.abandoned_at = Some(state.abandoned_at.map_or(handled, |other| other.min(handled)));
            }
        }
        drop(state);
        subscriber.close();
        self.capacity.notify_waiters();
    }

    /// Records that the cache is complete for the first time.
    pub(crate) fn mark_synced(&self) {
        let mut state = self.state();
        state.restored = None;
        self.synced_at.store(state.log.end(), Ordering::Release);
        let subscribers = state.subscribers.clone();
        drop(state);
        let now = Instant::now();
        for subscriber in subscribers {
            subscriber.reschedule_resync(now);
            // It may have handled everything already.
            subscriber.notify();
        }
        self.rescheduled.notify_waiters();
    }

    /// Returns whether a subscriber has handled everything that was published when the cache was complete.
    pub(super) fn has_synced(&self, subscriber: &Subscriber<K>) -> bool {
        let synced_at = self.synced_at.load(Ordering::Acquire);
        synced_at != u64::MAX && subscriber.handled().is_some_and(|handled| handled >= synced_at)
    }

    /// Closes the broadcaster: it publishes nothing more. Handlers are closed at once, streams read the rest of the log.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        let writer = state.writer.take();
        let subscribers = state.subscribers.clone();
        self.is_closed.store(true, Ordering::Release);
        drop(state);
        drop(writer);
        for subscriber in subscribers {
            match subscriber.config.on_stop {
                OnStop::Detach => subscriber.close(),
                OnStop::Drain => subscriber.notify(),
            }
        }
        self.capacity.notify_waiters();
        self.rescheduled.notify_waiters();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Returns the current subscribers.
    pub(super) fn subscribers(&self) -> Vec<Arc<Subscriber<K>>> {
        self.state().subscribers.clone()
    }

    /// Returns the position behind the last published event.
    pub(crate) fn log_end(&self) -> u64 {
        self.log_end.load(Ordering::Acquire)
    }

    /// Waits until no subscriber blocks the informer.
    pub(crate) async fn wait_for_capacity(&self) {
        if self.state().blocking_subscriber().is_none() {
            return;
        }
        let start = Instant::now();
        let mut has_warned = false;
        loop {
            let mut capacity = std::pin::pin!(self.capacity.notified());
            capacity.as_mut().enable();
            let Some(slow) = self.blocking_subscriber() else { return };
            if !has_warned && start.elapsed() >= BLOCKED_WARNING {
                has_warned = true;
                let handler = &slow.config.name;
                let depth = slow.depth(self.log_end());
                tracing::warn!(informer = self.name, handler, depth, "informer is blocked by a slow handler");
            }
            // Wakes up to set the gauges, which show the slow handler.
            let _ = tokio::time::timeout(GAUGE_PERIOD, capacity).await;
        }
    }

    fn blocking_subscriber(&self) -> Option<Arc<Subscriber<K>>> {
        let mut state = self.state();
        let slow = state.blocking_subscriber().cloned()?;
        self.set_gauges(&mut state, Instant::now());
        Some(slow)
    }

    /// Returns the current state of the cache.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot<K>> {
        self.store.snapshot()
    }

    /// Returns the last position before which every subscriber of [`Replay::Differences`] has handled all events. Includes
    /// subscribers that were removed with unhandled events.
    pub(crate) fn handled_position(&self) -> u64 {
        let state = self.state();
        let subscribers = state.subscribers.iter();
        let positions = subscribers
            .filter(|subscriber| subscriber.config.replay == Replay::Differences)
            .map(|subscriber| subscriber.handled().unwrap_or(0));
        positions.chain(state.abandoned_at).min().unwrap_or(u64::MAX)
    }

    /// Returns whether [`Self::handled_position`] can never exceed `handled`, because a subscriber was removed there.
    pub(crate) fn is_final_position(&self, handled: u64) -> bool {
        self.state().abandoned_at.is_some_and(|abandoned_at| handled >= abandoned_at)
    }

    /// Sets the gauges of the subscribers if the last time is long enough ago.
    fn set_gauges(&self, state: &mut State<K>, now: Instant) {
        if state.metrics.is_outdated() {
            state.metrics = InformerMetrics::register(&self.name);
            state.subscribers.iter().for_each(|subscriber| subscriber.register_metrics(&self.name));
            state.gauges_set = None;
        }
        if state.gauges_set.is_some_and(|before| now < before + GAUGE_PERIOD) {
            return;
        }
        state.gauges_set = Some(now);
        let now = Instant::now();
        let end = state.log.end();
        state.subscribers.iter().for_each(|subscriber| subscriber.set_gauges(end, now));
    }
}

impl<K: Resource> Broadcaster<K> {
    /// Changes the cache and publishes the events that result. Returns `None` once the broadcaster is closed.
    pub(crate) fn publish<R>(
        &self,
        received: Instant,
        change: impl FnOnce(&mut Writer<K>, &mut EventBatch<K>) -> R,
    ) -> Option<R> {
        let mut state = self.state();
        let mut batch = EventBatch::new(state.audience());
        let outcome = change(state.writer.as_mut()?, &mut batch);
        let has_events = !batch.entries.is_empty();
        for entry in batch.entries {
            state.log.append(entry, received);
        }
        self.set_gauges(&mut state, received);
        self.set_cache_metrics(&state, batch.changes);
        let wakers = if has_events { self.published(&state) } else { Vec::new() };
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
        Some(outcome)
    }

    fn set_cache_metrics(&self, state: &State<K>, changes: u64) {
        let Some(extent) = state.writer.as_ref().map(Writer::extent) else { return };
        state.metrics.events.increment(changes);
        state.metrics.objects.set(extent.objects as f64);
        if let Some(version) = extent.version.and_then(|version| version.to_number()) {
            state.metrics.version.set(version as f64);
        }
    }

    /// Coalesces backlogs that became too long, and returns the wakers of the subscribers that wait for events. They are
    /// woken after the lock is released.
    ///
    /// A subscriber also wakes up for an entry that it skips, so that it does not keep the log alive.
    fn published(&self, state: &State<K>) -> Vec<Waker> {
        let end = state.log.end();
        self.log_end.store(end, Ordering::Release);
        // Pairs with the fence in `Subscriber::poll_chunk`.
        fence(Ordering::SeqCst);
        let mut wakers = Vec::new();
        for subscriber in &state.subscribers {
            subscriber.coalesce(end);
            wakers.extend(subscriber.take_waker());
        }
        wakers
    }

    /// Publishes events without changing the cache.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn inject(&self, events: impl IntoIterator<Item = Event<K>>) {
        self.publish(Instant::now(), |_, batch| events.into_iter().for_each(|event| batch.changed(event)));
    }

    /// Starts the resyncs that are due, and returns when the next one is. While a subscriber blocks the informer, due
    /// resyncs are skipped.
    pub(super) fn resync(&self, now: Instant) -> Option<Instant> {
        let mut state = self.state();
        if self.synced_at.load(Ordering::Acquire) == u64::MAX || state.writer.is_none() {
            return None;
        }
        let mut wakers = Vec::new();
        // Resyncs count here, so that a subscriber that does not read has a limited number of them in its backlog.
        if state.subscriber_behind(state.log.end()).is_some() {
            let is_due = |due: Instant| due <= now;
            let subscribers = state.subscribers.iter();
            subscribers
                .filter(|subscriber| subscriber.resync_due().is_some_and(is_due))
                .for_each(|subscriber| subscriber.reschedule_resync(now));
        } else {
            let end = state.log.end();
            let due = state.subscribers.iter().filter(|subscriber| subscriber.begin_resync(now, end));
            let subscribers: Box<[u64]> = due.map(|subscriber| subscriber.config.id).collect();
            if !subscribers.is_empty() {
                state.log.append(LogEntry::Resync { snapshot: self.store.snapshot(), subscribers }, now);
                wakers = self.published(&state);
            }
        }
        let next = state.subscribers.iter().filter_map(|subscriber| subscriber.resync_due()).min();
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
        next
    }

    /// Resyncs subscribers when they are due, until cancelled.
    pub(crate) async fn run_resyncs(self: Arc<Self>, cancel: CancellationToken) {
        loop {
            let mut rescheduled = std::pin::pin!(self.rescheduled.notified());
            rescheduled.as_mut().enable();
            let next = self.resync(Instant::now());
            let is_due = async {
                match next {
                    Some(next) => tokio::time::sleep_until(next).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = cancel.cancelled() => return,
                () = rescheduled => {}
                () = is_due => {}
            }
        }
    }
}

impl<K> State<K> {
    /// Returns a subscriber that is too far behind and blocks the informer; `None` once the broadcaster is closed.
    ///
    /// Resyncs after the last change do not count: a resync of one subscriber must not block the informer until another has read it.
    fn blocking_subscriber(&self) -> Option<&Arc<Subscriber<K>>> {
        self.subscriber_behind(self.log.changes_end())
    }

    /// Returns a subscriber with [`Policy::Block`](super::Policy::Block) that has not handled as many events before `end` as its limit.
    fn subscriber_behind(&self, end: u64) -> Option<&Arc<Subscriber<K>>> {
        self.writer.as_ref()?;
        self.subscribers.iter().find(|subscriber| {
            subscriber.config.policy.block_limit().is_some_and(|limit| subscriber.unhandled(end) >= limit)
        })
    }

    fn audience(&self) -> Audience {
        if self.subscribers.is_empty() {
            Audience::Empty
        } else if self.subscribers.iter().any(|subscriber| subscriber.includes_resyncs()) {
            Audience::Resyncs
        } else {
            Audience::Changes
        }
    }
}
