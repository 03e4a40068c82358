//! Where the cache and those who follow it meet: what changes the one is told to the others, in one step.

use super::{
    event_log::{Log, Part},
    metrics::HubMetrics,
    options::{Replay, Subscribe},
    policy::Policy,
    reader::{Reader, Welcome},
    subscriber::{Ending, Seat, Ticket},
    event_batch::{Tidings, Wants},
};
use crate::{
    cache::{Snapshot, Store, Writer},
    waiters::{self, Waiters, wake},
};
use kube_core::Resource;
use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::Waker,
    time::Duration,
};
use tokio::{sync::Notify, time::Instant};

/// The writer of a store, the log of what it did, and who follows it.
///
/// Whoever comes is let in between two changes, with the state of that moment and the end of the log: nothing is missing
/// between the two, and nothing is in both.
pub(crate) struct Hub<K> {
    store: Store<K>,
    stage: Mutex<Stage<K>>,
    /// How much has been written to the log, for those who only want to know how far they are.
    written: AtomicU64,
    /// How much had been told when the cache was complete for the first time.
    synced_at: AtomicU64,
    is_closed: AtomicBool,
    /// Who waits for something to be told.
    waiting: Mutex<Waiters>,
    /// A follower that makes others wait has come further, or has left.
    room: Notify,
    /// Somebody came, or the cache is complete.
    pub(super) rescheduled: Notify,
    pub(crate) metrics: HubMetrics,
    default_period: Duration,
}

struct Stage<K> {
    /// Gone once the hub is closed.
    writer: Option<Writer<K>>,
    log: Log<K>,
    seats: Vec<Arc<Seat<K>>>,
    issued: u64,
    gauged: Option<Instant>,
    /// What was there from the start, until the cache is complete.
    restored: Option<Arc<Snapshot<K>>>,
    /// So much had been handled by those who are told differences alone and have left.
    left_at: u64,
}

/// So often are the gauges of followers set.
const GAUGE_PERIOD: Duration = Duration::from_secs(1);

impl<K> Hub<K> {
    pub(crate) fn new(store: Store<K>, writer: Writer<K>, name: &str, default_period: Duration) -> Self {
        let stage = Stage {
            writer: Some(writer),
            log: Log::new(),
            seats: Vec::new(),
            issued: 0,
            gauged: None,
            restored: Some(store.snapshot())
                .filter(|snapshot| snapshot.version().is_some() || !snapshot.is_empty()),
            left_at: u64::MAX,
        };
        Self {
            store,
            stage: Mutex::new(stage),
            written: AtomicU64::new(0),
            synced_at: AtomicU64::new(u64::MAX),
            is_closed: AtomicBool::new(false),
            waiting: Mutex::default(),
            room: Notify::new(),
            rescheduled: Notify::new(),
            metrics: HubMetrics::of(name),
            default_period,
        }
    }

    fn stage(&self) -> MutexGuard<'_, Stage<K>> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a follower in; nothing once the hub is closed.
    pub(super) fn join(&self, options: Subscribe<K>, ending: Ending) -> Option<Arc<Seat<K>>> {
        let period = options.period(self.default_period);
        let mut stage = self.stage();
        stage.writer.as_ref()?;
        stage.issued += 1;
        let number = stage.issued;
        // Each that has no name of its own would be a series of its own, for ever.
        let metrics = self.metrics.seat(options.name.as_deref().unwrap_or("subscriber"));
        let name = options.name.unwrap_or_else(|| format!("subscriber-{number}"));
        let Subscribe { policy, filter, replay, .. } = options;
        let now = self.store.snapshot();
        let welcome = match (&stage.restored, replay) {
            (Some(before), Replay::Differences) => Welcome::Differences { before: Arc::clone(before), now },
            (Some(_), Replay::All) | (None, _) => Welcome::All(now),
        };
        let ticket = Ticket { number, name, policy, filter, replay, period, ending, metrics };
        let reader = Reader::new(number, period.is_some(), welcome, stage.log.cursor());
        let seat = Arc::new(Seat::new(ticket, reader));
        stage.seats.push(Arc::clone(&seat));
        drop(stage);
        self.rescheduled.notify_waiters();
        Some(seat)
    }

    /// Lets a follower go.
    pub(super) fn leave(&self, seat: &Seat<K>) {
        let mut stage = self.stage();
        let before = stage.seats.len();
        stage.seats.retain(|held| held.number != seat.number);
        if before > stage.seats.len() && seat.replay == Replay::Differences {
            let handled = seat.handled().unwrap_or_default();
            if handled < stage.log.end() {
                stage.left_at = stage.left_at.min(handled);
            }
        }
        drop(stage);
        seat.leave();
        self.room.notify_waiters();
        self.wake_all();
    }

    /// The cache is complete for the first time.
    pub(crate) fn complete(&self) {
        let mut stage = self.stage();
        stage.restored = None;
        self.synced_at.store(stage.log.end(), Ordering::Release);
        let now = Instant::now();
        stage.seats.iter().for_each(|seat| {
            seat.rearm(now);
            // Who has nothing to handle will not come by to see that it is done.
            seat.nudge();
        });
        drop(stage);
        self.rescheduled.notify_waiters();
    }

    /// Whether a follower has been told, and has handled, all that was there when the cache was complete.
    pub(super) fn has_synced(&self, seat: &Seat<K>) -> bool {
        let synced_at = self.synced_at.load(Ordering::Acquire);
        synced_at != u64::MAX && seat.handled().is_some_and(|handled| handled >= synced_at)
    }

    /// Takes no more changes, and tells followers that none will come once they have read what there is.
    pub(crate) fn close(&self) {
        let mut stage = self.stage();
        let writer = stage.writer.take();
        stage.seats.iter().filter(|seat| seat.ending == Ending::Leaves).for_each(|seat| seat.leave());
        self.is_closed.store(true, Ordering::Release);
        drop(stage);
        drop(writer);
        self.wake_all();
        self.room.notify_waiters();
        self.rescheduled.notify_waiters();
        self.stage().seats.iter().for_each(|seat| seat.nudge());
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// The followers there are.
    pub(super) fn seats(&self) -> Vec<Arc<Seat<K>>> {
        self.stage().seats.clone()
    }

    /// How many events a follower has not been told.
    pub(super) fn depth(&self, seat: &Seat<K>) -> u64 {
        // Not under the lock, which is held while a whole list is taken in.
        seat.depth(self.written.load(Ordering::Acquire))
    }

    /// Waits until nobody who makes others wait is too far behind.
    pub(crate) async fn room(&self) {
        let began = Instant::now();
        let mut is_told = false;
        loop {
            let mut room = std::pin::pin!(self.room.notified());
            room.as_mut().enable();
            let Some(slow) = self.slowest() else { return };
            if !is_told && began.elapsed() >= PATIENCE {
                is_told = true;
                tracing::warn!(
                    handler = slow.name,
                    depth = self.depth(&slow),
                    "informer waits for a handler"
                );
            }
            // From time to time the gauges are set, so that one sees who it is.
            let _ = tokio::time::timeout(GAUGE_PERIOD, room).await;
        }
    }

    /// One who makes others wait and is too far behind.
    fn slowest(&self) -> Option<Arc<Seat<K>>> {
        let mut stage = self.stage();
        let slow = stage.blocking().cloned().filter(|_| stage.writer.is_some())?;
        self.set_gauges(&mut stage);
        Some(slow)
    }

    /// How much has been told, of all that is in the cache by now.
    pub(crate) fn told(&self) -> u64 {
        self.stage().log.end()
    }

    /// The state of the cache.
    #[cfg(feature = "saved")]
    pub(crate) fn snapshot(&self) -> Arc<Snapshot<K>> {
        self.store.snapshot()
    }

    /// How much all those have handled who are told differences alone, also those who have left with something unhandled.
    #[cfg(feature = "saved")]
    pub(crate) fn handled(&self) -> u64 {
        let stage = self.stage();
        let kept_up = stage.seats.iter().filter(|seat| seat.replay == Replay::Differences);
        kept_up.map(|seat| seat.handled().unwrap_or_default()).fold(stage.left_at, u64::min)
    }

    /// Whether no more than that will ever be handled: somebody of them has left.
    #[cfg(feature = "saved")]
    pub(crate) fn is_handled_for_good(&self, handled: u64) -> bool {
        let left_at = self.stage().left_at;
        left_at != u64::MAX && handled >= left_at
    }

    /// Says that a follower has come further, to those for whom it matters.
    pub(super) fn progressed(&self, seat: &Seat<K>) {
        if matches!(seat.policy, Policy::Block(_)) {
            self.room.notify_waiters();
        }
    }

    /// Wakes `waker` when something is told, the hub is closed or somebody leaves.
    pub(super) fn register(&self, ticket: &mut waiters::Ticket, waker: &Waker) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).register(ticket, waker);
    }

    /// Waits no longer.
    pub(super) fn unregister(&self, ticket: &waiters::Ticket) {
        if ticket.is_issued() {
            self.waiting.lock().unwrap_or_else(PoisonError::into_inner).leave(ticket);
        }
    }

    fn wake_all(&self) {
        let woken = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
        wake(woken);
    }

    fn set_gauges(&self, stage: &mut Stage<K>) {
        let now = Instant::now();
        if stage.gauged.is_some_and(|before| now < before + GAUGE_PERIOD) {
            return;
        }
        stage.gauged = Some(now);
        let end = stage.log.end();
        for seat in &stage.seats {
            seat.metrics.depth.set(seat.depth(end) as f64);
            let lag = seat.oldest().map_or(Duration::ZERO, |oldest| now.saturating_duration_since(oldest));
            seat.metrics.lag.set(lag.as_secs_f64());
        }
    }
}

/// How long the informer waits for a handler before it says so.
const PATIENCE: Duration = Duration::from_secs(30);

impl<K: Resource> Hub<K> {
    /// Changes the cache, and tells what that did. Does nothing once the hub is closed.
    pub(crate) fn publish<R>(
        &self,
        received: Instant,
        change: impl FnOnce(&mut Writer<K>, &mut Tidings<K>) -> R,
    ) -> Option<R> {
        let mut stage = self.stage();
        let mut tidings = Tidings::for_those_who_want(stage.wants());
        let outcome = change(stage.writer.as_mut()?, &mut tidings);
        let has_news = !tidings.parts.is_empty();
        for part in tidings.parts {
            stage.log.append(part, received);
        }
        self.written.store(stage.log.end(), Ordering::Release);
        self.metrics.events.increment(tidings.changes);
        self.metrics.objects.set(self.store.len() as f64);
        if let Some(version) = self.store.version().and_then(|version| version.to_number()) {
            self.metrics.version.set(version as f64);
        }
        self.set_gauges(&mut stage);
        stage.fold();
        drop(stage);
        if has_news {
            self.wake_all();
        }
        Some(outcome)
    }

    /// Tells everything known again to those whose turn it is, and says when the next turn is.
    ///
    /// While somebody makes others wait, nobody is told anything: the turn passes.
    pub(super) fn resync(&self, now: Instant) -> Option<Instant> {
        let mut stage = self.stage();
        if self.synced_at.load(Ordering::Acquire) == u64::MAX || stage.writer.is_none() {
            return None;
        }
        let end = stage.log.end();
        if stage.blocking().is_some() {
            let is_due = |seat: &&Arc<Seat<K>>| seat.due().is_some_and(|due| due <= now);
            stage.seats.iter().filter(is_due).for_each(|seat| seat.rearm(now));
        } else {
            let due = |seat: &&Arc<Seat<K>>| seat.take_turn(now, end);
            let whom: Box<[u64]> = stage.seats.iter().filter(due).map(|seat| seat.number).collect();
            if !whom.is_empty() {
                stage.log.append(Part::Resync(self.store.snapshot(), whom), now);
                self.written.store(stage.log.end(), Ordering::Release);
                stage.fold();
            }
        }
        let next = stage.seats.iter().filter_map(|seat| seat.due()).min();
        drop(stage);
        self.wake_all();
        next
    }
}

impl<K: Resource> Stage<K> {
    /// Folds what is too much for those who want it so.
    fn fold(&self) {
        let end = self.log.end();
        for seat in &self.seats {
            if matches!(seat.policy, Policy::Coalesce(_)) && seat.behind(end) > seat.policy.limit() {
                seat.reader().fold_beyond(seat.policy.limit(), end);
            }
        }
    }
}

impl<K> Stage<K> {
    /// One who makes others wait and is too far behind.
    fn blocking(&self) -> Option<&Arc<Seat<K>>> {
        let end = self.log.end();
        let is_full = |seat: &&Arc<Seat<K>>| {
            matches!(seat.policy, Policy::Block(_)) && seat.behind(end) >= seat.policy.limit()
        };
        self.seats.iter().find(is_full)
    }

    fn wants(&self) -> Wants {
        if self.seats.iter().any(|seat| seat.wants_again()) {
            Wants::Everything
        } else if self.seats.is_empty() {
            Wants::Nothing
        } else {
            Wants::Changes
        }
    }
}
