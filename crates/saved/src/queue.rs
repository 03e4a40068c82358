//! The queue of batches to write, as a state machine without I/O.

use crate::batch::{Batch, Snapshot};
use std::time::{Duration, Instant};

/// The result of queueing a batch or a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Enqueue {
    /// It will be written.
    Queued,
    /// It was dropped, like all batches until the next [`Snapshot`], because an earlier change could not be written. The state on
    /// disk is older but stays valid.
    NeedsSnapshot,
    /// It was dropped because the writer has stopped.
    Stopped,
}

/// The snapshot and the batches that are waiting to be written.
#[derive(Debug)]
pub(crate) struct Queue {
    limits: Limits,
    /// Written before the batches.
    snapshot: Option<Snapshot>,
    batches: Vec<Batch>,
    size: usize,
    /// The number of batches and snapshots that were queued so far.
    queued: u64,
    waiting_since: Option<Instant>,
    /// The end of the backoff after a failure.
    not_before: Option<Instant>,
    stage: Stage,
    needs_snapshot: bool,
    flush_requested: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// How long changes are collected.
    pub(crate) interval: Duration,
    /// The maximum size in bytes.
    pub(crate) size: usize,
}

/// Open -> Closing -> Stopped
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Open,
    Closing,
    Stopped,
}

/// The data to write next.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) snapshot: Option<Snapshot>,
    pub(crate) batches: Vec<Batch>,
    /// The value of [`Queue::queued`] that is reached when this is written.
    pub(crate) up_to: u64,
}

/// The next step of the writer.
#[derive(Debug)]
pub(crate) enum Step {
    Write(Work),
    Wait,
    WaitUntil(Instant),
    End,
}

impl Queue {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            snapshot: None,
            batches: Vec::new(),
            size: 0,
            queued: 0,
            waiting_since: None,
            not_before: None,
            stage: Stage::Open,
            needs_snapshot: false,
            flush_requested: false,
        }
    }

    pub(crate) fn append(&mut self, batch: Batch, now: Instant) -> Enqueue {
        if self.is_closing() {
            return Enqueue::Stopped;
        }
        if self.needs_snapshot || self.size > self.limits.size {
            self.needs_snapshot = true;
            return Enqueue::NeedsSnapshot;
        }
        if !batch.is_empty() {
            self.size += self.counted_size(&batch);
            self.batches.push(batch);
            self.count(now);
        }
        Enqueue::Queued
    }

    /// Replaces everything in the queue with a snapshot.
    pub(crate) fn replace(&mut self, snapshot: Snapshot, now: Instant) -> Enqueue {
        if self.is_closing() {
            return Enqueue::Stopped;
        }
        self.clear();
        self.snapshot = Some(snapshot);
        self.needs_snapshot = false;
        self.count(now);
        Enqueue::Queued
    }

    fn count(&mut self, now: Instant) {
        self.queued += 1;
        self.waiting_since.get_or_insert(now);
    }

    /// Counts at most half of the limit, so that one large batch, such as an initial list, does not fill the queue.
    fn counted_size(&self, batch: &Batch) -> usize {
        batch.size().min(self.limits.size / 2)
    }

    fn clear(&mut self) {
        self.snapshot = None;
        self.batches.clear();
        self.size = 0;
        self.waiting_since = None;
    }

    /// Requests that the queue is written without waiting for the interval. Returns the [`Work::up_to`] to wait for.
    pub(crate) fn request_flush(&mut self) -> u64 {
        self.flush_requested = true;
        self.queued
    }

    pub(crate) fn close(&mut self) {
        if self.stage == Stage::Open {
            self.stage = Stage::Closing;
        }
    }

    pub(crate) fn stop(&mut self) {
        self.stage = Stage::Stopped;
        self.clear();
    }

    /// Returns whether the queue is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting_since.is_none()
    }

    /// Returns whether the queue should be written without waiting for the interval.
    pub(crate) fn is_urgent(&self) -> bool {
        self.snapshot.is_some() || self.size >= self.limits.size / 2
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stage == Stage::Stopped
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.stage != Stage::Open
    }

    pub(crate) fn needs_snapshot(&self) -> bool {
        self.needs_snapshot
    }

    /// Returns the approximate number of queued bytes.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    pub(crate) fn next(&mut self, now: Instant) -> Step {
        let Some(since) = self.waiting_since else {
            self.flush_requested = false;
            return if self.is_closing() { Step::End } else { Step::Wait };
        };
        let due = if self.is_urgent() { since } else { since + self.limits.interval };
        let due = due.max(self.not_before.unwrap_or(due));
        if now < due && !self.flush_requested && !self.is_closing() {
            return Step::WaitUntil(due);
        }
        let work = Work {
            snapshot: self.snapshot.take(),
            batches: std::mem::take(&mut self.batches),
            up_to: self.queued,
        };
        self.clear();
        self.flush_requested = false;
        Step::Write(work)
    }

    /// Ends the backoff after a successful write.
    pub(crate) fn write_succeeded(&mut self) {
        self.not_before = None;
    }

    /// Returns batches to the queue, to retry after `delay`.
    pub(crate) fn retry(&mut self, batches: Vec<Batch>, now: Instant, delay: Duration) {
        if self.is_closing() {
            return self.drop_until_snapshot(now, delay);
        }
        self.not_before = Some(now + delay);
        if self.snapshot.is_some() {
            // The snapshot includes them.
            return;
        }
        let newer = std::mem::replace(&mut self.batches, batches);
        self.batches.extend(newer);
        self.size = self.batches.iter().map(|batch| self.counted_size(batch)).sum();
        self.waiting_since.get_or_insert(now);
    }

    /// Drops the queued batches, which depend on changes that cannot be written, unless a snapshot is queued.
    pub(crate) fn drop_until_snapshot(&mut self, now: Instant, delay: Duration) {
        self.not_before = Some(now + delay);
        if self.snapshot.is_none() {
            self.clear();
            self.needs_snapshot = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    const SECOND: Duration = Duration::from_secs(1);

    fn queue() -> (Queue, Instant) {
        (Queue::new(Limits { interval: SECOND, size: 1 << 10 }), Instant::now())
    }

    fn batch(size: usize) -> Batch {
        let mut batch = Batch::new();
        batch.attach(1, Bytes::from(vec![0; size]));
        batch
    }

    fn work(step: Step) -> Work {
        match step {
            Step::Write(work) => work,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn collects_changes_for_the_interval() {
        let (mut queue, now) = queue();
        assert!(matches!(queue.next(now), Step::Wait));
        assert_eq!(queue.append(batch(1), now), Enqueue::Queued);
        assert_eq!(queue.append(batch(1), now + SECOND / 2), Enqueue::Queued);
        assert!(matches!(queue.next(now + SECOND / 2), Step::WaitUntil(until) if until == now + SECOND));
        let work = work(queue.next(now + SECOND));
        assert_eq!((work.batches.len(), work.up_to), (2, 2));
        assert!(matches!(queue.next(now + SECOND), Step::Wait));
    }

    #[test]
    fn writes_immediately_on_flush_and_close() {
        let (mut queue, now) = queue();
        let _ = queue.append(batch(1), now);
        assert_eq!(queue.request_flush(), 1);
        assert_eq!(work(queue.next(now)).up_to, 1);
        let _ = queue.append(batch(1), now);
        queue.close();
        assert_eq!(queue.append(batch(1), now), Enqueue::Stopped);
        assert_eq!(work(queue.next(now)).batches.len(), 1);
        assert!(matches!(queue.next(now), Step::End));
    }

    #[test]
    fn a_full_queue_requests_a_snapshot_and_still_writes_its_batches() {
        let (mut queue, now) = queue();
        while queue.append(batch(300), now) == Enqueue::Queued {}
        assert_eq!(queue.append(batch(1), now), Enqueue::NeedsSnapshot);
        assert_eq!(work(queue.next(now)).batches.len(), 3);
        assert_eq!(queue.append(batch(1), now), Enqueue::NeedsSnapshot, "a batch is missing");
        assert_eq!(queue.replace(Snapshot::new([]), now), Enqueue::Queued);
        assert_eq!(queue.append(batch(1), now), Enqueue::Queued);
        let work = work(queue.next(now));
        assert!(work.snapshot.is_some());
        assert_eq!(work.batches.len(), 1);
    }

    #[test]
    fn a_large_batch_does_not_fill_the_queue() {
        let (mut queue, now) = queue();
        assert_eq!(queue.append(batch(1 << 20), now), Enqueue::Queued);
        assert_eq!(queue.append(batch(1), now), Enqueue::Queued);
        assert!(matches!(queue.next(now), Step::Write(_)), "it is written immediately");
    }

    #[test]
    fn retries_failed_batches_in_order_after_the_backoff() {
        let (mut queue, now) = queue();
        let _ = queue.append(batch(1), now);
        let first = work(queue.next(now + SECOND));
        let _ = queue.append(batch(2), now);
        queue.retry(first.batches, now, 9 * SECOND);
        assert!(matches!(queue.next(now + 8 * SECOND), Step::WaitUntil(until) if until == now + 9 * SECOND));
        let again = work(queue.next(now + 9 * SECOND));
        let sizes: Vec<usize> = again.batches.iter().map(Batch::size).collect();
        assert_eq!(sizes, [batch(1).size(), batch(2).size()]);
    }

    #[test]
    fn requests_a_snapshot_again_if_writing_it_failed() {
        let (mut queue, now) = queue();
        let _ = queue.replace(Snapshot::new([]), now);
        assert!(work(queue.next(now)).snapshot.is_some());
        let _ = queue.append(batch(2), now);
        queue.drop_until_snapshot(now, SECOND);
        assert!(queue.needs_snapshot());
        assert_eq!(queue.append(batch(1), now), Enqueue::NeedsSnapshot);
        let _ = queue.replace(Snapshot::new([]), now);
        assert!(
            matches!(queue.next(now), Step::WaitUntil(until) if until == now + SECOND),
            "not immediately"
        );
        assert!(matches!(queue.next(now + SECOND), Step::Write(_)));
    }

    #[test]
    fn a_snapshot_replaces_failed_batches() {
        let (mut queue, now) = queue();
        let _ = queue.append(batch(1), now);
        let first = work(queue.next(now + SECOND));
        let _ = queue.replace(Snapshot::new([]), now);
        queue.retry(first.batches, now, SECOND);
        let next = work(queue.next(now + SECOND));
        assert!(next.snapshot.is_some() && next.batches.is_empty());
        assert!(!queue.needs_snapshot());
    }
}
