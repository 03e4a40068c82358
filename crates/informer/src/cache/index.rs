//! Named indexes, which map a value to the keys of the objects that have it.

use super::{
    entry::Entry,
    trie::{Hashed, Trie},
};
use crate::object::IndexValue;
use kube_informer_wire::{Key, rng::HashSeed};
use std::{
    fmt,
    hash::BuildHasher,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

/// The name of the index by namespace, which is part of every store. Cluster-scoped objects are not in it.
pub const NAMESPACE: &str = "namespace";

/// There is already an index with this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("indexer conflict: there is an index named {name:?} already")]
pub struct IndexConflictError {
    /// The name.
    pub name: String,
}

/// There is no index with this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("index with name {name:?} does not exist; known indexes: {}", known.join(", "))]
pub struct UnknownIndexError {
    /// The name.
    pub name: String,
    /// The names of the existing indexes.
    pub known: Vec<String>,
}

/// All indexes of a store. Cloning shares them.
pub(crate) struct Indexes<K>(Arc<Vec<Index<K>>>);

struct Index<K> {
    name: Arc<str>,
    source: Source<K>,
    buckets: Trie<Bucket>,
}

/// The source of the values of an index.
enum Source<K> {
    /// The key. It never changes, so no values are stored per object.
    Namespace,
    Function(IndexFn<K>),
}

/// Calls the callback with each value of an object.
pub(crate) type IndexFn<K> = Arc<dyn Fn(&K, &mut dyn FnMut(&str)) + Send + Sync>;

/// Converts a function that returns values.
pub(crate) fn index_fn<K, F, I, V>(function: F) -> IndexFn<K>
where
    F: Fn(&K) -> I + Send + Sync + 'static,
    I: IntoIterator<Item = V>,
    V: AsRef<str>,
{
    Arc::new(move |object, emit| function(object).into_iter().for_each(|value| emit(value.as_ref())))
}

#[derive(Clone, Debug)]
struct Bucket {
    value: Arc<str>,
    keys: Trie<Key>,
}

/// The number of panics in the index functions of a store.
#[derive(Debug, Default)]
pub(crate) struct Panics(AtomicU64);

static SEED: LazyLock<HashSeed> = LazyLock::new(HashSeed::new);

impl Panics {
    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl<K> Indexes<K> {
    /// Adds an empty index.
    pub(crate) fn add(&mut self, name: &str, function: IndexFn<K>) -> Result<(), IndexConflictError> {
        if self.0.iter().any(|index| *index.name == *name) {
            return Err(IndexConflictError { name: name.to_owned() });
        }
        let index = Index { name: name.into(), source: Source::Function(function), buckets: Trie::default() };
        Arc::make_mut(&mut self.0).push(index);
        Ok(())
    }

    /// Returns the keys of the objects that have `value`.
    pub(crate) fn keys(&self, name: &str, value: &str) -> Result<Option<&Trie<Key>>, UnknownIndexError> {
        Ok(self.named(name)?.bucket(value).map(|bucket| &bucket.keys))
    }

    /// Iterates over the values of all objects.
    pub(crate) fn values(&self, name: &str) -> Result<impl Iterator<Item = &Arc<str>>, UnknownIndexError> {
        Ok(self.named(name)?.buckets.iter().map(|bucket| &bucket.value))
    }

    /// Returns the number of indexes.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are indexes other than the one by namespace.
    pub(crate) fn have_functions(&self) -> bool {
        self.0.iter().any(|index| matches!(index.source, Source::Function(_)))
    }

    /// Computes the values of `object` in these indexes, sorted and without duplicates. If an index function panics, the
    /// object has no values in that index.
    pub(crate) fn values_of(
        &self,
        numbers: Range<usize>,
        key: &Key,
        object: &K,
        panics: &Panics,
    ) -> Vec<IndexValue> {
        let mut values = Vec::new();
        for number in numbers {
            let index = &self.0[number];
            let Source::Function(function) = &index.source else { continue };
            let before = values.len();
            let mut emit = |value: &str| {
                let value =
                    index.bucket(value).map_or_else(|| value.into(), |bucket| Arc::clone(&bucket.value));
                values.push(IndexValue { index: number, value });
            };
            // Unwind safe, because the function has only a shared reference.
            if catch_unwind(AssertUnwindSafe(|| function(object, &mut emit))).is_err() {
                values.truncate(before);
                panics.0.fetch_add(1, Ordering::Relaxed);
                tracing::error!(index = %index.name, %key, "index function panicked; object is not indexed");
            }
            values[before..].sort_unstable();
        }
        values.dedup();
        values
    }

    /// Computes the values of `object` in the index `name`, without duplicates. None if its function panics.
    pub(crate) fn values_in(
        &self,
        name: &str,
        namespace: Option<&str>,
        object: &K,
    ) -> Result<Vec<Arc<str>>, UnknownIndexError> {
        let mut values: Vec<Arc<str>> = Vec::new();
        match &self.named(name)?.source {
            Source::Namespace => values.extend(namespace.map(Into::into)),
            Source::Function(function) => {
                let mut emit = |value: &str| values.push(value.into());
                if catch_unwind(AssertUnwindSafe(|| function(object, &mut emit))).is_err() {
                    values.clear();
                }
            }
        }
        values.sort_unstable();
        values.dedup();
        Ok(values)
    }

    /// Returns the same values, sharing the allocations of values that are in the indexes already.
    pub(crate) fn shared(&self, values: &[IndexValue]) -> Vec<IndexValue> {
        let share = |value: &IndexValue| {
            // Labels are not an index, and are shared already.
            let bucket = self.0.get(value.index).and_then(|index| index.bucket(&value.value));
            IndexValue {
                index: value.index,
                value: Arc::clone(bucket.map_or(&value.value, |bucket| &bucket.value)),
            }
        };
        values.iter().map(share).collect()
    }

    /// Moves `key` from the values of the old entry to those of the new one.
    pub(crate) fn update(&mut self, key: &Key, old: Option<&Entry<K>>, new: Option<&Entry<K>>) {
        let mut old_values = old.map_or(&[][..], Entry::index_values);
        let mut new_values = new.map_or(&[][..], Entry::index_values);
        if old.is_some() && new.is_some() && old_values == new_values {
            return;
        }
        let indexes = Arc::make_mut(&mut self.0);
        match (old, new, key.namespace()) {
            (None, Some(_), Some(namespace)) => indexes[0].insert(namespace, key),
            (Some(_), None, Some(namespace)) => indexes[0].remove(namespace, key),
            _ => {}
        }
        // Both are sorted, so the differences are found in one pass.
        loop {
            match (old_values, new_values) {
                ([], []) => return,
                ([removed, rest @ ..], []) => {
                    indexes[removed.index].remove(&removed.value, key);
                    old_values = rest;
                }
                ([removed, rest @ ..], [added, ..]) if removed < added => {
                    indexes[removed.index].remove(&removed.value, key);
                    old_values = rest;
                }
                ([unchanged, old_rest @ ..], [same, new_rest @ ..]) if unchanged == same => {
                    old_values = old_rest;
                    new_values = new_rest;
                }
                (_, [added, rest @ ..]) => {
                    indexes[added.index].insert(&added.value, key);
                    new_values = rest;
                }
            }
        }
    }

    fn named(&self, name: &str) -> Result<&Index<K>, UnknownIndexError> {
        self.0.iter().find(|index| *index.name == *name).ok_or_else(|| UnknownIndexError {
            name: name.to_owned(),
            known: self.0.iter().map(|index| index.name.to_string()).collect(),
        })
    }
}

impl<K> Index<K> {
    fn bucket(&self, value: &str) -> Option<&Bucket> {
        self.buckets.find(SEED.hash_one(value), |bucket| *bucket.value == *value)
    }

    fn insert(&mut self, value: &str, key: &Key) {
        let found = self.buckets.find_mut(SEED.hash_one(value), |bucket| *bucket.value == *value);
        if let Some(bucket) = found {
            bucket.keys.insert(key.clone());
        } else {
            let mut keys = Trie::default();
            keys.insert(key.clone());
            self.buckets.insert(Bucket { value: value.into(), keys });
        }
    }

    fn remove(&mut self, value: &str, key: &Key) {
        let digest = SEED.hash_one(value);
        let is_value = |bucket: &Bucket| *bucket.value == *value;
        if let Some(bucket) = self.buckets.find_mut(digest, is_value) {
            bucket.keys.remove(key.digest(), |other| other == key);
            if bucket.keys.is_empty() {
                self.buckets.remove(digest, is_value);
            }
        }
    }
}

impl Hashed for Bucket {
    fn digest(&self) -> u64 {
        SEED.hash_one(&*self.value)
    }

    fn is_same(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<K> Default for Indexes<K> {
    fn default() -> Self {
        let namespace = Index { name: NAMESPACE.into(), source: Source::Namespace, buckets: Trie::default() };
        Self(Arc::new(vec![namespace]))
    }
}

impl<K> Clone for Indexes<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K> Clone for Index<K> {
    fn clone(&self) -> Self {
        Self { name: Arc::clone(&self.name), source: self.source.clone(), buckets: self.buckets.clone() }
    }
}

impl<K> Clone for Source<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Namespace => Self::Namespace,
            Self::Function(function) => Self::Function(Arc::clone(function)),
        }
    }
}

impl<K> fmt::Debug for Indexes<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.iter().map(|index| (&index.name, index.buckets.len()))).finish()
    }
}
