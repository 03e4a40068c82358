//! The order of things: groups of deltas, and barriers that no group crosses.

use super::delta::{Delta, Deltas};
use crate::object::listing::Listing;
use kube_informer_wire::{Key, KeyMap, ResourceVersion};
use std::collections::VecDeque;
use tokio::time::Instant;

/// One step of the queue.
#[derive(Debug)]
pub enum Entry<K> {
    /// What happened to one key.
    Deltas(Deltas<K>),
    /// All there is, as a list found it.
    Replaced {
        /// What the list found.
        listing: Listing<K>,
        /// Whether this is the first list of all.
        initial: bool,
    },
    /// Everything known is to be told again.
    Resync,
    /// Nothing happened, up to a newer version.
    Bookmark,
    /// What was restored has been caught up with.
    Resumed,
}

/// An empty queue that has room for more than this gives it back.
const ROOMY: usize = 1024;

/// The pure part of a [`DeltaFifo`](super::DeltaFifo).
///
/// Slots stand in the order of first appearance. A delta joins the slot of its key if there is one behind the last
/// barrier, and opens one otherwise.
pub(super) struct Queue<K> {
    slots: VecDeque<Slot<K>>,
    /// How many slots have been popped, which is the number of the slot in front.
    popped: u64,
    /// The keys that have a slot behind the last barrier, and its number.
    open: KeyMap<u64>,
    /// The version of what arrived last.
    arrived: Option<ResourceVersion>,
    /// How many deltas and barriers are queued.
    load: usize,
    has_listed: bool,
    /// What was left out since the last list, or by it, and nothing was heard of since.
    gaps: Gaps,
}

/// Objects that are there and are missing, or are as they were before.
#[derive(Default)]
struct Gaps {
    keys: KeyMap<()>,
    /// Whether there are more than are noted, until the next list.
    has_more: bool,
}

/// So many gaps are noted.
const MOST_GAPS: usize = 4096;

struct Slot<K> {
    entry: Entry<K>,
    /// The version of what had arrived last when this slot was opened.
    before: Option<ResourceVersion>,
    opened: Instant,
}

impl<K> Queue<K> {
    pub(super) fn load(&self) -> usize {
        self.load
    }

    /// How many keys and barriers are queued.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.slots.capacity().max(self.open.capacity())
    }

    pub(super) fn delta(&mut self, key: Key, delta: Delta<K>, version: Option<ResourceVersion>) {
        self.gaps.keys.remove(&key);
        let slot = self.open.get(&key).and_then(|number| {
            let place = usize::try_from(number - self.popped).ok()?;
            self.slots.get_mut(place)
        });
        match slot.map(|slot| &mut slot.entry) {
            Some(Entry::Deltas(deltas)) => {
                let before = deltas.len();
                deltas.push(delta);
                self.load = self.load + deltas.len() - before;
            }
            Some(Entry::Replaced { .. } | Entry::Resync | Entry::Bookmark | Entry::Resumed) | None => {
                self.open.insert(key.clone(), self.popped + self.slots.len() as u64);
                self.push(Entry::Deltas(Deltas::new(key, delta)));
            }
        }
        self.arrived = version.or(self.arrived.take());
    }

    /// Notes that an object changed and is left out.
    pub(super) fn left_out(&mut self, key: Key) {
        self.gaps.note(key);
    }

    /// Whether what is popped, with all that is queued, is not all there is.
    pub(super) fn has_gaps(&self) -> bool {
        self.gaps.has_more || !self.gaps.keys.is_empty()
    }

    pub(super) fn replace(&mut self, listing: Listing<K>) {
        self.gaps = Gaps::default();
        listing.unreadable.iter().for_each(|key| self.gaps.note(key.clone()));
        let version = listing.version.clone();
        let initial = !std::mem::replace(&mut self.has_listed, true);
        self.barrier(Entry::Replaced { listing, initial });
        self.arrived = version.or(self.arrived.take());
    }

    pub(super) fn resync(&mut self) {
        if !matches!(self.newest(), Some(Entry::Resync)) {
            self.barrier(Entry::Resync);
        }
    }

    pub(super) fn bookmark(&mut self, version: ResourceVersion) {
        // A bookmark says nothing of objects, so groups may grow across it; it only has to wake the consumer.
        if !matches!(self.newest(), Some(Entry::Bookmark)) {
            self.push(Entry::Bookmark);
        }
        self.arrived = Some(version);
    }

    pub(super) fn resumed(&mut self) {
        self.push(Entry::Resumed);
    }

    /// Whatever is listed is not the first that is known.
    pub(super) fn restored(&mut self, version: Option<ResourceVersion>) {
        (self.has_listed, self.arrived) = (true, version);
    }

    /// When the entry in front arrived.
    pub(super) fn oldest(&self) -> Option<Instant> {
        self.slots.front().map(|slot| slot.opened)
    }

    pub(super) fn pop(&mut self) -> Option<Entry<K>> {
        let entry = self.slots.pop_front()?.entry;
        self.load -= load_of(&entry);
        if self.slots.is_empty() && self.slots.capacity() > ROOMY {
            // A burst is over: its memory is not kept for the next one.
            (self.slots, self.open) = (VecDeque::new(), KeyMap::default());
        }
        if let Entry::Deltas(deltas) = &entry
            && self.open.get(deltas.key()) == Some(&self.popped)
        {
            self.open.remove(deltas.key());
        }
        self.popped += 1;
        Some(entry)
    }

    /// Up to which version everything that arrived has been popped.
    ///
    /// Deltas of one key are popped together, so the newest version popped may be ahead of something still queued.
    /// The oldest thing still queued opened the slot in front; what had arrived before it is out.
    pub(super) fn version(&self) -> Option<&ResourceVersion> {
        self.slots.front().map_or(self.arrived.as_ref(), |slot| slot.before.as_ref())
    }

    fn newest(&self) -> Option<&Entry<K>> {
        self.slots.back().map(|slot| &slot.entry)
    }

    fn barrier(&mut self, entry: Entry<K>) {
        self.open.clear();
        self.push(entry);
    }

    fn push(&mut self, entry: Entry<K>) {
        self.load += load_of(&entry);
        self.slots.push_back(Slot { entry, before: self.arrived.clone(), opened: Instant::now() });
    }
}

impl Gaps {
    fn note(&mut self, key: Key) {
        if self.keys.len() < MOST_GAPS {
            self.keys.insert(key, ());
        } else {
            self.has_more = true;
        }
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
            arrived: None,
            load: 0,
            has_listed: false,
            gaps: Gaps::default(),
        }
    }
}
