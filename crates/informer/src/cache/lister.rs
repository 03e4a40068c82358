//! Reads by namespace and label selector, as client-go's listers do.

use super::cell::Cell;
use kube_core::Resource;
use kube_informer_wire::{KeyRef, LabelSelector};
use std::{fmt, sync::Arc};

/// Reads a [`Store`](super::Store) by namespace and label selector.
///
/// ```
/// # use kube_informer::cache::Store;
/// # use k8s_openapi::api::core::v1::Pod;
/// # let (store, _writer) = Store::<Pod>::builder().resource("pods").build()?;
/// let missing = store.lister().namespace("web").get("front-1").unwrap_err();
/// assert_eq!(missing.to_string(), r#"pods "web/front-1" not found"#);
/// # Ok::<(), kube_informer::cache::IndexConflictError>(())
/// ```
pub struct Lister<K> {
    cell: Arc<Cell<K>>,
    namespace: Option<String>,
}

/// There is no such object in the cache.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{resource} {key:?} not found")]
pub struct NotFoundError {
    /// The name of the resource.
    pub resource: String,
    /// The requested key.
    pub key: String,
}

impl<K> Lister<K> {
    pub(super) fn new(cell: Arc<Cell<K>>) -> Self {
        Self { cell, namespace: None }
    }

    /// Returns a lister of one namespace, or of all namespaces if `namespace` is empty.
    #[must_use]
    pub fn namespace(&self, namespace: &str) -> Self {
        let namespace = Some(namespace.to_owned()).filter(|namespace| !namespace.is_empty());
        Self { cell: Arc::clone(&self.cell), namespace }
    }

    /// Returns the object with this name in the namespace of this lister. If the lister has no namespace, `name` is a full key.
    ///
    /// # Errors
    /// [`NotFoundError`] if there is no such object.
    pub fn get(&self, name: &str) -> Result<Arc<K>, NotFoundError> {
        let key: KeyRef<'_> = match &self.namespace {
            Some(namespace) => (namespace.as_str(), name).into(),
            None => name.into(),
        };
        let not_found = || NotFoundError { resource: self.cell.resource.clone(), key: key.to_string() };
        self.cell.load().get(key).ok_or_else(not_found)
    }
}

impl<K: Resource> Lister<K> {
    /// Returns the objects whose labels match, in no particular order.
    #[must_use]
    pub fn list(&self, labels: &LabelSelector) -> Vec<Arc<K>> {
        let snapshot = self.cell.snapshot();
        match &self.namespace {
            None => snapshot.matching(labels),
            Some(_) if labels.is_nothing() => Vec::new(),
            Some(namespace) => snapshot.select(snapshot.in_namespace(namespace), labels),
        }
    }
}

impl<K> fmt::Debug for Lister<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lister")
            .field("resource", &self.cell.resource)
            .field("namespace", &self.namespace)
            .finish()
    }
}
