//! The thread that writes, and what it shares with those who do not wait for it.

use crate::{
    batch::{Batch, Snapshot},
    error::SaveError,
    log::{Log, Size},
    queue::{Queue, Step, Taken, Work},
};
use kube_informer_wire::chance;
use std::{
    fmt,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime},
};

/// What the writer tells about, on its own thread.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// Changes could not be saved. The informer is none the worse for it.
    Failed {
        /// Why.
        error: SaveError,
        /// How many attempts have failed in a row.
        failures: u32,
        /// When it is tried again.
        retry_in: Duration,
    },
    /// Changes are saved again after failures.
    Recovered,
    /// The file was written anew, without what is no longer of use.
    Compacted {
        /// How many bytes it had.
        before: u64,
        /// How many it has.
        after: u64,
    },
}

/// How saving goes.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Status {
    /// Why the last attempt failed, if it did.
    pub failing: Option<SaveError>,
    /// Whether nothing is saved until there is a new [`Snapshot`].
    pub is_behind: bool,
    /// Whether nothing is saved any more.
    pub is_stopped: bool,
    /// How many changes of batches were saved.
    pub saved: u64,
    /// How many attempts failed.
    pub failures: u64,
    /// How often the file was written anew.
    pub compactions: u64,
    /// About how many bytes wait to be written.
    pub queued_bytes: usize,
    /// How large the file is.
    pub file_bytes: u64,
    /// How much of it is in use.
    pub live_bytes: u64,
    /// How many objects are saved.
    pub objects: usize,
    /// When something was last saved by this process.
    pub saved_at: Option<SystemTime>,
}

/// What is told of each event.
pub(crate) type Listener = Arc<dyn Fn(&Event) + Send + Sync>;

/// What the writer and its handle share.
pub(crate) struct Desk {
    state: Mutex<State>,
    /// Something came, or is wanted.
    came: Condvar,
    /// An attempt was made.
    attempted: Condvar,
    pauses: Pauses,
    listener: Option<Listener>,
}

/// How long to wait after a failure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pauses {
    pub(crate) first: Duration,
    pub(crate) longest: Duration,
}

#[derive(Debug)]
struct State {
    queue: Queue,
    status: Status,
    /// Everything up to here is in the file.
    written: u64,
    /// How many attempts have failed in a row.
    failures: u32,
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk").field("state", &self.state).finish_non_exhaustive()
    }
}

impl Pauses {
    fn after(self, failures: u32) -> Duration {
        let doubled = self.first.saturating_mul(1 << failures.saturating_sub(1).min(20));
        doubled.min(self.longest)
    }
}

impl Desk {
    pub(crate) fn new(queue: Queue, size: Size, pauses: Pauses, listener: Option<Listener>) -> Self {
        let mut state = State { queue, status: Status::default(), written: 0, failures: 0 };
        state.sized(size);
        Self { state: Mutex::new(state), came: Condvar::new(), attempted: Condvar::new(), pauses, listener }
    }

    pub(crate) fn append(&self, batch: Batch) -> Taken {
        let mut state = self.state();
        let was_idle = state.queue.is_idle();
        let taken = state.queue.append(batch, Instant::now());
        // A writer that waits for the interval is not woken for each change within it.
        if was_idle || state.queue.is_urgent() {
            self.came.notify_one();
        }
        taken
    }

    pub(crate) fn replace(&self, snapshot: Snapshot) -> Taken {
        let taken = self.state().queue.replace(snapshot, Instant::now());
        self.came.notify_one();
        taken
    }

    pub(crate) fn close(&self) {
        self.state().queue.close();
        self.came.notify_one();
    }

    pub(crate) fn status(&self) -> Status {
        let state = self.state();
        Status {
            is_behind: state.queue.is_behind(),
            is_stopped: state.queue.is_stopped(),
            queued_bytes: state.queue.size(),
            ..state.status.clone()
        }
    }

    /// Waits until what came before is in the file, or cannot be.
    pub(crate) fn flush(&self) -> Result<(), SaveError> {
        let mut state = self.state();
        let (wanted, failures) = (state.queue.hurry(), state.status.failures);
        self.came.notify_one();
        loop {
            if state.queue.is_behind() {
                return Err(state.status.failing.clone().unwrap_or(SaveError::Behind));
            }
            if state.written >= wanted {
                return Ok(());
            }
            if let Some(error) = state.status.failing.as_ref().filter(|_| state.status.failures > failures) {
                return Err(error.clone());
            }
            if state.queue.is_stopped() {
                return Err(SaveError::Stopped);
            }
            state = self.attempted.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Writes what comes, until it is closed.
    pub(crate) fn run(&self, mut log: Log) {
        // Whatever becomes of this thread, nobody waits for it in vain.
        let _stop = StopOnDrop(self);
        let mut compact_after = None;
        while let Some(work) = self.next_work() {
            self.write(&mut log, work, &mut compact_after);
        }
    }

    /// Writes what waits, without waiting for anything.
    pub(crate) fn work_off(&self, log: &mut Log) {
        self.state().queue.hurry();
        loop {
            let step = self.state().queue.next(Instant::now());
            let Step::Write(work) = step else { return };
            self.write(log, work, &mut None);
        }
    }

    fn write(&self, log: &mut Log, work: Work, compact_after: &mut Option<Instant>) {
        self.save(log, work);
        let now = Instant::now();
        let may_compact = compact_after.is_none_or(|after| now >= after) && !self.state().queue.is_closing();
        if may_compact && (log.wants_compaction() || chance::strikes(16)) {
            *compact_after = self.compact(log).map(|pause| now + pause);
        }
    }

    fn next_work(&self) -> Option<Work> {
        let mut state = self.state();
        loop {
            let now = Instant::now();
            let poisoned = PoisonError::into_inner;
            state = match state.queue.next(now) {
                Step::Write(work) => return Some(work),
                Step::End => return None,
                Step::Wait => self.came.wait(state).unwrap_or_else(poisoned),
                Step::WaitUntil(until) => {
                    let waited = self.came.wait_timeout(state, until.saturating_duration_since(now));
                    waited.map_or_else(|poison| poison.into_inner().0, |(state, _)| state)
                }
            };
        }
    }

    fn save(&self, log: &mut Log, mut work: Work) {
        let now = SystemTime::now();
        let replaced = work.snapshot.take().map_or(Ok(()), |snapshot| log.replace(snapshot, now));
        if let Err(error) = replaced {
            // Its objects were asked for, and cannot be again.
            self.failed(error, |queue, now, pause| queue.lost(now, pause));
            return;
        }
        let appended = if work.batches.is_empty() { Ok(()) } else { log.append(&work.batches, now) };
        match appended {
            Ok(()) => self.saved(&work, log.size(), now),
            Err(error) if error.needs_snapshot() => {
                self.failed(error, |queue, now, pause| queue.lost(now, pause));
            }
            Err(error) => {
                self.failed(error, |queue, now, pause| queue.failed(work.batches, now, pause));
            }
        }
    }

    fn saved(&self, work: &Work, size: Size, now: SystemTime) {
        let mut state = self.state();
        let has_recovered = state.failures > 0;
        state.queue.written();
        state.written = work.up_to;
        state.failures = 0;
        state.sized(size);
        state.status.failing = None;
        state.status.saved_at = Some(now);
        state.status.saved += work.batches.iter().map(|batch| batch.len() as u64).sum::<u64>();
        drop(state);
        self.attempted.notify_all();
        if has_recovered {
            self.tell(&Event::Recovered);
        }
    }

    fn failed(&self, error: SaveError, then: impl FnOnce(&mut Queue, Instant, Duration)) -> Duration {
        let mut state = self.state();
        state.failures += 1;
        state.status.failures += 1;
        state.status.failing = Some(error.clone());
        let (failures, retry_in) = (state.failures, self.pauses.after(state.failures));
        then(&mut state.queue, Instant::now(), retry_in);
        drop(state);
        self.attempted.notify_all();
        self.tell(&Event::Failed { error, failures, retry_in });
        retry_in
    }

    /// Writes the file anew; says how long to wait if that failed.
    fn compact(&self, log: &mut Log) -> Option<Duration> {
        let before = log.size().file;
        match log.compact() {
            Err(error) if error.needs_snapshot() => {
                Some(self.failed(error, |queue, now, pause| queue.lost(now, pause)))
            }
            Err(error) => Some(self.failed(error, |_, _, _| {})),
            Ok(()) => {
                let size = log.size();
                let mut state = self.state();
                state.sized(size);
                state.status.compactions += 1;
                drop(state);
                self.tell(&Event::Compacted { before, after: size.file });
                None
            }
        }
    }

    fn tell(&self, event: &Event) {
        if let Some(listener) = &self.listener {
            listener(event);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn sized(&mut self, size: Size) {
        self.status.file_bytes = size.file;
        self.status.live_bytes = size.live;
        self.status.objects = size.objects;
    }
}

struct StopOnDrop<'a>(&'a Desk);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.state().queue.stopped();
        self.0.attempted.notify_all();
    }
}
