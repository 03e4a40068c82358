//! The served objects and their versions.

use super::{encoded_object::EncodedObject, resource::Resource};
use kube_informer_bench_client::{fingerprint::Fingerprint, options::Encoding};
use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
};

/// The version before the first object; all versions have the same number of digits.
const FIRST_VERSION: u64 = 1_000_000_000;

/// The objects, which never change, and their versions, which do.
#[derive(Debug)]
pub(super) struct ReplayStore {
    pub(super) resource: Resource,
    objects: Vec<EncodedObject>,
    versions: Mutex<Versions>,
}

/// The versions of all objects.
#[derive(Clone, Debug)]
pub(super) struct Versions {
    /// The version of the last change.
    pub(super) newest: u64,
    /// The oldest version from which a watch can start.
    oldest: u64,
    /// The version of each object.
    pub(super) of_objects: Vec<u64>,
}

impl ReplayStore {
    /// Encodes the first `count` objects of a resource.
    pub(super) fn new(count: u64, resource: Resource, encodings: &[Encoding]) -> Result<Self, String> {
        let threads = thread::available_parallelism().map_or(1, |threads| threads.get() as u64);
        let share = count.div_ceil(threads).max(1);
        let encode = |from: u64| {
            let part = from..(from + share).min(count);
            part.map(|index| EncodedObject::new(resource.object(index), &resource, encodings))
                .collect::<Result<Vec<_>, _>>()
        };
        let parts = thread::scope(|scope| {
            let starts = (0..count).step_by(usize::try_from(share).unwrap_or(usize::MAX));
            let threads: Vec<_> = starts.map(|from| scope.spawn(move || encode(from))).collect();
            let join = |thread: thread::ScopedJoinHandle<'_, Result<Vec<EncodedObject>, String>>| {
                thread.join().unwrap_or_else(|_| Err("an encoding thread panicked".to_owned()))
            };
            threads.into_iter().map(join).collect::<Result<Vec<_>, _>>()
        })?;
        let objects: Vec<_> = parts.into_iter().flatten().collect();
        let versions = Mutex::new(Versions::first(objects.len()));
        Ok(Self { resource, objects, versions })
    }

    pub(super) fn objects(&self) -> &[EncodedObject] {
        &self.objects
    }

    /// Locks the versions.
    pub(super) fn versions(&self) -> MutexGuard<'_, Versions> {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Resets every object to its first version.
    pub(super) fn reset(&self) {
        *self.versions() = Versions::first(self.objects.len());
    }

    /// Changes a share of the objects, evenly distributed, and returns their number.
    pub(super) fn change(&self, share: f64) -> u64 {
        let mut versions = self.versions();
        let total = self.objects.len();
        let changed = ((total as f64 * share).ceil() as usize).min(total);
        for turn in 0..changed {
            // The last object is always changed, so that a list must be read to its end.
            versions.update(total - 1 - turn * total / changed);
        }
        changed as u64
    }

    /// Drops the history: a watch from an older version expires.
    pub(super) fn compact(&self) {
        let mut versions = self.versions();
        versions.oldest = versions.newest;
    }

    /// Returns the fingerprint that caches must have.
    pub(super) fn fingerprint(&self) -> Fingerprint {
        let versions = self.versions();
        let mut fingerprint = Fingerprint::default();
        for (object, version) in self.objects.iter().zip(&versions.of_objects) {
            object.add_to(&mut fingerprint, *version);
        }
        fingerprint
    }
}

impl Versions {
    fn first(count: usize) -> Self {
        let newest = FIRST_VERSION + count as u64;
        Self { newest, oldest: newest, of_objects: (FIRST_VERSION + 1..=newest).collect() }
    }

    /// Returns true if the changes since this version are known.
    pub(super) fn can_watch_from(&self, version: u64) -> bool {
        (self.oldest..=self.newest).contains(&version)
    }

    /// Returns the index and version of the objects that changed since a version, oldest first.
    pub(super) fn since(&self, version: u64) -> Vec<(usize, u64)> {
        let all = self.of_objects.iter().copied().enumerate();
        let mut changed: Vec<_> = all.filter(|(_, changed)| *changed > version).collect();
        changed.sort_unstable_by_key(|(_, changed)| *changed);
        changed
    }

    /// Increments the version of an object and returns it.
    pub(super) fn update(&mut self, index: usize) -> u64 {
        self.newest += 1;
        self.of_objects[index] = self.newest;
        self.newest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube_informer_bench_client::options::Kind;

    fn store(count: u64) -> ReplayStore {
        ReplayStore::new(count, Resource::new(Kind::Pods, 1), &[Encoding::Json, Encoding::Protobuf]).unwrap()
    }

    #[test]
    fn a_change_is_part_of_the_fingerprint_until_the_reset() {
        let store = store(20);
        let before = store.fingerprint();
        assert_eq!(store.change(0.1), 2);
        assert_ne!(store.fingerprint(), before);
        assert_eq!(store.fingerprint().nested, before.nested);
        store.reset();
        assert_eq!(store.fingerprint(), before);
    }

    #[test]
    fn changes_are_known_until_the_history_is_dropped() {
        let store = store(20);
        let before = store.versions().newest;
        store.change(0.1);
        let versions = store.versions().clone();
        assert_eq!(versions.since(before), [(19, before + 1), (9, before + 2)]);
        assert!(versions.can_watch_from(before) && !versions.can_watch_from(before + 3));
        store.compact();
        assert!(!store.versions().can_watch_from(before));
        assert!(store.versions().can_watch_from(before + 2));
    }

    #[test]
    fn the_last_object_is_always_changed() {
        for count in [1, 7, 20] {
            let store = store(count);
            store.change(0.001);
            assert_eq!(store.versions().of_objects.last(), Some(&(FIRST_VERSION + count + 1)));
        }
    }
}
