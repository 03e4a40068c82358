//! The queue as a state machine without locks, wake-ups and clock.

use crate::delayed::Delayed;
use crate::entries::{Entries, Work};
use crate::metrics::{Metrics, Recorder};
use crate::order::{Order, Position, Slot};
use crate::sync::Instant;

/// The items that are ready, being processed or delayed.
///
/// Invariants: an item that needs processing is ready exactly once, or becomes ready when it is done; an item that is
/// being processed is never ready; an item that is neither of these nor delayed is not stored.
#[derive(Debug)]
pub(crate) struct Backlog<T, O: Order> {
    entries: Entries<T, O::Level>,
    ready: O,
    delayed: Delayed<O::Level>,
    processing: usize,
    redo: usize,
    arrivals: u64,
    clock: Instant,
    phase: Phase,
    metering: Metering,
}

/// Whether the queue accepts items.  Open -> Draining <-> ShutDown, or Open -> ShutDown
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    Draining,
    ShutDown,
}

/// Whether metrics are recorded.  Off; On -> Frozen, at the end of `Phase::Open`
#[derive(Debug)]
enum Metering {
    Off,
    On(Box<Recorder>),
    Frozen(Box<Metrics>),
}

/// An item that was handed out.
#[derive(Debug)]
pub(crate) struct Taken<T, L> {
    pub(crate) slot: Slot,
    pub(crate) item: T,
    pub(crate) level: L,
}

impl<T, O: Order> Backlog<T, O> {
    pub(crate) fn new(order: O, now: Instant) -> Self {
        Self {
            entries: Entries::new(),
            ready: order,
            delayed: Delayed::new(),
            processing: 0,
            redo: 0,
            arrivals: 0,
            clock: now,
            phase: Phase::Open,
            metering: Metering::Off,
        }
    }

    pub(crate) fn with_metrics(self) -> Self {
        Self { metering: Metering::On(Box::default()), ..self }
    }

    /// Returns true if `advance` must be called before other methods.
    pub(crate) fn needs_clock(&self) -> bool {
        !self.delayed.is_empty() || matches!(self.metering, Metering::On(_))
    }

    /// Advances the clock and makes due items ready.
    pub(crate) fn advance(&mut self, now: Instant) {
        self.clock = self.clock.max(now);
        while let Some((slot, level)) = self.delayed.pop_due(self.clock) {
            self.mark_dirty(slot, level);
        }
    }

    pub(crate) fn add(&mut self, hash: u64, item: T, level: O::Level)
    where
        T: Eq,
    {
        if self.phase == Phase::Open {
            let slot = self.entries.slot_of(hash, item, self.clock);
            self.mark_dirty(slot, level);
        }
    }

    pub(crate) fn add_at(&mut self, hash: u64, item: T, level: O::Level, due: Instant)
    where
        T: Eq,
    {
        if self.phase == Phase::Open {
            let slot = self.entries.slot_of(hash, item, self.clock);
            let position = self.next_position(level);
            self.delayed.insert(slot, due, position);
        }
    }

    /// Counts an add with a delay.
    pub(crate) fn count_delayed_add(&mut self) {
        if let Metering::On(recorder) = &mut self.metering {
            recorder.item_delayed();
        }
    }

    pub(crate) fn take(&mut self) -> Option<Taken<T, O::Level>>
    where
        T: Clone,
    {
        let slot = self.ready.pop()?;
        let entry = &mut self.entries[slot];
        let Work::Queued(Position { level, .. }) = entry.work else {
            unreachable!("only queued items are ready");
        };
        entry.work = Work::Processing;
        self.processing += 1;
        if let Metering::On(recorder) = &mut self.metering {
            recorder.item_taken(slot, self.clock - entry.since, self.clock);
        }
        Some(Taken { slot, item: entry.item.clone(), level })
    }

    pub(crate) fn done(&mut self, slot: Slot) {
        self.processing -= 1;
        if let Metering::On(recorder) = &mut self.metering {
            recorder.item_done(slot, self.clock);
        }
        if let Work::Redo(level) = self.entries[slot].work {
            self.redo -= 1;
            self.enqueue(slot, level);
        } else if self.delayed.contains(slot) {
            self.entries[slot].work = Work::Idle;
        } else {
            self.entries.remove(slot);
        }
    }

    pub(crate) fn shut_down(&mut self) {
        self.close(Phase::ShutDown);
    }

    pub(crate) fn shut_down_with_drain(&mut self) {
        self.close(Phase::Draining);
    }

    pub(crate) fn len(&self) -> usize {
        self.ready.len()
    }

    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.delayed.next_due()
    }

    pub(crate) fn is_shutting_down(&self) -> bool {
        self.phase != Phase::Open
    }

    /// Returns how many items are being processed.
    pub(crate) fn processing(&self) -> usize {
        self.processing
    }

    /// Returns how many items are delayed.
    pub(crate) fn delayed(&self) -> usize {
        self.delayed.len()
    }

    /// Returns true if no item is ready or being processed.
    pub(crate) fn is_idle(&self) -> bool {
        self.ready.len() == 0 && self.processing == 0
    }

    /// Returns true if no item will be ready again.
    pub(crate) fn is_finished(&self) -> bool {
        self.is_shutting_down() && self.ready.len() == 0 && self.redo == 0
    }

    /// Returns true if a drain is complete or was ended by a shutdown.
    pub(crate) fn is_drained(&self) -> bool {
        self.phase != Phase::Draining || (self.ready.len() == 0 && self.processing == 0)
    }

    pub(crate) fn metrics(&self) -> Option<Metrics> {
        match &self.metering {
            Metering::Off => None,
            Metering::On(recorder) => Some(recorder.snapshot(self.clock)),
            Metering::Frozen(last) => Some((**last).clone()),
        }
    }

    fn mark_dirty(&mut self, slot: Slot, level: O::Level) {
        match self.entries[slot].work {
            Work::Idle => self.enqueue(slot, level),
            Work::Processing => {
                self.entries[slot].work = Work::Redo(level);
                self.redo += 1;
            }
            Work::Queued(from) => {
                if from.level < level {
                    let to = Position { level, ..from };
                    self.ready.raise(slot, from, to);
                    self.entries[slot].work = Work::Queued(to);
                }
                return;
            }
            Work::Redo(known) => {
                self.entries[slot].work = Work::Redo(known.max(level));
                return;
            }
        }
        if let Metering::On(recorder) = &mut self.metering {
            recorder.item_added();
            self.entries[slot].since = self.clock;
        }
    }

    fn enqueue(&mut self, slot: Slot, level: O::Level) {
        let position = self.next_position(level);
        self.entries[slot].work = Work::Queued(position);
        self.ready.push(slot, position);
    }

    fn next_position(&mut self, level: O::Level) -> Position<O::Level> {
        self.arrivals += 1;
        Position { level, arrival: self.arrivals }
    }

    fn close(&mut self, phase: Phase) {
        self.phase = phase;
        for slot in self.delayed.clear() {
            if let Work::Idle = self.entries[slot].work {
                self.entries.remove(slot);
            }
        }
        if let Metering::On(recorder) = &self.metering {
            self.metering = Metering::Frozen(Box::new(recorder.snapshot(self.clock)));
        }
    }
}
