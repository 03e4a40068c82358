//! The order of a queue: groups of deltas, and barriers that no group crosses.

use super::deltas::Deltas;
use crate::{delta::Delta, object::Listing};
use kube_informer_wire::{Key, KeyMap, ResourceVersion};
use std::collections::VecDeque;

/// One element of the queue.
#[derive(Debug)]
pub enum Entry<K> {
    /// The deltas of one key.
    Deltas(Deltas<K>),
    /// A full list.
    Replaced {
        /// The list.
        listing: Listing<K>,
        /// True for the first list.
        initial: bool,
    },
    /// A request to deliver all objects again.
    Resync,
    /// A newer version without changes.
    Bookmark,
    /// The restored state has caught up with the source.
    Resumed,
}

/// An empty queue with more capacity than this frees its memory.
const MAX_IDLE_CAPACITY: usize = 1024;

/// The state of a [`DeltaFifo`](super::DeltaFifo).
///
/// Entries are in the order in which their keys first appeared. A delta is added to the entry of its key if that entry is behind the
/// last barrier. Otherwise it starts a new entry.
pub(super) struct Queue<K> {
    slots: VecDeque<Slot<K>>,
    /// The number of slots popped so far, which is the number of the first slot.
    popped: u64,
    /// The number of the slot of each key. Contains only slots behind the last barrier.
    open: KeyMap<u64>,
    /// The version of the newest change.
    newest_version: Option<ResourceVersion>,
    /// The number of deltas and barriers.
    load: usize,
    has_listed: bool,
}

struct Slot<K> {
    entry: Entry<K>,
    /// The newest version when this slot was started.
    version_before: Option<ResourceVersion>,
}

impl<K> Queue<K> {
    pub(super) fn load(&self) -> usize {
        self.load
    }

    /// Returns the number of keys and barriers.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.slots.capacity().max(self.open.capacity())
    }

    pub(super) fn delta(&mut self, delta: Delta<K>, version: Option<ResourceVersion>) {
        match self.open_slot(delta.key()) {
            Some(deltas) => {
                let before = deltas.len();
                deltas.push(delta);
                let after = deltas.len();
                self.load = self.load + after - before;
            }
            None => {
                self.open.insert(delta.key().clone(), self.popped + self.slots.len() as u64);
                self.push(Entry::Deltas(Deltas::new(delta)));
            }
        }
        self.newest_version = version.or(self.newest_version.take());
    }

    fn open_slot(&mut self, key: &Key) -> Option<&mut Deltas<K>> {
        let number = self.open.get(key)?;
        let position = usize::try_from(number - self.popped).ok()?;
        match &mut self.slots.get_mut(position)?.entry {
            Entry::Deltas(deltas) => Some(deltas),
            Entry::Replaced { .. } | Entry::Resync | Entry::Bookmark | Entry::Resumed => None,
        }
    }

    pub(super) fn replace(&mut self, listing: Listing<K>) {
        let version = listing.version.clone();
        let initial = !std::mem::replace(&mut self.has_listed, true);
        self.push_barrier(Entry::Replaced { listing, initial });
        self.newest_version = version.or(self.newest_version.take());
    }

    pub(super) fn resync(&mut self) {
        if !matches!(self.newest(), Some(Entry::Resync)) {
            self.push_barrier(Entry::Resync);
        }
    }

    pub(super) fn bookmark(&mut self, version: ResourceVersion) {
        // Deltas are grouped across a bookmark, because it changes no object. It only has to wake the consumer.
        if !matches!(self.newest(), Some(Entry::Bookmark)) {
            self.push(Entry::Bookmark);
        }
        self.newest_version = Some(version);
    }

    pub(super) fn resumed(&mut self) {
        self.push(Entry::Resumed);
    }

    /// Marks that the consumer has a state of this version already, so that the next list is not the first.
    pub(super) fn restored(&mut self, version: Option<ResourceVersion>) {
        self.has_listed = true;
        self.newest_version = version;
    }

    pub(super) fn pop(&mut self) -> Option<Entry<K>> {
        let entry = self.slots.pop_front()?.entry;
        self.load -= load_of(&entry);
        if self.slots.is_empty() && self.slots.capacity() > MAX_IDLE_CAPACITY {
            self.slots = VecDeque::new();
            self.open = KeyMap::default();
        }
        if let Entry::Deltas(deltas) = &entry
            && self.open.get(deltas.key()) == Some(&self.popped)
        {
            self.open.remove(deltas.key());
        }
        self.popped += 1;
        Some(entry)
    }

    /// Returns the last version whose changes have all been popped.
    ///
    /// The deltas of one key are popped together, so the newest popped version may be newer than changes that are still queued. All
    /// changes that arrived before the first slot was started have been popped.
    pub(super) fn version(&self) -> Option<&ResourceVersion> {
        self.slots.front().map_or(self.newest_version.as_ref(), |slot| slot.version_before.as_ref())
    }

    /// Returns whether the newest change has a different version.
    pub(super) fn lacks_version(&self, version: &ResourceVersion) -> bool {
        self.newest_version.as_ref() != Some(version)
    }

    fn newest(&self) -> Option<&Entry<K>> {
        self.slots.back().map(|slot| &slot.entry)
    }

    fn push_barrier(&mut self, entry: Entry<K>) {
        self.open.clear();
        self.push(entry);
    }

    fn push(&mut self, entry: Entry<K>) {
        self.load += load_of(&entry);
        self.slots.push_back(Slot { entry, version_before: self.newest_version.clone() });
    }
}

fn load_of<K>(entry: &Entry<K>) -> usize {
    match entry {
        Entry::Deltas(deltas) => deltas.len(),
        Entry::Replaced { .. } | Entry::Resync | Entry::Bookmark | Entry::Resumed => 1,
    }
}

impl<K> Default for Queue<K> {
    fn default() -> Self {
        Self {
            slots: VecDeque::new(),
            popped: 0,
            open: KeyMap::default(),
            newest_version: None,
            load: 0,
            has_listed: false,
        }
    }
}
