//! The initial state while it is being collected.

use crate::object::listing::{Listing, Shown};
use kube_informer_wire::{Key, KeyMap, ResourceVersion};

/// Objects of a list or of the beginning of a watch, in order of arrival.
///
/// A watch may change or remove what it has shown before its initial state is complete; a list does not, and so costs
/// no map.
#[derive(Debug)]
pub(super) struct Collection<K> {
    objects: Vec<Option<(Key, Shown<K>)>>,
    places: KeyMap<usize>,
    unreadable: KeyMap<()>,
}

impl<K> Collection<K> {
    /// Adds an object of a list.
    pub(super) fn push(&mut self, key: Key, object: Shown<K>) {
        self.objects.push(Some((key, object)));
    }

    /// Adds an object of a stream, or puts it in the place of its older state.
    pub(super) fn put(&mut self, key: Key, object: Shown<K>) {
        self.unreadable.remove(&key);
        if let Some(place) = self.places.get(&key) {
            self.objects[*place] = Some((key, object));
        } else {
            self.places.insert(key.clone(), self.objects.len());
            self.objects.push(Some((key, object)));
        }
    }

    /// Removes an object of a stream.
    pub(super) fn remove(&mut self, key: &Key) {
        if let Some(place) = self.places.remove(key) {
            self.objects[place] = None;
        }
        self.unreadable.remove(key);
    }

    /// Notes an object that exists but could not be read.
    pub(super) fn unreadable(&mut self, key: Key) {
        self.unreadable.insert(key, ());
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Takes everything, as the state at `version`.
    pub(super) fn take(&mut self, version: Option<ResourceVersion>) -> Listing<K> {
        let Self { objects, unreadable, .. } = std::mem::take(self);
        let mut unreadable: Vec<_> = unreadable.into_keys().collect();
        unreadable.sort_unstable_by(|one, other| one.as_str().cmp(other.as_str()));
        Listing { objects: objects.into_iter().flatten().collect(), unreadable, version }
    }
}

impl<K> Default for Collection<K> {
    fn default() -> Self {
        Self { objects: Vec::new(), places: KeyMap::default(), unreadable: KeyMap::default() }
    }
}
