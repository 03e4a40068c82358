//! Named indexes, which map a value to the keys of the objects that have it.

use super::{
    entry::Entry,
    trie::{Hashed, Trie},
};
use crate::object::{IndexInput, IndexNeeds, IndexValue};
use kube_informer_wire::{FieldPath, FieldValues, Key, rng::HashSeed};
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
    source: IndexSource<K>,
    buckets: Trie<Bucket>,
}

/// The source of the values of an index.
pub(crate) enum IndexSource<K> {
    /// The key. It never changes, so no values are stored per object.
    Namespace,
    Function(IndexFn<K>),
    /// A field, which can be read from the bytes of an object.
    Path {
        path: FieldPath,
        read: ReadField<K>,
    },
}

/// Calls the callback with each value of a field.
type ReadField<K> = fn(&K, &FieldPath, &mut dyn FnMut(&str));

/// Calls the callback with each value of an object.
pub(crate) type IndexFn<K> = Arc<dyn Fn(&K, &mut dyn FnMut(&str)) + Send + Sync>;

impl<K> IndexSource<K> {
    /// Converts a function that returns values.
    pub(crate) fn function<F, I, V>(function: F) -> Self
    where
        F: Fn(&K) -> I + Send + Sync + 'static,
        I: IntoIterator<Item = V>,
        V: AsRef<str>,
    {
        let emit_all = move |object: &K, emit: &mut dyn FnMut(&str)| {
            function(object).into_iter().for_each(|value| emit(value.as_ref()));
        };
        Self::Function(Arc::new(emit_all))
    }

    pub(crate) fn path(path: FieldPath) -> Self
    where
        K: FieldValues,
    {
        Self::Path { path, read: K::field_values }
    }

    /// Returns the forms of an encoded object from which the values are computed.
    pub(crate) fn needs(&self) -> IndexNeeds {
        IndexNeeds { object: matches!(self, Self::Function(_)), bytes: matches!(self, Self::Path { .. }) }
    }

    /// Calls the callback with each value of an object.
    fn values(&self, input: &IndexInput<'_, K>, emit: &mut dyn FnMut(&str)) {
        match (self, input) {
            (Self::Path { path, .. }, IndexInput { raw: Some(raw), .. }) => raw.field_values(path, emit),
            (Self::Path { path, read }, IndexInput { object: Some(object), .. }) => read(object, path, emit),
            (Self::Function(function), IndexInput { object: Some(object), .. }) => function(object, emit),
            (Self::Path { .. } | Self::Function(_), IndexInput { object: None, .. })
            | (Self::Namespace, _) => {}
        }
    }
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
    pub(crate) fn add(&mut self, name: &str, source: IndexSource<K>) -> Result<(), IndexConflictError> {
        if self.0.iter().any(|index| *index.name == *name) {
            return Err(IndexConflictError { name: name.to_owned() });
        }
        let index = Index { name: name.into(), source, buckets: Trie::default() };
        Arc::make_mut(&mut self.0).push(index);
        Ok(())
    }

    /// Returns the same indexes without keys.
    pub(crate) fn without_keys(&self) -> Self {
        let empty = |Index { name, source, .. }: &Index<K>| Index {
            name: Arc::clone(name),
            source: source.clone(),
            buckets: Trie::default(),
        };
        Self(Arc::new(self.0.iter().map(empty).collect()))
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

    /// Iterates over the names and sources of the indexes other than the one by namespace.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (&Arc<str>, &IndexSource<K>)> {
        let own = self.0.iter().filter(|index| !matches!(index.source, IndexSource::Namespace));
        own.map(|index| (&index.name, &index.source))
    }

    /// Returns whether there are indexes other than the one by namespace.
    pub(crate) fn have_values(&self) -> bool {
        self.count() > 1
    }

    /// Returns whether there are index functions, which need the decoded object.
    pub(crate) fn have_functions(&self) -> bool {
        self.0.iter().any(|index| index.source.needs().object)
    }

    /// Returns whether there are index paths, which can be read from bytes.
    pub(crate) fn have_paths(&self) -> bool {
        self.0.iter().any(|index| index.source.needs().bytes)
    }

    /// Returns the forms of an encoded object from which all values are computed.
    pub(crate) fn needs(&self) -> IndexNeeds {
        IndexNeeds { object: self.have_functions(), bytes: self.have_paths() }
    }

    /// Computes the values of an object in these indexes, sorted and without duplicates. If an index function panics, the
    /// object has no values in that index.
    pub(crate) fn values_of(
        &self,
        numbers: Range<usize>,
        key: &Key,
        input: &IndexInput<'_, K>,
        panics: &Panics,
    ) -> Vec<IndexValue> {
        let mut values = Vec::new();
        for number in numbers {
            let index = &self.0[number];
            let before = values.len();
            let mut emit = |value: &str| {
                let value =
                    index.bucket(value).map_or_else(|| value.into(), |bucket| Arc::clone(&bucket.value));
                values.push(IndexValue { index: number, value });
            };
            // Unwind safe, because the function has only a shared reference.
            if catch_unwind(AssertUnwindSafe(|| index.source.values(input, &mut emit))).is_err() {
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
            IndexSource::Namespace => values.extend(namespace.map(Into::into)),
            source => {
                let input = IndexInput { object: Some(object), raw: None };
                let mut emit = |value: &str| values.push(value.into());
                if catch_unwind(AssertUnwindSafe(|| source.values(&input, &mut emit))).is_err() {
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
        let namespace =
            Index { name: NAMESPACE.into(), source: IndexSource::Namespace, buckets: Trie::default() };
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

impl<K> Clone for IndexSource<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Namespace => Self::Namespace,
            Self::Function(function) => Self::Function(Arc::clone(function)),
            Self::Path { path, read } => Self::Path { path: path.clone(), read: *read },
        }
    }
}

impl<K> fmt::Debug for Indexes<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.iter().map(|index| (&index.name, index.buckets.len()))).finish()
    }
}
