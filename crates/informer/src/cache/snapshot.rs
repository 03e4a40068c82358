//! The whole cache at one moment: objects, indexes and version that belong together.

use super::{
    entry::Entry,
    index::{Indexes, NAMESPACE, UnknownIndexError},
    trie::Trie,
};
use crate::{labels::CachedLabels, object::ListedObject};
use kube_core::Resource;
use kube_informer_wire::{Identity, Key, KeyRef, LabelSelector, ResourceVersion};
use std::{fmt, sync::Arc};

/// A point in time of a [`Store`](super::Store).
///
/// Taking one costs a counter, and holding one holds up nobody: the writer goes on, and what it replaces or removes
/// stays alive here for as long as the snapshot does. Every read of one snapshot sees the same state.
pub struct Snapshot<K> {
    pub(super) objects: Trie<Arc<Entry<K>>>,
    pub(super) indexes: Indexes<K>,
    pub(super) version: Option<ResourceVersion>,
    /// Keeps labels of objects that are kept compact, where that was asked for.
    pub(super) labels: Option<Arc<CachedLabels<K>>>,
}

impl<K> Snapshot<K> {
    /// The object with this key.
    pub fn get<'k>(&self, key: impl Into<KeyRef<'k>>) -> Option<Arc<K>> {
        self.entry(key).map(Entry::object_cached)
    }

    /// Whether there is an object with this key.
    pub fn contains<'k>(&self, key: impl Into<KeyRef<'k>>) -> bool {
        self.entry(key).is_some()
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there are no objects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Everything, in an order that means nothing, one by one: [`Entry::object`] decodes what is kept
    /// [compact](crate::Keep), and nothing else does.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Entry<K>> {
        self.objects.iter().map(|entry| &**entry)
    }

    /// All objects, in an order that means nothing.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<K>> {
        self.iter().map(Entry::object).collect()
    }

    /// All keys, in an order that means nothing.
    #[must_use]
    pub fn keys(&self) -> Vec<Key> {
        self.iter().map(|entry| entry.key().clone()).collect()
    }

    /// The objects of a namespace, without looking at any other.
    pub fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = &Entry<K>> {
        self.under(NAMESPACE, namespace).into_iter().flatten()
    }

    /// The objects that stand under `value` in the index `index`, without looking at any other.
    ///
    /// # Errors
    /// [`UnknownIndexError`] if there is no such index. A value under which nothing stands is no error.
    pub fn by_index(&self, index: &str, value: &str) -> Result<Vec<Arc<K>>, UnknownIndexError> {
        Ok(self.under(index, value)?.map(Entry::object).collect())
    }

    /// The keys that stand under `value` in the index `index`, sorted.
    ///
    /// # Errors
    /// [`UnknownIndexError`] if there is no such index.
    pub fn index_keys(&self, index: &str, value: &str) -> Result<Vec<Key>, UnknownIndexError> {
        let keys = self.indexes.keys(index, value)?;
        let mut keys: Vec<_> = keys.into_iter().flat_map(Trie::iter).cloned().collect();
        keys.sort_unstable();
        Ok(keys)
    }

    /// The values of the index `index` under which at least one object stands, sorted.
    ///
    /// # Errors
    /// [`UnknownIndexError`] if there is no such index.
    pub fn index_values(&self, index: &str) -> Result<Vec<Arc<str>>, UnknownIndexError> {
        let mut values: Vec<_> = self.indexes.values(index)?.cloned().collect();
        values.sort_unstable();
        Ok(values)
    }

    /// How many bytes the objects take that are kept [compact](crate::Keep), without keys, indexes and dictionaries. Counted
    /// one by one.
    #[must_use]
    pub fn compact_bytes(&self) -> usize {
        self.iter().filter_map(|entry| entry.stored().encoded_size()).sum()
    }

    /// Up to which version the server's changes are in here; nothing before the first.
    #[must_use]
    pub fn version(&self) -> Option<&ResourceVersion> {
        self.version.as_ref()
    }

    /// Everything, shared, in an order that means nothing.
    pub(crate) fn shared_entries(&self) -> Vec<Arc<Entry<K>>> {
        self.objects.iter().cloned().collect()
    }

    /// The entry with this key: what is known of the object without decoding it.
    #[must_use]
    pub fn entry<'k>(&self, key: impl Into<KeyRef<'k>>) -> Option<&Entry<K>> {
        let key = key.into();
        self.objects.find(key.digest(), |entry| key.is(entry.key())).map(|entry| &**entry)
    }

    fn under(&self, index: &str, value: &str) -> Result<impl Iterator<Item = &Entry<K>>, UnknownIndexError> {
        let keys = self.indexes.keys(index, value)?;
        Ok(keys.into_iter().flat_map(Trie::iter).filter_map(|key| self.entry(key)))
    }
}

impl<K: Resource> Snapshot<K> {
    /// The object that is meant and its key, if it is here in this very state, by uid and version.
    pub(super) fn find_same(&self, identity: &Identity<'_>) -> Option<(Key, ListedObject<K>)> {
        let entry = self.entry((&*identity.namespace, &*identity.name))?;
        entry.is_state(identity).then(|| (entry.key().clone(), ListedObject::known(entry.stored())))
    }

    /// The objects whose labels match.
    ///
    /// A selector that matches nothing looks at no object, one that matches everything reads no labels. Objects that are kept
    /// [compact](crate::Keep) are decoded to know their labels, unless [these are kept](super::StoreBuilder::cache_labels): then only
    /// those that match are.
    #[must_use]
    pub fn matching(&self, labels: &LabelSelector) -> Vec<Arc<K>> {
        if labels.is_nothing() { Vec::new() } else { self.select(self.iter(), labels) }
    }

    /// The entries whose labels match, in an order that means nothing. None of them is decoded where labels
    /// [are kept](super::StoreBuilder::cache_labels).
    pub fn matching_entries(&self, labels: &LabelSelector) -> impl Iterator<Item = &Entry<K>> {
        let entries = Some(self.iter()).filter(|_| !labels.is_nothing());
        entries.into_iter().flatten().filter(move |entry| {
            self.verdict(entry, labels)
                .unwrap_or_else(|| labels.matches(entry.object().meta().labels.as_ref()))
        })
    }

    /// Those of `entries` whose labels match.
    pub(super) fn select<'a>(
        &self,
        entries: impl Iterator<Item = &'a Entry<K>>,
        labels: &LabelSelector,
    ) -> Vec<Arc<K>>
    where
        K: 'a,
    {
        let select = |entry: &Entry<K>| match self.verdict(entry, labels) {
            Some(matches) => matches.then(|| entry.object()),
            None => Some(entry.object()).filter(|object| labels.matches(object.meta().labels.as_ref())),
        };
        entries.filter_map(select).collect()
    }

    /// Whether the labels of an object match, if that is known without a look at it.
    fn verdict(&self, entry: &Entry<K>, labels: &LabelSelector) -> Option<bool> {
        if labels.is_everything() {
            return Some(true);
        }
        self.labels.as_ref()?.matches(entry.labels()?, labels)
    }
}

/// Says how much there is, not what: objects may hold secrets.
impl<K> fmt::Debug for Snapshot<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("len", &self.len())
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

impl<K> Clone for Snapshot<K> {
    fn clone(&self) -> Self {
        Self {
            objects: self.objects.clone(),
            indexes: self.indexes.clone(),
            version: self.version.clone(),
            labels: self.labels.clone(),
        }
    }
}

impl<K> Default for Snapshot<K> {
    fn default() -> Self {
        Self { objects: Trie::default(), indexes: Indexes::default(), version: None, labels: None }
    }
}
