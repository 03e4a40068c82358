//! A map of the entries that were used last.

use std::{
    collections::HashMap,
    hash::{BuildHasher, Hash},
};

/// A map with a bounded number of entries: at least the last half of the capacity that were used, at most the capacity.
///
/// When the current generation is full, it becomes the previous one, and the entries of the old previous one are dropped.
#[derive(Debug)]
pub(super) struct Recent<K, V, S> {
    capacity: usize,
    current: HashMap<K, V, S>,
    previous: HashMap<K, V, S>,
}

impl<K: Clone + Eq + Hash, V, S: BuildHasher + Default> Recent<K, V, S> {
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity, current: HashMap::default(), previous: HashMap::default() }
    }

    pub(super) fn get(&self, key: &K) -> Option<&V> {
        self.current.get(key).or_else(|| self.previous.get(key))
    }

    pub(super) fn remove(&mut self, key: &K) {
        self.current.remove(key);
        self.previous.remove(key);
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &K> {
        let is_older = |key: &&K| !self.current.contains_key(*key);
        self.current.keys().chain(self.previous.keys().filter(is_older))
    }

    /// Returns the entry of a key, which is created if it does not exist.
    pub(super) fn entry(&mut self, key: &K, create: impl FnOnce() -> V) -> &mut V {
        if !self.current.contains_key(key) {
            let known = self.previous.remove(key);
            if self.current.len() >= self.capacity / 2 {
                self.previous = std::mem::take(&mut self.current);
            }
            self.current.insert(key.clone(), known.unwrap_or_else(create));
        }
        self.current.get_mut(key).expect("inserted above")
    }
}
