//! The queue as a plain state machine: no lock, no waiting, and time comes in from outside.

use crate::delayed::Delayed;
use crate::entries::{Entries, Work};
use crate::metrics::{Metrics, Recorder};
use crate::order::{Order, Place, Slot};
use crate::sync::Instant;

/// What needs processing, what is in hand and what waits for its time.
///
/// Three invariants carry the contract: an item that needs processing is ready exactly once, or will be when it is
/// done; an item in hand is never ready; an item leaves the table as soon as neither of these, nor a delay, holds it.
#[derive(Debug)]
pub(crate) struct Backlog<T, O: Order> {
    entries: Entries<T, O::Level>,
    ready: O,
    delayed: Delayed<O::Level>,
    in_hand: usize,
    redo: usize,
    arrivals: u64,
    clock: Instant,
    phase: Phase,
    metering: Metering,
}

/// Whether the queue takes items.  Open -> Draining <-> ShutDown, or Open -> ShutDown
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    Draining,
    ShutDown,
}

/// Whether and what is counted.  Off; On -> Frozen, at the end of `Phase::Open`
#[derive(Debug)]
enum Metering {
    Off,
    On(Box<Recorder>),
    Frozen(Box<Metrics>),
}

/// An item handed out, to be given back by its slot.
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
            in_hand: 0,
            redo: 0,
            arrivals: 0,
            clock: now,
            phase: Phase::Open,
            metering: Metering::Off,
        }
    }

    pub(crate) fn measured(self) -> Self {
        Self { metering: Metering::On(Box::default()), ..self }
    }

    /// Whether `advance` must come before anything else; when not, nobody has to look at the clock.
    pub(crate) fn is_timed(&self) -> bool {
        !self.delayed.is_empty() || matches!(self.metering, Metering::On(_))
    }

    /// Moves the clock, and makes ready what is due.
    pub(crate) fn advance(&mut self, now: Instant) {
        self.clock = self.clock.max(now);
        while let Some((slot, level)) = self.delayed.pop_due(self.clock) {
            self.item_dirtied(slot, level);
        }
    }

    pub(crate) fn add(&mut self, hash: u64, item: T, level: O::Level)
    where
        T: Eq,
    {
        if self.phase == Phase::Open {
            let slot = self.entries.slot_of(hash, item, self.clock);
            self.item_dirtied(slot, level);
        }
    }

    pub(crate) fn add_at(&mut self, hash: u64, item: T, level: O::Level, due: Instant)
    where
        T: Eq,
    {
        if self.phase == Phase::Open {
            let slot = self.entries.slot_of(hash, item, self.clock);
            let place = self.place(level);
            self.delayed.insert(slot, due, place);
        }
    }

    /// Counts an add that asks for a delay.
    pub(crate) fn delay_asked(&mut self) {
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
        let Work::Queued(Place { level, .. }) = entry.work else {
            unreachable!("only queued items are ready");
        };
        entry.work = Work::Processing;
        self.in_hand += 1;
        if let Metering::On(recorder) = &mut self.metering {
            recorder.item_taken(slot, self.clock - entry.since, self.clock);
        }
        Some(Taken { slot, item: entry.item.clone(), level })
    }

    pub(crate) fn done(&mut self, slot: Slot) {
        self.in_hand -= 1;
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

    /// Whether nothing will ever be ready again.
    pub(crate) fn is_finished(&self) -> bool {
        self.is_shutting_down() && self.ready.len() == 0 && self.redo == 0
    }

    /// Whether nobody has to wait for the drain: it is complete, or called off.
    pub(crate) fn is_drained(&self) -> bool {
        self.phase != Phase::Draining || (self.ready.len() == 0 && self.in_hand == 0)
    }

    pub(crate) fn metrics(&self) -> Option<Metrics> {
        match &self.metering {
            Metering::Off => None,
            Metering::On(recorder) => Some(recorder.snapshot(self.clock)),
            Metering::Frozen(last) => Some((**last).clone()),
        }
    }

    fn item_dirtied(&mut self, slot: Slot, level: O::Level) {
        match self.entries[slot].work {
            Work::Idle => self.enqueue(slot, level),
            Work::Processing => {
                self.entries[slot].work = Work::Redo(level);
                self.redo += 1;
            }
            Work::Queued(from) => {
                if from.level < level {
                    let to = Place { level, ..from };
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
        let place = self.place(level);
        self.entries[slot].work = Work::Queued(place);
        self.ready.push(slot, place);
    }

    fn place(&mut self, level: O::Level) -> Place<O::Level> {
        self.arrivals += 1;
        Place { level, arrival: self.arrivals }
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
