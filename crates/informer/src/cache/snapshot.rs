//! A consistent view of the cache: objects, indexes and version of one point in time.

use super::{
    entry::Entry,
    index::{Indexes, NAMESPACE, UnknownIndexError},
    trie::Trie,
};
use crate::{labels::CachedLabels, object::ListedObject};
use kube_core::Resource;
use kube_informer_wire::{ContentHash, Identity, Key, KeyMap, KeyRef, LabelSelector, ResourceVersion};
use std::{fmt, sync::Arc};

/// The state of a [`Store`](super::Store) at one point in time.
///
/// All reads of a snapshot return the same state. A snapshot costs a reference count and does not block the writer.
/// Objects that are replaced or removed in the store are freed when the last snapshot that contains them is dropped.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_informer::cache::Store;
/// use std::sync::Arc;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (store, mut writer) = Store::builder().build()?;
/// let mut pod = Pod::default();
/// pod.metadata.name = Some("front-1".into());
/// pod.metadata.namespace = Some("shop".into());
/// writer.edit().insert(Arc::new(pod))?;
///
/// let snapshot = store.snapshot();
/// writer.edit().remove("shop/front-1");
/// assert!(store.is_empty());
/// assert!(snapshot.contains("shop/front-1"));
/// for entry in snapshot.in_namespace("shop") {
///     println!("{} at {:?}", entry.key(), entry.version());
/// }
/// # Ok(()) }
/// ```
pub struct Snapshot<K> {
    pub(super) objects: Trie<Arc<Entry<K>>>,
    pub(super) indexes: Indexes<K>,
    pub(super) version: Option<ResourceVersion>,
    /// Caches labels of encoded objects; `None` if that is not configured.
    pub(super) labels: Option<Arc<CachedLabels<K>>>,
    /// True if the objects were released, because nothing reads them. Readers never get such a snapshot.
    pub(super) is_released: bool,
}

impl<K> Snapshot<K> {
    /// Returns this snapshot without objects.
    pub(super) fn released(&self) -> Self {
        let Self { indexes, labels, .. } = self;
        Self { indexes: indexes.without_keys(), labels: labels.clone(), is_released: true, ..Self::default() }
    }

    /// Returns the object with this key.
    pub fn get<'k>(&self, key: impl Into<KeyRef<'k>>) -> Option<Arc<K>> {
        self.entry(key).map(Entry::object_cached)
    }

    /// Returns whether there is an object with this key.
    pub fn contains<'k>(&self, key: impl Into<KeyRef<'k>>) -> bool {
        self.entry(key).is_some()
    }

    /// Returns the number of objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Returns whether there are no objects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Iterates over all entries, in no particular order. Objects that are stored [encoded](crate::Storage) are decoded only by
    /// [`Entry::object`].
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Entry<K>> {
        self.objects.iter().map(|entry| &**entry)
    }

    /// Returns all objects, in no particular order.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<K>> {
        self.iter().map(Entry::object).collect()
    }

    /// Returns all keys, in no particular order.
    #[must_use]
    pub fn keys(&self) -> Vec<Key> {
        self.iter().map(|entry| entry.key().clone()).collect()
    }

    /// Iterates over the entries of a namespace, using the namespace index.
    pub fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = &Entry<K>> {
        self.indexed(NAMESPACE, namespace).into_iter().flatten()
    }

    /// Returns the objects that have `value` in the index `index`; empty if there are none.
    ///
    /// # Errors
    /// [`UnknownIndexError`] if there is no such index.
    pub fn by_index(&self, index: &str, value: &str) -> Result<Vec<Arc<K>>, UnknownIndexError> {
        Ok(self.indexed(index, value)?.map(Entry::object).collect())
    }

    /// Returns the keys of the objects that have `value` in the index `index`, sorted.
    ///
    /// # Errors
    /// [`UnknownIndexError`] if there is no such index.
    pub fn index_keys(&self, index: &str, value: &str) -> Result<Vec<Key>, UnknownIndexError> {
        let keys = self.indexes.keys(index, value)?;
        let mut keys: Vec<_> = keys.into_iter().flat_map(Trie::iter).cloned().collect();
        keys.sort_unstable();
        Ok(keys)
    }

    /// Returns the values of all objects in the index `index`, sorted.
    ///
    /// # Errors
    /// [`UnknownIndexError`] if there is no such index.
    pub fn index_values(&self, index: &str) -> Result<Vec<Arc<str>>, UnknownIndexError> {
        let mut values: Vec<_> = self.indexes.values(index)?.cloned().collect();
        values.sort_unstable();
        Ok(values)
    }

    /// Returns the size in bytes of the objects that are stored [encoded](crate::Storage), without keys, indexes and dictionaries.
    /// Iterates over all objects.
    #[must_use]
    pub fn compact_bytes(&self) -> usize {
        self.iter().filter_map(|entry| entry.stored().encoded_size()).sum()
    }

    /// Returns the resource version of the store; `None` before the first write.
    #[must_use]
    pub fn version(&self) -> Option<&ResourceVersion> {
        self.version.as_ref()
    }

    /// Returns all entries, in no particular order.
    pub(crate) fn shared_entries(&self) -> Vec<Arc<Entry<K>>> {
        self.objects.iter().cloned().collect()
    }

    /// Returns the entry with this key, without decoding the object.
    #[must_use]
    pub fn entry<'k>(&self, key: impl Into<KeyRef<'k>>) -> Option<&Entry<K>> {
        let key = key.into();
        self.objects.find(key.digest(), |entry| key.is(entry.key())).map(|entry| &**entry)
    }

    fn indexed(
        &self,
        index: &str,
        value: &str,
    ) -> Result<impl Iterator<Item = &Entry<K>>, UnknownIndexError> {
        let keys = self.indexes.keys(index, value)?;
        Ok(keys.into_iter().flat_map(Trie::iter).filter_map(|key| self.entry(key)))
    }
}

impl<K: Resource> Snapshot<K> {
    /// Returns the object with this name, uid, version and content, with its key.
    pub(super) fn find_same(
        &self,
        identity: &Identity<'_>,
        content: &dyn Fn() -> Option<ContentHash>,
    ) -> Option<(Key, ListedObject<K>)> {
        let entry = self.entry((&*identity.namespace, &*identity.name))?;
        let is_same = entry.is_state(identity) && !entry.stored().differs_from(content());
        is_same.then(|| (entry.key().clone(), ListedObject::known(entry.stored())))
    }

    /// Returns the objects that share a value of the index `index` with `object`, which need not be in the cache: client-go's
    /// `Indexer.Index`.
    ///
    /// # Errors
    /// [`UnknownIndexError`] if there is no such index.
    #[doc(alias = "Index")]
    pub fn by_index_of(&self, index: &str, object: &K) -> Result<Vec<Arc<K>>, UnknownIndexError> {
        let mut found = KeyMap::default();
        for value in self.indexes.values_in(index, object.meta().namespace.as_deref(), object)? {
            found.extend(self.indexed(index, &value)?.map(|entry| (entry.key().clone(), entry)));
        }
        Ok(found.into_values().map(Entry::object).collect())
    }

    /// Returns the objects whose labels match, in no particular order.
    ///
    /// If objects are stored [encoded](crate::Storage), all of them are decoded to read their labels, unless labels are
    /// [cached](super::StoreBuilder::cache_labels): then only matching objects are decoded. A selector that matches all objects or
    /// none reads no labels.
    #[must_use]
    pub fn matching(&self, labels: &LabelSelector) -> Vec<Arc<K>> {
        if labels.is_nothing() { Vec::new() } else { self.select(self.iter(), labels) }
    }

    /// Iterates over the entries whose labels match, in no particular order. No object is decoded if the labels are
    /// [cached](super::StoreBuilder::cache_labels).
    pub fn matching_entries(&self, labels: &LabelSelector) -> impl Iterator<Item = &Entry<K>> {
        let entries = Some(self.iter()).filter(|_| !labels.is_nothing());
        entries.into_iter().flatten().filter(move |entry| {
            self.matches_cached(entry, labels)
                .unwrap_or_else(|| labels.matches(entry.object().meta().labels.as_ref()))
        })
    }

    /// Returns the objects of the entries whose labels match.
    pub(super) fn select<'a>(
        &self,
        entries: impl Iterator<Item = &'a Entry<K>>,
        labels: &LabelSelector,
    ) -> Vec<Arc<K>>
    where
        K: 'a,
    {
        let select = |entry: &Entry<K>| match self.matches_cached(entry, labels) {
            Some(matches) => matches.then(|| entry.object()),
            None => Some(entry.object()).filter(|object| labels.matches(object.meta().labels.as_ref())),
        };
        entries.filter_map(select).collect()
    }

    /// Returns whether the labels of an object match; `None` if the object must be decoded to decide that.
    fn matches_cached(&self, entry: &Entry<K>, labels: &LabelSelector) -> Option<bool> {
        if labels.is_everything() {
            return Some(true);
        }
        self.labels.as_ref()?.matches(entry.labels()?, labels)
    }
}

/// Prints the number of objects only, because objects may contain secrets.
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
            is_released: self.is_released,
        }
    }
}

impl<K> Default for Snapshot<K> {
    fn default() -> Self {
        Self {
            objects: Trie::default(),
            indexes: Indexes::default(),
            version: None,
            labels: None,
            is_released: false,
        }
    }
}
