//! The table of all items of a queue, by hash and by slot.

use std::ops::{Index, IndexMut};

use hashbrown::HashTable;
use hashbrown::hash_table;

use crate::capacity::MAX_SPARE_CAPACITY;
use crate::order::{Position, Slot};
use crate::sync::Instant;

/// An item and its state.
#[derive(Debug)]
pub(crate) struct Entry<T, L> {
    pub(crate) item: T,
    pub(crate) work: Work<L>,
    /// When the item last started to need processing; only valid while metrics are recorded.
    pub(crate) since: Instant,
    hash: u64,
}

/// The state of an item.
///
/// ```text
///        add            take             add
///  Idle -----> Queued -------> Processing -----> Redo
///   ^             ^                |              |
///   |             |                | done         | done
///   +-------------+----------------+              |
///                 +-------------------------------+
/// ```
///
/// `Queued` and `Redo` make up the dirty set of client-go, `Processing` and `Redo` its processing set. `Idle` is an item
/// that is only delayed, or an entry about to be removed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work<L> {
    Idle,
    Queued(Position<L>),
    Processing,
    Redo(L),
}

/// A table of entries whose slots are stable until they are removed.
#[derive(Debug)]
pub(crate) struct Entries<T, L> {
    slots: Vec<Option<Entry<T, L>>>,
    free: Vec<Slot>,
    index: HashTable<Slot>,
}

impl<T, L> Entries<T, L> {
    pub(crate) fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), index: HashTable::new() }
    }

    /// Finds the item, or stores it as idle. Equal items must have the same `hash`.
    pub(crate) fn slot_of(&mut self, hash: u64, item: T, since: Instant) -> Slot
    where
        T: Eq,
    {
        let Self { slots, free, index } = self;
        let is_same = |slot: &Slot| {
            let entry = stored(slots, *slot);
            entry.hash == hash && entry.item == item
        };
        let vacant = match index.entry(hash, is_same, |slot| stored(slots, *slot).hash) {
            hash_table::Entry::Occupied(found) => return *found.get(),
            hash_table::Entry::Vacant(vacant) => vacant,
        };
        let entry = Some(Entry { item, work: Work::Idle, since, hash });
        let slot = if let Some(slot) = free.pop() {
            slots[slot.0 as usize] = entry;
            slot
        } else {
            slots.push(entry);
            Slot(u32::try_from(slots.len() - 1).expect("four billion items do not fit in memory"))
        };
        vacant.insert(slot);
        slot
    }

    /// Drops the item and frees its slot. When the last item is removed, excess memory is freed.
    pub(crate) fn remove(&mut self, slot: Slot) {
        let hash = self[slot].hash;
        if let Ok(found) = self.index.find_entry(hash, |other| *other == slot) {
            found.remove();
        }
        if self.index.is_empty() && self.slots.capacity() > MAX_SPARE_CAPACITY {
            *self = Self::new();
            return;
        }
        self.slots[slot.0 as usize] = None;
        self.free.push(slot);
    }
}

impl<T, L> Index<Slot> for Entries<T, L> {
    type Output = Entry<T, L>;

    fn index(&self, slot: Slot) -> &Entry<T, L> {
        stored(&self.slots, slot)
    }
}

impl<T, L> IndexMut<Slot> for Entries<T, L> {
    fn index_mut(&mut self, slot: Slot) -> &mut Entry<T, L> {
        self.slots[slot.0 as usize].as_mut().expect(EXISTS)
    }
}

const EXISTS: &str = "a slot is used only while its entry exists";

fn stored<T, L>(slots: &[Option<Entry<T, L>>], slot: Slot) -> &Entry<T, L> {
    slots[slot.0 as usize].as_ref().expect(EXISTS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::now;

    /// Stores and removes this number of items, and returns the remaining capacity.
    fn capacity_after(entries: &mut Entries<u64, ()>, items: u64) -> usize {
        let slots: Vec<_> = (0..items).map(|item| entries.slot_of(item, item, now())).collect();
        slots.into_iter().for_each(|slot| entries.remove(slot));
        entries.slots.capacity().max(entries.free.capacity()).max(entries.index.capacity())
    }

    #[test]
    fn frees_the_memory_of_a_burst() {
        let mut entries = Entries::new();
        assert_eq!(capacity_after(&mut entries, 100_000), 0);
        assert_eq!(capacity_after(&mut entries, 100_000), 0);
    }

    #[test]
    fn keeps_a_small_capacity() {
        let mut entries = Entries::new();
        let capacity = capacity_after(&mut entries, 500);
        assert!(capacity >= 500);
        assert_eq!(capacity_after(&mut entries, 1), capacity);
    }

    #[test]
    fn slots_are_stable_while_one_is_used() {
        let mut entries = Entries::new();
        let held = entries.slot_of(7, 1 << 40, now());
        capacity_after(&mut entries, 5000);
        assert_eq!(entries[held].item, 1 << 40);
        assert_eq!(entries.slot_of(7, 1 << 40, now()), held);
    }
}
