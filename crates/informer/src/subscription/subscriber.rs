//! A follower, as the hub knows it.

use super::{
    metrics::SeatMetrics,
    options::{Filter, Replay},
    policy::Policy,
    reader::{Chunk, Reached, Reader},
};
use std::{
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{sync::Notify, task::Id, time::Instant};
use tokio_util::sync::CancellationToken;

/// One follower: where it reads, and how far it has come.
pub(super) struct Seat<K> {
    pub(super) number: u64,
    pub(super) name: String,
    pub(super) policy: Policy,
    pub(super) filter: Filter<K>,
    pub(super) replay: Replay,
    /// Whether it reads what is there when the hub is closed.
    pub(super) ending: Ending,
    pub(super) metrics: SeatMetrics,
    /// The task in which its handler runs.
    pub(super) task: OnceLock<Id>,
    /// Nothing of it runs any longer.
    pub(super) finished: CancellationToken,
    has_left: AtomicBool,
    leaving: Notify,
    reader: Mutex<Reader<K>>,
    /// What was taken from the reader and not told yet.
    in_hand: AtomicU64,
    in_hand_since: Mutex<Option<Instant>>,
    handled: AtomicU64,
    is_joining: AtomicBool,
    panics: AtomicU64,
    moved: Notify,
    resync: Option<Resync>,
}

/// When a follower is told everything again.
struct Resync {
    period: Duration,
    schedule: Mutex<Schedule>,
}

struct Schedule {
    /// Nothing if that is further away than time goes.
    due: Option<Instant>,
    /// Where the log was after the last one.
    last: u64,
}

impl Schedule {
    fn new(period: Duration, now: Instant) -> Self {
        Self { due: now.checked_add(period), last: 0 }
    }
}

/// What is settled about a follower when it comes.
pub(super) struct Ticket<K> {
    pub(super) number: u64,
    pub(super) name: String,
    pub(super) policy: Policy,
    pub(super) filter: Filter<K>,
    pub(super) replay: Replay,
    pub(super) period: Option<Duration>,
    pub(super) ending: Ending,
    pub(super) metrics: SeatMetrics,
}

/// What a follower does when the hub is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// It reads what is there.
    Drains,
    /// It leaves.
    Leaves,
}

impl<K> Seat<K> {
    pub(super) fn new(ticket: Ticket<K>, reader: Reader<K>) -> Self {
        let Reached { position, is_joining } = reader.reached();
        let due = |period| Resync { period, schedule: Mutex::new(Schedule::new(period, Instant::now())) };
        Self {
            number: ticket.number,
            name: ticket.name,
            policy: ticket.policy,
            filter: ticket.filter,
            replay: ticket.replay,
            ending: ticket.ending,
            metrics: ticket.metrics,
            task: OnceLock::new(),
            finished: CancellationToken::new(),
            has_left: AtomicBool::new(false),
            leaving: Notify::new(),
            reader: Mutex::new(reader),
            in_hand: AtomicU64::new(0),
            in_hand_since: Mutex::default(),
            handled: AtomicU64::new(position),
            is_joining: AtomicBool::new(is_joining),
            panics: AtomicU64::new(0),
            moved: Notify::new(),
            resync: ticket.period.map(due),
        }
    }

    /// It is to leave as soon as it has handled what it is at.
    pub(super) fn leave(&self) {
        self.has_left.store(true, Ordering::Release);
        self.reader().end();
        self.metrics.depth.set(0.0);
        self.metrics.lag.set(0.0);
        self.leaving.notify_waiters();
        self.nudge();
    }

    pub(super) fn has_left(&self) -> bool {
        self.has_left.load(Ordering::Acquire)
    }

    /// Waits so long, or until it is to leave.
    pub(super) async fn pause(&self, time: Duration) {
        let mut leaving = std::pin::pin!(self.leaving.notified());
        leaving.as_mut().enable();
        if !self.has_left() {
            let _ = tokio::time::timeout(time, leaving).await;
        }
    }

    pub(super) fn reader(&self) -> MutexGuard<'_, Reader<K>> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what is to be told next, if there is something.
    pub(super) fn take(&self) -> Option<Chunk<K>> {
        let mut reader = self.reader();
        let chunk = reader.take();
        match &chunk {
            Some(chunk) => self.holds(chunk.events().len()),
            // What was not for this follower is behind it all the same.
            None => self.reached(reader.reached()),
        }
        *self.hand() = chunk.as_ref().and_then(Chunk::received);
        chunk
    }

    fn hand(&self) -> MutexGuard<'_, Option<Instant>> {
        self.in_hand_since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When the oldest change that it has not handled arrived.
    pub(super) fn oldest(&self) -> Option<Instant> {
        let waiting = self.reader().oldest();
        [*self.hand(), waiting].into_iter().flatten().min()
    }

    /// It has taken so many events that it has not been told.
    pub(super) fn holds(&self, events: usize) {
        self.in_hand.store(events as u64, Ordering::Relaxed);
    }

    /// How many events it has not been told, with the log written up to `end`.
    pub(super) fn depth(&self, end: u64) -> u64 {
        self.reader().depth(end) + self.in_hand.load(Ordering::Relaxed)
    }

    /// The follower has handled everything up to here.
    pub(super) fn reached(&self, reached: Reached) {
        self.is_joining.store(reached.is_joining, Ordering::Release);
        self.handled.store(reached.position, Ordering::Release);
        self.moved.notify_waiters();
    }

    /// Lets whoever waits for it look again.
    pub(super) fn nudge(&self) {
        self.moved.notify_waiters();
    }

    /// Up to where it has handled everything; nothing while it is still told what was there when it came.
    pub(super) fn handled(&self) -> Option<u64> {
        let position = self.handled.load(Ordering::Acquire);
        (!self.is_joining.load(Ordering::Acquire)).then_some(position)
    }

    /// How far it is behind what has been written up to `end`, counting what it is at.
    pub(super) fn behind(&self, end: u64) -> u64 {
        end.saturating_sub(self.handled.load(Ordering::Acquire))
    }

    /// Resolves when it has come further, from the moment it is enabled or polled.
    pub(super) fn moved(&self) -> tokio::sync::futures::Notified<'_> {
        self.moved.notified()
    }

    pub(super) fn panicked(&self) {
        self.panics.fetch_add(1, Ordering::Relaxed);
        self.metrics.panics.increment(1);
    }

    pub(super) fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }

    /// Whether it wants to be told again what it knows.
    pub(super) fn wants_again(&self) -> bool {
        self.resync.is_some()
    }

    /// When it is to be told everything again.
    pub(super) fn due(&self) -> Option<Instant> {
        self.resync.as_ref()?.lock().due
    }

    /// Whether that is now, with the log written up to `end`; the next time is counted from here. One that is still
    /// being told the last time lets this one pass.
    pub(super) fn take_turn(&self, now: Instant, end: u64) -> bool {
        let Some(resync) = &self.resync else { return false };
        let mut schedule = resync.lock();
        if schedule.due.is_none_or(|due| now < due) {
            return false;
        }
        schedule.due = now.checked_add(resync.period);
        let is_free = self.handled.load(Ordering::Acquire) >= schedule.last;
        if is_free {
            schedule.last = end + 1;
        }
        is_free
    }

    /// Counts the time to the next resync from `now`.
    pub(super) fn rearm(&self, now: Instant) {
        if let Some(resync) = &self.resync {
            resync.lock().due = now.checked_add(resync.period);
        }
    }
}

impl Resync {
    fn lock(&self) -> MutexGuard<'_, Schedule> {
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
