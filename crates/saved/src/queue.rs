//! What waits to be written, and when it is time; pure.

use crate::batch::{Batch, Snapshot};
use std::time::{Duration, Instant};

/// What became of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Taken {
    /// It will be written.
    Queued,
    /// It is dropped, and so is every batch until there is a new [`Snapshot`]: something before it could not be written.
    /// What is on disk is an earlier state, and stays.
    SnapshotNeeded,
    /// It is dropped, and nothing is written any more.
    Stopped,
}

/// What waits to be written.
#[derive(Debug)]
pub(crate) struct Queue {
    limits: Limits,
    /// To be written before the batches.
    snapshot: Option<Snapshot>,
    batches: Vec<Batch>,
    size: usize,
    /// How many batches and snapshots were taken.
    taken: u64,
    waiting_since: Option<Instant>,
    /// After a failure, nothing is tried before this.
    not_before: Option<Instant>,
    stage: Stage,
    is_behind: bool,
    is_hurried: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// How long a change waits for others.
    pub(crate) interval: Duration,
    /// How many bytes may wait.
    pub(crate) size: usize,
}

/// Open -> Closing -> Stopped
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Open,
    Closing,
    Stopped,
}

/// What is to be written at once.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) snapshot: Option<Snapshot>,
    pub(crate) batches: Vec<Batch>,
    /// Everything up to here is written with it.
    pub(crate) up_to: u64,
}

/// What the writer does next.
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
            taken: 0,
            waiting_since: None,
            not_before: None,
            stage: Stage::Open,
            is_behind: false,
            is_hurried: false,
        }
    }

    pub(crate) fn append(&mut self, batch: Batch, now: Instant) -> Taken {
        match self.stage {
            Stage::Closing | Stage::Stopped => return Taken::Stopped,
            Stage::Open if self.is_behind || self.size > self.limits.size => {
                self.is_behind = true;
                return Taken::SnapshotNeeded;
            }
            Stage::Open => {}
        }
        if !batch.is_empty() {
            self.size += self.counted(&batch);
            self.batches.push(batch);
            self.came(now);
        }
        Taken::Queued
    }

    /// A new state takes the place of all that waits.
    pub(crate) fn replace(&mut self, snapshot: Snapshot, now: Instant) -> Taken {
        if self.stage != Stage::Open {
            return Taken::Stopped;
        }
        self.clear();
        self.snapshot = Some(snapshot);
        self.is_behind = false;
        self.came(now);
        Taken::Queued
    }

    fn came(&mut self, now: Instant) {
        self.taken += 1;
        self.waiting_since.get_or_insert(now);
    }

    /// One large batch, such as a first list, does not fill the queue for those that follow.
    fn counted(&self, batch: &Batch) -> usize {
        batch.size().min(self.limits.size / 2)
    }

    fn clear(&mut self) {
        self.snapshot = None;
        self.batches.clear();
        self.size = 0;
        self.waiting_since = None;
    }

    /// Somebody waits for what there is, and does not want to wait for the interval.
    pub(crate) fn hurry(&mut self) -> u64 {
        self.is_hurried = true;
        self.taken
    }

    pub(crate) fn close(&mut self) {
        if self.stage == Stage::Open {
            self.stage = Stage::Closing;
        }
    }

    pub(crate) fn stopped(&mut self) {
        self.stage = Stage::Stopped;
        self.clear();
    }

    /// Whether nothing waits.
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting_since.is_none()
    }

    /// Whether what waits is not to wait for the interval.
    pub(crate) fn is_urgent(&self) -> bool {
        self.snapshot.is_some() || self.size >= self.limits.size / 2
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stage == Stage::Stopped
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.stage != Stage::Open
    }

    pub(crate) fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// About how many bytes wait.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    pub(crate) fn next(&mut self, now: Instant) -> Step {
        let Some(since) = self.waiting_since else {
            self.is_hurried = false;
            return if self.is_closing() { Step::End } else { Step::Wait };
        };
        let due = if self.is_urgent() { since } else { since + self.limits.interval };
        let due = due.max(self.not_before.unwrap_or(due));
        if now < due && !self.is_hurried && !self.is_closing() {
            return Step::WaitUntil(due);
        }
        let work = Work {
            snapshot: self.snapshot.take(),
            batches: std::mem::take(&mut self.batches),
            up_to: self.taken,
        };
        self.clear();
        self.is_hurried = false;
        Step::Write(work)
    }

    /// What was taken is on disk.
    pub(crate) fn written(&mut self) {
        self.not_before = None;
    }

    /// What was taken could not be written, and can be when its cause is gone.
    pub(crate) fn failed(&mut self, batches: Vec<Batch>, now: Instant, pause: Duration) {
        self.not_before = Some(now + pause);
        if self.snapshot.is_some() {
            // What comes whole does not need what came before.
            return;
        }
        if self.is_closing() {
            return self.lost(now, pause);
        }
        let newer = std::mem::replace(&mut self.batches, batches);
        self.batches.extend(newer);
        self.size = self.batches.iter().map(|batch| self.counted(batch)).sum();
        self.waiting_since.get_or_insert(now);
    }

    /// What was taken cannot be written, so what follows is of no use either.
    pub(crate) fn lost(&mut self, now: Instant, pause: Duration) {
        self.not_before = Some(now + pause);
        if self.snapshot.is_none() {
            self.clear();
            self.is_behind = true;
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
    fn changes_wait_for_others_and_are_written_together() {
        let (mut queue, now) = queue();
        assert!(matches!(queue.next(now), Step::Wait));
        assert_eq!(queue.append(batch(1), now), Taken::Queued);
        assert_eq!(queue.append(batch(1), now + SECOND / 2), Taken::Queued);
        assert!(matches!(queue.next(now + SECOND / 2), Step::WaitUntil(until) if until == now + SECOND));
        let work = work(queue.next(now + SECOND));
        assert_eq!((work.batches.len(), work.up_to), (2, 2));
        assert!(matches!(queue.next(now + SECOND), Step::Wait));
    }

    #[test]
    fn who_is_in_a_hurry_or_leaves_does_not_wait() {
        let (mut queue, now) = queue();
        let _ = queue.append(batch(1), now);
        assert_eq!(queue.hurry(), 1);
        assert_eq!(work(queue.next(now)).up_to, 1);
        let _ = queue.append(batch(1), now);
        queue.close();
        assert_eq!(queue.append(batch(1), now), Taken::Stopped);
        assert_eq!(work(queue.next(now)).batches.len(), 1);
        assert!(matches!(queue.next(now), Step::End));
    }

    #[test]
    fn a_full_queue_asks_for_a_snapshot_and_keeps_what_it_has() {
        let (mut queue, now) = queue();
        while queue.append(batch(300), now) == Taken::Queued {}
        assert_eq!(queue.append(batch(1), now), Taken::SnapshotNeeded);
        assert_eq!(work(queue.next(now)).batches.len(), 3);
        assert_eq!(queue.append(batch(1), now), Taken::SnapshotNeeded, "one is missing");
        assert_eq!(queue.replace(Snapshot::new([]), now), Taken::Queued);
        assert_eq!(queue.append(batch(1), now), Taken::Queued);
        let work = work(queue.next(now));
        assert!(work.snapshot.is_some());
        assert_eq!(work.batches.len(), 1);
    }

    #[test]
    fn a_large_batch_leaves_room_for_those_that_follow() {
        let (mut queue, now) = queue();
        assert_eq!(queue.append(batch(1 << 20), now), Taken::Queued);
        assert_eq!(queue.append(batch(1), now), Taken::Queued);
        assert!(matches!(queue.next(now), Step::Write(_)), "and is written at once");
    }

    #[test]
    fn what_failed_is_tried_again_in_its_order_after_a_pause() {
        let (mut queue, now) = queue();
        let _ = queue.append(batch(1), now);
        let first = work(queue.next(now + SECOND));
        let _ = queue.append(batch(2), now);
        queue.failed(first.batches, now, 9 * SECOND);
        assert!(matches!(queue.next(now + 8 * SECOND), Step::WaitUntil(until) if until == now + 9 * SECOND));
        let again = work(queue.next(now + 9 * SECOND));
        let sizes: Vec<usize> = again.batches.iter().map(Batch::size).collect();
        assert_eq!(sizes, [batch(1).size(), batch(2).size()]);
    }

    #[test]
    fn a_snapshot_that_failed_is_asked_for_again() {
        let (mut queue, now) = queue();
        let _ = queue.replace(Snapshot::new([]), now);
        assert!(work(queue.next(now)).snapshot.is_some());
        let _ = queue.append(batch(2), now);
        queue.lost(now, SECOND);
        assert!(queue.is_behind());
        assert_eq!(queue.append(batch(1), now), Taken::SnapshotNeeded);
        let _ = queue.replace(Snapshot::new([]), now);
        assert!(matches!(queue.next(now), Step::WaitUntil(until) if until == now + SECOND), "not at once");
        assert!(matches!(queue.next(now + SECOND), Step::Write(_)));
    }

    #[test]
    fn a_snapshot_makes_up_for_whatever_failed_before_it() {
        let (mut queue, now) = queue();
        let _ = queue.append(batch(1), now);
        let first = work(queue.next(now + SECOND));
        let _ = queue.replace(Snapshot::new([]), now);
        queue.failed(first.batches, now, SECOND);
        let next = work(queue.next(now + SECOND));
        assert!(next.snapshot.is_some() && next.batches.is_empty());
        assert!(!queue.is_behind());
    }
}
