//! Items that are delayed.

use std::collections::{BTreeMap, BTreeSet};

use crate::order::{Position, Slot};
use crate::sync::Instant;

/// The delayed items by due time, each at most once, with the earliest due time and the highest level of all adds.
#[derive(Debug)]
pub(crate) struct Delayed<L> {
    by_time: BTreeSet<(Instant, u64, Slot)>,
    by_slot: BTreeMap<Slot, (Instant, Position<L>)>,
}

impl<L: Copy + Ord> Delayed<L> {
    pub(crate) fn new() -> Self {
        Self { by_time: BTreeSet::new(), by_slot: BTreeMap::new() }
    }

    pub(crate) fn insert(&mut self, slot: Slot, due: Instant, position: Position<L>) {
        let Some((known, held)) = self.by_slot.get_mut(&slot) else {
            self.by_slot.insert(slot, (due, position));
            self.by_time.insert((due, position.arrival, slot));
            return;
        };
        held.level = held.level.max(position.level);
        if due < *known {
            self.by_time.remove(&(*known, held.arrival, slot));
            self.by_time.insert((due, held.arrival, slot));
            *known = due;
        }
    }

    /// Removes the next item that is due.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<(Slot, L)> {
        self.next_due().filter(|due| *due <= now)?;
        let (_, _, slot) = self.by_time.pop_first()?;
        self.by_slot.remove(&slot).map(|(_, position)| (slot, position.level))
    }

    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.by_time.first().map(|(due, _, _)| *due)
    }

    pub(crate) fn contains(&self, slot: Slot) -> bool {
        self.by_slot.contains_key(&slot)
    }

    /// Removes everything and returns the slots.
    pub(crate) fn clear(&mut self) -> impl Iterator<Item = Slot> + use<L> {
        self.by_time.clear();
        std::mem::take(&mut self.by_slot).into_keys()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_time.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.by_time.len()
    }
}
