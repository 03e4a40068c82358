//! The read side of the cache, and its builder.

use super::{
    cell::Cell,
    entry::Entry,
    index::{IndexConflictError, IndexSource, Indexes, UnknownIndexError},
    lister::Lister,
    snapshot::Snapshot,
    writer::Writer,
};
use crate::{
    boxed::BoxError,
    ingest::{Ingest, KnownObjects},
    labels::CachedLabels,
};
use kube_core::Resource;
use kube_informer_wire::{FieldPath, FieldValues, Key, KeyRef, LabelSelector, ResourceVersion};
use serde::Serialize;
use std::{fmt, pin::pin, sync::Arc, time::Duration};

/// A local, indexed copy of a resource. Cheap to clone; readers never block each other, and never keep the writer from writing.
///
/// The first read after a pause publishes the changes since the last read. If a batch of watch events is being applied at that
/// moment, the read waits for its end. Other reads load a pointer.
///
/// Each method reads the current state. If several reads must be consistent, use a [`snapshot`](Self::snapshot).
///
/// An [`Informer`](crate::Informer) has the same read methods as its store. A store can also be filled manually:
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_informer::cache::Store;
/// use std::sync::Arc;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let node = |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
/// let (store, mut writer) = Store::builder().index("node", node).build()?;
/// for (name, node) in [("front-1", "node-1"), ("front-2", "node-2"), ("cart-1", "node-2")] {
///     let mut pod = Pod::default();
///     pod.metadata.name = Some(name.into());
///     pod.metadata.namespace = Some("shop".into());
///     pod.spec.get_or_insert_default().node_name = Some(node.into());
///     writer.edit().insert(Arc::new(pod))?;
/// }
/// assert_eq!(store.by_index("node", "node-2")?.len(), 2);
/// let before = store.snapshot(); // does not change any more
/// writer.edit().remove("shop/front-1");
/// assert!(store.get("shop/front-1").is_none() && before.get("shop/front-1").is_some());
/// # Ok(()) }
/// ```
pub struct Store<K> {
    cell: Arc<Cell<K>>,
}

/// Builds a [`Store`] and its [`Writer`].
#[derive(Debug)]
#[must_use]
pub struct StoreBuilder<K> {
    resource: String,
    indexes: Indexes<K>,
    labels: Option<CachedLabels<K>>,
    conflict: Option<IndexConflictError>,
    ingest: Ingest<K>,
}

/// An error of [`Store::wait_for`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// The writer was dropped, so the store will not reach the version.
    #[error("store of {resource} closed before it reached version {wanted}")]
    Closed {
        /// The name of the resource.
        resource: String,
        /// The requested version.
        wanted: ResourceVersion,
    },
    /// The server's versions are not numbers, so they have no order.
    #[error("version {wanted} cannot be compared with the store's version {held}")]
    Incomparable {
        /// The requested version.
        wanted: ResourceVersion,
        /// The current version of the store.
        held: ResourceVersion,
    },
    /// The store did not reach the version in time.
    #[error("store of {resource} did not reach version {wanted} within {timeout:?}")]
    TimedOut {
        /// The name of the resource.
        resource: String,
        /// The requested version.
        wanted: ResourceVersion,
        /// The timeout.
        timeout: Duration,
    },
}

impl<K> StoreBuilder<K> {
    /// Sets the name of the resource, for errors and logs. The default is the name of the Rust type.
    pub fn resource(mut self, name: impl Into<String>) -> Self {
        self.resource = name.into();
        self
    }

    /// Adds a named index. `function` returns the values by which an object can be found.
    ///
    /// A panic in `function` is caught and [counted](Store::index_panics), and the object is not in this index. The function runs
    /// under the lock of the writer, so it must not change the store.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_informer::cache::Store;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let node = |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
    /// let (store, _writer) = Store::builder().index("node", node).build()?;
    /// assert!(store.by_index("node", "node-1")?.is_empty());
    /// assert!(store.by_index("zone", "zone-1").is_err());
    /// # Ok(()) }
    /// ```
    pub fn index<F, I, V>(self, name: &str, function: F) -> Self
    where
        F: Fn(&K) -> I + Send + Sync + 'static,
        I: IntoIterator<Item = V>,
        V: AsRef<str>,
    {
        self.add_index(name, IndexSource::function(function))
    }

    /// Adds a named index of the values of a field. Objects that are stored [encoded](crate::Storage) are not decoded for it.
    ///
    /// [`FieldValues`] documents the values of a field.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_informer::cache::Store;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (store, _writer) = Store::<Pod>::builder().index_path("node", "/spec/nodeName".parse()?).build()?;
    /// assert!(store.by_index("node", "node-1")?.is_empty());
    /// # Ok(()) }
    /// ```
    pub fn index_path(self, name: &str, path: FieldPath) -> Self
    where
        K: FieldValues,
    {
        self.add_index(name, IndexSource::path(path))
    }

    fn add_index(mut self, name: &str, source: IndexSource<K>) -> Self {
        let added = self.indexes.add(name, source);
        self.conflict = self.conflict.or(added.err());
        self
    }

    /// Adds a function that changes every object before it is stored, if a [`Reflector`](crate::reflector::Reflector) fills the
    /// store. [`Ingest::transform`] documents it. Objects that are [inserted](super::Edit::insert) directly are not changed.
    pub fn transform(mut self, transform: impl Fn(K) -> Result<K, BoxError> + Send + Sync + 'static) -> Self
    where
        K: Serialize + 'static,
    {
        self.ingest = self.ingest.transform(transform);
        self
    }

    /// Returns whether indexes were added.
    pub(crate) fn has_indexes(&self) -> bool {
        self.indexes.have_values()
    }

    /// Adds the indexes of this builder to an existing store, except the indexes with a name that the store has already.
    pub(crate) fn merge_indexes_into(&self, store: &Store<K>)
    where
        K: 'static,
    {
        for (name, source) in self.indexes.sources() {
            // An index of this name is assumed to be the same one: functions cannot be compared.
            let _ = store.cell.add_index(name, source.clone());
        }
    }

    /// Builds the store.
    ///
    /// # Errors
    /// [`IndexConflictError`] if two indexes have the same name.
    pub fn build(self) -> Result<(Store<K>, Writer<K>), IndexConflictError> {
        if let Some(conflict) = self.conflict {
            return Err(conflict);
        }
        let cell = Arc::new(Cell::new(self.resource, self.indexes, self.labels));
        Ok((Store { cell: Arc::clone(&cell) }, Writer::new(cell, self.ingest)))
    }
}

impl<K: Resource> StoreBuilder<K> {
    /// Caches the labels of objects that are stored [encoded](crate::Storage), so that [`matching`](Store::matching) decodes only
    /// matching objects. Objects with equal labels share them. It has no effect for objects that are stored decoded.
    pub fn cache_labels(mut self) -> Self {
        self.labels = Some(CachedLabels::new(None));
        self
    }

    /// Caches the labels that the other builder caches.
    pub(crate) fn same_labels<T>(mut self, other: &StoreBuilder<T>) -> Self {
        self.labels = other.labels.as_ref().map(CachedLabels::of_type);
        self
    }

    /// Caches only the labels with these names; otherwise as [`cache_labels`](Self::cache_labels). If a selector requires other
    /// labels too, the objects that match by the cached labels are decoded.
    pub fn cache_labels_named<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.labels = Some(CachedLabels::new(Some(names.into_iter().map(Into::into).collect())));
        self
    }
}

impl<K> Default for StoreBuilder<K> {
    fn default() -> Self {
        let path = std::any::type_name::<K>();
        // The innermost type: `Pod` for `kube_core::metadata::PartialObjectMeta<k8s_openapi::..::Pod>`.
        let path = path.trim_end_matches('>');
        let resource = path.rsplit([':', '<']).next().unwrap_or(path).to_owned();
        Self { resource, indexes: Indexes::default(), labels: None, conflict: None, ingest: Ingest::new() }
    }
}

impl<K> Store<K> {
    /// Returns whether both are handles of the same store.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.cell, &other.cell)
    }

    /// Creates a builder.
    pub fn builder() -> StoreBuilder<K> {
        StoreBuilder::default()
    }

    /// Returns a reader with the methods of client-go's listers.
    #[must_use]
    pub fn lister(&self) -> Lister<K> {
        Lister::new(Arc::clone(&self.cell))
    }

    /// Returns the current state, which later writes do not change.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot<K>> {
        self.cell.snapshot()
    }

    /// Returns the object with this key: a [`Key`], `"namespace/name"` or `("namespace", "name")`.
    pub fn get<'k>(&self, key: impl Into<KeyRef<'k>>) -> Option<Arc<K>> {
        self.cell.load().get(key)
    }

    /// Returns the number of objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cell.load().len()
    }

    /// Returns whether there are no objects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns all objects, in no particular order.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<K>> {
        self.snapshot().list()
    }

    /// Returns all keys, in no particular order.
    #[must_use]
    pub fn keys(&self) -> Vec<Key> {
        self.snapshot().keys()
    }

    /// Returns the objects of a namespace, using the namespace index.
    #[must_use]
    pub fn in_namespace(&self, namespace: &str) -> Vec<Arc<K>> {
        self.snapshot().in_namespace(namespace).map(Entry::object).collect()
    }

    /// Returns the objects that have `value` in the index `index`; empty if there are none.
    ///
    /// # Errors
    /// [`UnknownIndexError`] if there is no such index.
    pub fn by_index(&self, index: &str, value: &str) -> Result<Vec<Arc<K>>, UnknownIndexError> {
        self.snapshot().by_index(index, value)
    }

    /// Returns the values of all objects in the index `index`, sorted.
    ///
    /// # Errors
    /// [`UnknownIndexError`] if there is no such index.
    pub fn index_values(&self, index: &str) -> Result<Vec<Arc<str>>, UnknownIndexError> {
        self.snapshot().index_values(index)
    }

    /// Adds a named index to a store in use. When this returns, the index contains all objects.
    ///
    /// # Errors
    /// [`IndexConflictError`] if there is an index with this name.
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
    /// pod.spec.get_or_insert_default().node_name = Some("node-1".into());
    /// writer.edit().insert(Arc::new(pod))?;
    ///
    /// store.add_index("node", |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.clone()))?;
    /// assert_eq!(store.by_index("node", "node-1")?.len(), 1);
    /// # Ok(()) }
    /// ```
    pub fn add_index<F, I, V>(&self, name: &str, function: F) -> Result<(), IndexConflictError>
    where
        F: Fn(&K) -> I + Send + Sync + 'static,
        I: IntoIterator<Item = V>,
        V: AsRef<str>,
    {
        self.cell.add_index(name, IndexSource::function(function))
    }

    /// Adds a named index of the values of a field to a store in use; see [`StoreBuilder::index_path`]. When this returns, the
    /// index contains all objects.
    ///
    /// # Errors
    /// [`IndexConflictError`] if there is an index with this name.
    pub fn add_index_path(&self, name: &str, path: FieldPath) -> Result<(), IndexConflictError>
    where
        K: FieldValues,
    {
        self.cell.add_index(name, IndexSource::path(path))
    }

    /// Returns the number of panics in index functions.
    #[must_use]
    pub fn index_panics(&self) -> u64 {
        self.cell.panics.count()
    }

    /// Returns the resource version of the store; `None` before the first write.
    #[must_use]
    pub fn version(&self) -> Option<ResourceVersion> {
        self.cell.load().version().cloned()
    }

    /// Waits until the store contains all changes up to `version`, so that a client can read its own writes.
    ///
    /// # Errors
    /// [`WaitError::Closed`] if the writer is dropped first, [`WaitError::Incomparable`] if the versions of this server
    /// have no order.
    ///
    /// # Cancel safety
    /// This method is cancel safe.
    pub async fn wait_for(&self, version: &ResourceVersion) -> Result<(), WaitError> {
        loop {
            let mut changed = pin!(self.cell.changed());
            changed.as_mut().enable();
            // Read before the version: a writer may publish this version and then be dropped.
            let is_closed = self.cell.is_closed();
            if let Some(held) = self.version() {
                match held.partial_cmp(version) {
                    Some(std::cmp::Ordering::Less) => {}
                    Some(_) => return Ok(()),
                    None => return Err(WaitError::Incomparable { wanted: version.clone(), held }),
                }
            }
            if is_closed {
                let resource = self.cell.resource.clone();
                return Err(WaitError::Closed { resource, wanted: version.clone() });
            }
            changed.await;
        }
    }
}

impl<K> Store<K> {
    /// Waits until the store contains all changes up to `version`, at most for `timeout`; otherwise as
    /// [`wait_for`](Self::wait_for).
    ///
    /// # Errors
    /// [`WaitError::TimedOut`] after the timeout, and the errors of [`wait_for`](Self::wait_for).
    pub async fn wait_for_within(
        &self,
        version: &ResourceVersion,
        timeout: Duration,
    ) -> Result<(), WaitError> {
        match tokio::time::timeout(timeout, self.wait_for(version)).await {
            Ok(result) => result,
            Err(_) => {
                let resource = self.cell.resource.clone();
                Err(WaitError::TimedOut { resource, wanted: version.clone(), timeout })
            }
        }
    }
}

impl<K: Resource> Store<K> {
    /// Returns the objects that share a value of an index with `object`; see [`Snapshot::by_index_of`].
    ///
    /// # Errors
    /// [`UnknownIndexError`] if there is no such index.
    #[doc(alias = "Index")]
    pub fn by_index_of(&self, index: &str, object: &K) -> Result<Vec<Arc<K>>, UnknownIndexError> {
        self.snapshot().by_index_of(index, object)
    }

    /// Returns the objects whose labels match. [`Snapshot::matching`] documents which objects are decoded.
    #[must_use]
    pub fn matching(&self, labels: &LabelSelector) -> Vec<Arc<K>> {
        self.snapshot().matching(labels)
    }

    /// Returns the keys of the objects whose labels match, in no particular order. [`Snapshot::matching_entries`] documents which
    /// objects are decoded.
    #[must_use]
    pub fn matching_keys(&self, labels: &LabelSelector) -> Vec<Key> {
        self.snapshot().matching_entries(labels).map(|entry| entry.key().clone()).collect()
    }
}

impl<K: Resource + Send + Sync + 'static> Store<K> {
    /// Returns the objects of this store, for an ingest stage that reuses them.
    pub(crate) fn known_objects(&self) -> Arc<dyn KnownObjects<K>> {
        Arc::clone(&self.cell) as _
    }
}

impl<K> fmt::Debug for Store<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("cell", &self.cell).finish()
    }
}

impl<K> Clone for Store<K> {
    fn clone(&self) -> Self {
        Self { cell: Arc::clone(&self.cell) }
    }
}
