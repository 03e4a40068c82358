//! Named indexes: from a value to the keys of the objects that stand under it.

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

/// The index that every store has: the objects of a namespace. Cluster-scoped objects stand under no value.
pub const NAMESPACE: &str = "namespace";

/// An index name that is taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("indexer conflict: there is an index named {name:?} already")]
pub struct IndexConflictError {
    /// The name asked for.
    pub name: String,
}

/// An index name that nobody gave.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("index with name {name:?} does not exist; there are: {}", known.join(", "))]
pub struct UnknownIndexError {
    /// The name asked for.
    pub name: String,
    /// The names there are.
    pub known: Vec<String>,
}

/// All indexes of a store. Cloning shares them.
pub(crate) struct Indexes<K>(Arc<Vec<Index<K>>>);

struct Index<K> {
    name: Arc<str>,
    source: Source<K>,
    buckets: Trie<Bucket>,
}

/// Where an index takes its values from.
enum Source<K> {
    /// The key, which every entry has: nothing is stored per object, and it changes with no update.
    Namespace,
    Function(IndexFn<K>),
}

/// Calls back with each value of an object.
pub(crate) type IndexFn<K> = Arc<dyn Fn(&K, &mut dyn FnMut(&str)) + Send + Sync>;

/// A function that gives values, as one that calls back with them.
pub(crate) fn calling_back<K, F, I, V>(function: F) -> IndexFn<K>
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

/// How often an index function of a store panicked.
#[derive(Debug, Default)]
pub(crate) struct Panics(AtomicU64);

static SEED: LazyLock<HashSeed> = LazyLock::new(HashSeed::new);

impl Panics {
    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl<K> Indexes<K> {
    /// Adds an index, still empty.
    pub(crate) fn add(&mut self, name: &str, function: IndexFn<K>) -> Result<(), IndexConflictError> {
        if self.0.iter().any(|index| *index.name == *name) {
            return Err(IndexConflictError { name: name.to_owned() });
        }
        let index = Index { name: name.into(), source: Source::Function(function), buckets: Trie::default() };
        Arc::make_mut(&mut self.0).push(index);
        Ok(())
    }

    /// The keys that stand under `value`.
    pub(crate) fn keys(&self, name: &str, value: &str) -> Result<Option<&Trie<Key>>, UnknownIndexError> {
        Ok(self.named(name)?.bucket(value).map(|bucket| &bucket.keys))
    }

    /// The values under which at least one object stands.
    pub(crate) fn values(&self, name: &str) -> Result<impl Iterator<Item = &Arc<str>>, UnknownIndexError> {
        Ok(self.named(name)?.buckets.iter().map(|bucket| &bucket.value))
    }

    /// How many indexes there are.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Whether there are indexes for which an object has to be looked at.
    pub(crate) fn have_functions(&self) -> bool {
        self.0.iter().any(|index| matches!(index.source, Source::Function(_)))
    }

    /// Works out under which values of these indexes `object` stands, in order and each once. An index whose function
    /// panics has none.
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
            // What a function leaves behind when it panics is its own: it is only given a shared reference.
            if catch_unwind(AssertUnwindSafe(|| function(object, &mut emit))).is_err() {
                values.truncate(before);
                panics.0.fetch_add(1, Ordering::Relaxed);
                tracing::error!(index = %index.name, %key, "index function panicked; object left out of the index");
            }
            values[before..].sort_unstable();
        }
        values.dedup();
        values
    }

    /// The same values, of values that are shared with what stands under them.
    pub(crate) fn shared(&self, values: &[IndexValue]) -> Vec<IndexValue> {
        let share = |value: &IndexValue| {
            // Labels are no index, and shared already.
            let bucket = self.0.get(value.index).and_then(|index| index.bucket(&value.value));
            IndexValue {
                index: value.index,
                value: Arc::clone(bucket.map_or(&value.value, |bucket| &bucket.value)),
            }
        };
        values.iter().map(share).collect()
    }

    /// Moves `key` from where the old entry stood to where the new one stands.
    pub(crate) fn update(&mut self, key: &Key, old: Option<&Entry<K>>, new: Option<&Entry<K>>) {
        let is_known = [old.is_some(), new.is_some()];
        let (mut old, mut new) =
            (old.map_or(&[][..], Entry::index_values), new.map_or(&[][..], Entry::index_values));
        if is_known == [true, true] && old == new {
            return;
        }
        let indexes = Arc::make_mut(&mut self.0);
        match (is_known, key.namespace()) {
            ([false, true], Some(namespace)) => indexes[0].insert(namespace, key),
            ([true, false], Some(namespace)) => indexes[0].remove(namespace, key),
            _ => {}
        }
        // Both are in order, so that one walk through them finds what they do not share.
        loop {
            match (old, new) {
                ([], []) => return,
                ([gone, rest @ ..], []) => {
                    indexes[gone.index].remove(&gone.value, key);
                    old = rest;
                }
                ([gone, rest @ ..], [come, ..]) if gone < come => {
                    indexes[gone.index].remove(&gone.value, key);
                    old = rest;
                }
                ([stays, rest @ ..], [same, others @ ..]) if stays == same => (old, new) = (rest, others),
                (_, [come, rest @ ..]) => {
                    indexes[come.index].insert(&come.value, key);
                    new = rest;
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
            bucket.keys.remove(key.digest(), |held| held == key);
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
