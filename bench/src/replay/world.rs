//! Everything that is served, and at which version each object is.

use super::{form::Form, object::Object};
use kube_informer_bench_client::{hash::Hash, options::Encoding};
use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
};

/// The version before the first object; all versions have as many digits as this one.
const BEGIN: u64 = 1_000_000_000;

/// The objects, which never change, and their versions, which do.
#[derive(Debug)]
pub(super) struct World {
    pub(super) form: Form,
    objects: Vec<Object>,
    state: Mutex<Versions>,
}

/// At which version everything is.
#[derive(Clone, Debug)]
pub(super) struct Versions {
    /// The newest version there is.
    pub(super) newest: u64,
    /// The oldest version that can be watched from.
    pub(super) oldest: u64,
    /// The version of each object.
    pub(super) each: Vec<u64>,
}

impl World {
    /// Encodes this many objects of a corpus.
    pub(super) fn new(count: u64, form: Form, encodings: &[Encoding]) -> Result<Self, String> {
        let threads = thread::available_parallelism().map_or(1, |threads| threads.get() as u64);
        let share = count.div_ceil(threads).max(1);
        let encode = |from: u64| {
            let part = from..(from + share).min(count);
            part.map(|index| Object::new(form.object(index), &form, encodings)).collect::<Result<Vec<_>, _>>()
        };
        let parts = thread::scope(|scope| {
            let begin = (0..count).step_by(usize::try_from(share).unwrap_or(usize::MAX));
            let threads: Vec<_> = begin.map(|from| scope.spawn(move || encode(from))).collect();
            let join = |thread: thread::ScopedJoinHandle<'_, Result<Vec<Object>, String>>| {
                thread.join().unwrap_or_else(|_| Err("a thread that encoded has panicked".to_owned()))
            };
            threads.into_iter().map(join).collect::<Result<Vec<_>, _>>()
        })?;
        let objects: Vec<_> = parts.into_iter().flatten().collect();
        let state = Mutex::new(Versions::first(objects.len()));
        Ok(Self { form, objects, state })
    }

    pub(super) fn objects(&self) -> &[Object] {
        &self.objects
    }

    /// The versions, which nobody else changes meanwhile.
    pub(super) fn versions(&self) -> MutexGuard<'_, Versions> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts every object back to its first version.
    pub(super) fn reset(&self) {
        *self.versions() = Versions::first(self.objects.len());
    }

    /// Changes a share of the objects, spread evenly. Says how many changed.
    pub(super) fn change(&self, share: f64) -> u64 {
        let mut versions = self.versions();
        let total = self.objects.len();
        let changed = ((total as f64 * share).ceil() as usize).min(total);
        for turn in 0..changed {
            // The last object is always among them, so that nobody is done before the end.
            versions.touch(total - 1 - turn * total / changed);
        }
        changed as u64
    }

    /// Forgets history: nobody can watch from an older version than the newest.
    pub(super) fn forget(&self) {
        let mut versions = self.versions();
        versions.oldest = versions.newest;
    }

    /// What clients should see.
    pub(super) fn truth(&self) -> Hash {
        let (versions, mut hash) = (self.versions(), Hash::default());
        for (object, version) in self.objects.iter().zip(&versions.each) {
            object.hash(*version, &mut hash);
        }
        hash
    }
}

impl Versions {
    fn first(count: usize) -> Self {
        let newest = BEGIN + count as u64;
        Self { newest, oldest: newest, each: (BEGIN + 1..=newest).collect() }
    }

    /// Whether what happened since this version is known.
    pub(super) fn can_watch_from(&self, version: u64) -> bool {
        (self.oldest..=self.newest).contains(&version)
    }

    /// The objects that changed since a version, with their versions, the oldest first.
    pub(super) fn since(&self, version: u64) -> Vec<(usize, u64)> {
        let each = self.each.iter().copied().enumerate();
        let mut changed: Vec<_> = each.filter(|(_, changed)| *changed > version).collect();
        changed.sort_unstable_by_key(|(_, changed)| *changed);
        changed
    }

    /// Gives an object a new version.
    pub(super) fn touch(&mut self, index: usize) -> u64 {
        self.newest += 1;
        self.each[index] = self.newest;
        self.newest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube_informer_bench_client::options::Kind;

    fn world(count: u64) -> World {
        World::new(count, Form::new(Kind::Pods, 1), &[Encoding::Json, Encoding::Protobuf]).unwrap()
    }

    #[test]
    fn a_change_is_seen_in_the_truth_and_a_reset_takes_it_back() {
        let world = world(20);
        let before = world.truth();
        assert_eq!(world.change(0.1), 2);
        assert_ne!(world.truth(), before);
        assert_eq!(world.truth().address, before.address);
        world.reset();
        assert_eq!(world.truth(), before);
    }

    #[test]
    fn what_changed_is_known_until_it_is_forgotten() {
        let world = world(20);
        let before = world.versions().newest;
        world.change(0.1);
        let versions = world.versions().clone();
        assert_eq!(versions.since(before), [(19, before + 1), (9, before + 2)]);
        assert!(versions.can_watch_from(before) && !versions.can_watch_from(before + 3));
        world.forget();
        assert!(!world.versions().can_watch_from(before));
        assert!(world.versions().can_watch_from(before + 2));
    }

    #[test]
    fn the_last_object_is_always_changed() {
        for count in [1, 7, 20] {
            let world = world(count);
            world.change(0.001);
            assert_eq!(world.versions().each.last(), Some(&(BEGIN + count + 1)));
        }
    }
}
