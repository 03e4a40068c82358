//! The writer thread and the state that it shares with the handle.

use crate::{
    batch::{Batch, Snapshot},
    error::SaveError,
    log::{Log, LogSize},
    queue::{Enqueue, Queue, Step, Work},
};
use kube_informer_wire::rng;
use std::{
    fmt,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime},
};

/// An event of the writer thread; see [`Options::on_event`](crate::Options::on_event).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum WriterEvent {
    /// Changes could not be saved.
    Failed {
        /// The cause.
        error: SaveError,
        /// The number of consecutive failures.
        failures: u32,
        /// The delay before the next attempt.
        retry_in: Duration,
    },
    /// Changes are saved again after failures.
    Recovered,
    /// The file was compacted.
    Compacted {
        /// The size of the file before, in bytes.
        before: u64,
        /// The size of the file after, in bytes.
        after: u64,
    },
}

/// The status of the writer.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct WriterStatus {
    /// The error of the last attempt, if it failed.
    pub last_error: Option<SaveError>,
    /// True if saving stops until there is a new [`Snapshot`].
    pub needs_snapshot: bool,
    /// Whether the writer has stopped.
    pub is_stopped: bool,
    /// The number of saved changes, not counting snapshots.
    pub saved: u64,
    /// The number of failed attempts.
    pub failures: u64,
    /// The number of compactions.
    pub compactions: u64,
    /// The approximate number of bytes in the write queue.
    pub queued_bytes: usize,
    /// The size of the file in bytes.
    pub file_bytes: u64,
    /// The size of the live data in the file in bytes.
    pub live_bytes: u64,
    /// The number of saved objects.
    pub objects: usize,
    /// When this process last saved something.
    pub saved_at: Option<SystemTime>,
}

pub(crate) type Listener = Arc<dyn Fn(&WriterEvent) + Send + Sync>;

/// The state that the writer and its handle share.
pub(crate) struct WriterShared {
    state: Mutex<State>,
    /// Notified when the writer has to check the queue.
    work_available: Condvar,
    /// Notified after each attempt to write.
    attempt_finished: Condvar,
    backoff: Backoff,
    listener: Option<Listener>,
}

/// The delays between failed attempts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    pub(crate) initial: Duration,
    pub(crate) max: Duration,
}

#[derive(Debug)]
struct State {
    queue: Queue,
    status: WriterStatus,
    /// The [`Work::up_to`] that was written last.
    written: u64,
    /// The number of consecutive failures.
    failures: u32,
}

/// How the queue continues after a failure.
enum AfterFailure {
    Retry(Vec<Batch>),
    NeedSnapshot,
    KeepQueue,
}

impl fmt::Debug for WriterShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriterShared").field("state", &self.state).finish_non_exhaustive()
    }
}

impl Backoff {
    fn delay(self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(20);
        self.initial.saturating_mul(1 << doublings).min(self.max)
    }
}

impl WriterShared {
    pub(crate) fn new(queue: Queue, size: LogSize, backoff: Backoff, listener: Option<Listener>) -> Self {
        let mut state = State { queue, status: WriterStatus::default(), written: 0, failures: 0 };
        state.set_size(size);
        Self {
            state: Mutex::new(state),
            work_available: Condvar::new(),
            attempt_finished: Condvar::new(),
            backoff,
            listener,
        }
    }

    pub(crate) fn append(&self, batch: Batch) -> Enqueue {
        let mut state = self.lock();
        let was_empty = state.queue.is_empty();
        let result = state.queue.append(batch, Instant::now());
        // Do not wake the writer for each change within the interval.
        if was_empty || state.queue.is_urgent() {
            self.work_available.notify_one();
        }
        result
    }

    pub(crate) fn replace(&self, snapshot: Snapshot) -> Enqueue {
        let result = self.lock().queue.replace(snapshot, Instant::now());
        self.work_available.notify_one();
        result
    }

    pub(crate) fn close(&self) {
        self.lock().queue.close();
        self.work_available.notify_one();
    }

    pub(crate) fn status(&self) -> WriterStatus {
        let state = self.lock();
        WriterStatus {
            needs_snapshot: state.queue.needs_snapshot(),
            is_stopped: state.queue.is_stopped(),
            queued_bytes: state.queue.size(),
            ..state.status.clone()
        }
    }

    /// Waits until everything queued so far is written or an attempt fails.
    pub(crate) fn flush(&self) -> Result<(), SaveError> {
        let mut state = self.lock();
        let target = state.queue.request_flush();
        let failures_before = state.status.failures;
        self.work_available.notify_one();
        loop {
            let last_error = state.status.last_error.as_ref();
            if state.queue.needs_snapshot() {
                return Err(last_error.cloned().unwrap_or(SaveError::QueueFull));
            }
            if state.written >= target {
                return Ok(());
            }
            if let Some(error) = last_error
                && state.status.failures > failures_before
            {
                return Err(error.clone());
            }
            if state.queue.is_stopped() {
                return Err(SaveError::Stopped);
            }
            state = self.attempt_finished.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Writes to the log until the queue is closed and empty.
    pub(crate) fn run(&self, mut log: Log) {
        // Also stops the queue after a panic, so that `flush` does not wait forever.
        let _stop = StopOnDrop(self);
        let mut compact_after = None;
        while let Some(work) = self.wait_for_work() {
            self.write(&mut log, work, &mut compact_after);
        }
    }

    /// Writes the queued data without waiting.
    pub(crate) fn drain(&self, log: &mut Log) {
        self.lock().queue.request_flush();
        loop {
            let step = self.lock().queue.next(Instant::now());
            let Step::Write(work) = step else { return };
            self.write(log, work, &mut None);
        }
    }

    fn write(&self, log: &mut Log, work: Work, compact_after: &mut Option<Instant>) {
        self.save(log, work);
        let now = Instant::now();
        let may_compact = compact_after.is_none_or(|after| now >= after) && !self.lock().queue.is_closing();
        if may_compact && (log.needs_compaction() || rng::buggify(16)) {
            *compact_after = self.compact(log).map(|delay| now + delay);
        }
    }

    fn wait_for_work(&self) -> Option<Work> {
        let mut state = self.lock();
        loop {
            let now = Instant::now();
            state = match state.queue.next(now) {
                Step::Write(work) => return Some(work),
                Step::End => return None,
                Step::Wait => self.work_available.wait(state).unwrap_or_else(PoisonError::into_inner),
                Step::WaitUntil(until) => {
                    let timeout = until.saturating_duration_since(now);
                    let waited = self.work_available.wait_timeout(state, timeout);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    fn save(&self, log: &mut Log, work: Work) {
        let Work { snapshot, batches, up_to } = work;
        let now = SystemTime::now();
        if let Some(snapshot) = snapshot
            && let Err(error) = log.replace(snapshot, now)
        {
            // The objects of the snapshot are consumed, so it cannot be retried.
            self.failed(error, AfterFailure::NeedSnapshot);
            return;
        }
        let appended = if batches.is_empty() { Ok(()) } else { log.append(&batches, now) };
        match appended {
            Ok(()) => {
                let changes = batches.iter().map(|batch| batch.len() as u64).sum();
                self.succeeded(changes, up_to, log.size());
            }
            Err(error) if error.needs_snapshot() => {
                self.failed(error, AfterFailure::NeedSnapshot);
            }
            Err(error) => {
                self.failed(error, AfterFailure::Retry(batches));
            }
        }
    }

    fn succeeded(&self, changes: u64, up_to: u64, size: LogSize) {
        let mut state = self.lock();
        let has_recovered = state.failures > 0;
        state.queue.write_succeeded();
        state.written = up_to;
        state.failures = 0;
        state.set_size(size);
        state.status.last_error = None;
        state.status.saved_at = Some(SystemTime::now());
        state.status.saved += changes;
        drop(state);
        self.attempt_finished.notify_all();
        if has_recovered {
            self.emit(&WriterEvent::Recovered);
        }
    }

    /// Reports a failure and returns the delay before the next attempt.
    fn failed(&self, error: SaveError, then: AfterFailure) -> Duration {
        let mut state = self.lock();
        state.failures += 1;
        state.status.failures += 1;
        state.status.last_error = Some(error.clone());
        let failures = state.failures;
        let retry_in = self.backoff.delay(failures);
        match then {
            AfterFailure::Retry(batches) => state.queue.retry(batches, Instant::now(), retry_in),
            AfterFailure::NeedSnapshot => state.queue.drop_until_snapshot(Instant::now(), retry_in),
            AfterFailure::KeepQueue => {}
        }
        drop(state);
        self.attempt_finished.notify_all();
        self.emit(&WriterEvent::Failed { error, failures, retry_in });
        retry_in
    }

    /// Compacts the log; returns the delay before the next attempt if that failed.
    fn compact(&self, log: &mut Log) -> Option<Duration> {
        let before = log.size().file;
        match log.compact() {
            Err(error) if error.needs_snapshot() => Some(self.failed(error, AfterFailure::NeedSnapshot)),
            Err(error) => Some(self.failed(error, AfterFailure::KeepQueue)),
            Ok(()) => {
                let size = log.size();
                let mut state = self.lock();
                state.set_size(size);
                state.status.compactions += 1;
                drop(state);
                self.emit(&WriterEvent::Compacted { before, after: size.file });
                None
            }
        }
    }

    fn emit(&self, event: &WriterEvent) {
        if let Some(listener) = &self.listener {
            listener(event);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn set_size(&mut self, size: LogSize) {
        self.status.file_bytes = size.file;
        self.status.live_bytes = size.live;
        self.status.objects = size.objects;
    }
}

struct StopOnDrop<'a>(&'a WriterShared);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.lock().queue.stop();
        self.0.attempt_finished.notify_all();
    }
}
