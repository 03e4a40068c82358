//! The many hands that read a store.

use super::{
    cell::Cell,
    entry::Entry,
    index::{IndexConflictError, Indexes, UnknownIndexError, calling_back},
    lister::Lister,
    snapshot::Snapshot,
    writer::Writer,
};
use crate::{ingest::KnownObjects, labels::CachedLabels};
use kube_core::Resource;
use kube_informer_wire::{Key, KeyRef, LabelSelector, ResourceVersion};
use std::{fmt, pin::pin, sync::Arc};

/// A local, indexed copy of a resource. Cheap to clone; reads take no lock and hold up nobody.
///
/// Each method reads the state of one moment. Where several reads must agree, take a [`snapshot`](Self::snapshot).
///
/// An [`Informer`](crate::Informer) reads like the store that it fills. One can also be filled by hand:
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
/// let before = store.snapshot(); // one moment, for as long as it is held
/// writer.edit().remove("shop/front-1");
/// assert!(store.get("shop/front-1").is_none() && before.get("shop/front-1").is_some());
/// # Ok(()) }
/// ```
pub struct Store<K> {
    cell: Arc<Cell<K>>,
}

/// Makes a [`Store`] and its [`Writer`].
#[derive(Debug)]
#[must_use]
pub struct StoreBuilder<K> {
    resource: String,
    indexes: Indexes<K>,
    labels: Option<CachedLabels<K>>,
    conflict: Option<IndexConflictError>,
}

/// Why a version cannot be waited for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// The writer is gone, so the version will not come.
    #[error("store of {resource} closed before version {wanted} came")]
    Closed {
        /// What the store holds.
        resource: String,
        /// The version waited for.
        wanted: ResourceVersion,
    },
    /// The server's versions are not numbers, so none can be said to come after another.
    #[error("version {wanted} does not compare with the store's version {held}")]
    Incomparable {
        /// The version waited for.
        wanted: ResourceVersion,
        /// The version that the store has.
        held: ResourceVersion,
    },
}

impl<K> StoreBuilder<K> {
    /// Names what the store holds, for errors and logs. The default is the name of the Rust type.
    pub fn resource(mut self, name: impl Into<String>) -> Self {
        self.resource = name.into();
        self
    }

    /// Adds a named index: `function` says under which values an object stands.
    ///
    /// A panic in `function` is caught and counted, and leaves the object out of this index. It runs under the lock of the
    /// writer, so it must not change the store.
    pub fn index<F, I, V>(mut self, name: &str, function: F) -> Self
    where
        F: Fn(&K) -> I + Send + Sync + 'static,
        I: IntoIterator<Item = V>,
        V: AsRef<str>,
    {
        let added = self.indexes.add(name, calling_back(function));
        self.conflict = self.conflict.or(added.err());
        self
    }

    /// Whether index functions were added.
    pub(crate) fn has_indexes(&self) -> bool {
        self.indexes.have_functions()
    }

    /// Makes the store.
    ///
    /// # Errors
    /// [`IndexConflictError`] if a name was given twice.
    pub fn build(self) -> Result<(Store<K>, Writer<K>), IndexConflictError> {
        if let Some(conflict) = self.conflict {
            return Err(conflict);
        }
        let cell = Arc::new(Cell::new(self.resource, self.indexes, self.labels));
        Ok((Store { cell: Arc::clone(&cell) }, Writer::new(cell)))
    }
}

impl<K: Resource> StoreBuilder<K> {
    /// Keeps the labels of objects that are kept [compact](crate::Keep) beside them, so that [`matching`](Store::matching) decodes
    /// only what matches. Objects of the same labels share them. Of objects that are kept whole, labels are at hand anyway.
    pub fn cache_labels(mut self) -> Self {
        self.labels = Some(CachedLabels::new(None));
        self
    }

    /// The same for the labels of these names alone. A selector that asks for others too decodes what those do not rule out.
    pub fn cache_labels_named<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.labels = Some(CachedLabels::new(Some(names.into_iter().map(Into::into).collect())));
        self
    }
}

impl<K> Default for StoreBuilder<K> {
    fn default() -> Self {
        let path = std::any::type_name::<K>();
        // What a generic kind is about: `Pod` of `kube_core::metadata::PartialObjectMeta<k8s_openapi::..::Pod>`.
        let path = path.trim_end_matches('>');
        let resource = path.rsplit([':', '<']).next().unwrap_or(path).to_owned();
        Self { resource, indexes: Indexes::default(), labels: None, conflict: None }
    }
}

impl<K> Store<K> {
    /// Whether both are handles of one store.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.cell, &other.cell)
    }

    /// Begins a store.
    pub fn builder() -> StoreBuilder<K> {
        StoreBuilder::default()
    }

    /// The state of this moment, to read at leisure.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot<K>> {
        self.cell.snapshot()
    }

    /// The object with this key: a [`Key`], `"namespace/name"` or `("namespace", "name")`.
    pub fn get<'k>(&self, key: impl Into<KeyRef<'k>>) -> Option<Arc<K>> {
        self.cell.peek().get(key)
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cell.peek().len()
    }

    /// Whether there are no objects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All objects, in an order that means nothing.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<K>> {
        self.snapshot().list()
    }

    /// All keys, in an order that means nothing.
    #[must_use]
    pub fn keys(&self) -> Vec<Key> {
        self.snapshot().keys()
    }

    /// The objects of a namespace, without looking at any other.
    #[must_use]
    pub fn in_namespace(&self, namespace: &str) -> Vec<Arc<K>> {
        self.snapshot().in_namespace(namespace).map(Entry::object).collect()
    }

    /// The objects that stand under `value` in the index `index`, without looking at any other.
    ///
    /// # Errors
    /// [`UnknownIndexError`] if there is no such index. A value under which nothing stands is no error.
    pub fn by_index(&self, index: &str, value: &str) -> Result<Vec<Arc<K>>, UnknownIndexError> {
        self.snapshot().by_index(index, value)
    }

    /// The values of the index `index` under which at least one object stands, sorted.
    ///
    /// # Errors
    /// [`UnknownIndexError`] if there is no such index.
    pub fn index_values(&self, index: &str) -> Result<Vec<Arc<str>>, UnknownIndexError> {
        self.snapshot().index_values(index)
    }

    /// Adds a named index to a running store. When this returns, the index answers for all that is there.
    ///
    /// # Errors
    /// [`IndexConflictError`] if there is an index of that name.
    pub fn add_index<F, I, V>(&self, name: &str, function: F) -> Result<(), IndexConflictError>
    where
        F: Fn(&K) -> I + Send + Sync + 'static,
        I: IntoIterator<Item = V>,
        V: AsRef<str>,
    {
        self.cell.add_index(name, function)
    }

    /// How often an index function panicked.
    #[must_use]
    pub fn index_panics(&self) -> u64 {
        self.cell.panics.count()
    }

    /// Up to which version the server's changes are in the store; nothing before the first.
    #[must_use]
    pub fn version(&self) -> Option<ResourceVersion> {
        self.cell.peek().version().cloned()
    }

    /// Waits until everything up to `version` is in the store, so that one reads one's own writes.
    ///
    /// # Errors
    /// [`WaitError::Closed`] if the writer goes away first, [`WaitError::Incomparable`] if the versions of this server
    /// have no order.
    ///
    /// # Cancel safety
    /// Dropping the future leaves no trace.
    pub async fn wait_for(&self, version: &ResourceVersion) -> Result<(), WaitError> {
        loop {
            let mut moved = pin!(self.cell.moved());
            moved.as_mut().enable();
            // Asked first: a writer that publishes and then goes away has still published.
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
            moved.await;
        }
    }
}

impl<K: Resource> Store<K> {
    /// The objects whose labels match. See [`Snapshot::matching`] for what is decoded.
    #[must_use]
    pub fn matching(&self, labels: &LabelSelector) -> Vec<Arc<K>> {
        self.snapshot().matching(labels)
    }

    /// The keys of the objects whose labels match, in an order that means nothing. See [`Snapshot::matching_entries`] for what is
    /// decoded.
    #[must_use]
    pub fn matching_keys(&self, labels: &LabelSelector) -> Vec<Key> {
        self.snapshot().matching_entries(labels).map(|entry| entry.key().clone()).collect()
    }
}

impl<K: Resource + Send + Sync + 'static> Store<K> {
    /// The objects of this store, for an ingest stage that reuses them.
    pub(crate) fn known_objects(&self) -> Arc<dyn KnownObjects<K>> {
        Arc::clone(&self.cell) as _
    }
}

impl<K> Store<K> {
    /// A view with the questions of client-go's listers.
    #[must_use]
    pub fn lister(&self) -> Lister<K> {
        Lister::new(Arc::clone(&self.cell))
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
