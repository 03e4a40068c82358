//! Reading by namespace and selector, with an error that names what was not found.

use super::cell::Cell;
use kube_core::Resource;
use kube_informer_wire::{KeyRef, LabelSelector};
use std::{fmt, sync::Arc};

/// A reader of a [`Store`](super::Store), of all namespaces or of one.
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

/// The cache holds no such object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{resource} {key:?} not found")]
pub struct NotFoundError {
    /// What was looked through.
    pub resource: String,
    /// What was looked for.
    pub key: String,
}

impl<K> Lister<K> {
    pub(super) fn new(cell: Arc<Cell<K>>) -> Self {
        Self { cell, namespace: None }
    }

    /// Restricts to one namespace; the empty one means all.
    #[must_use]
    pub fn namespace(&self, namespace: &str) -> Self {
        let namespace = Some(namespace.to_owned()).filter(|namespace| !namespace.is_empty());
        Self { cell: Arc::clone(&self.cell), namespace }
    }

    /// The object with this name, in the namespace of this lister if it has one; otherwise `name` is a whole key.
    ///
    /// # Errors
    /// [`NotFoundError`], with the kind and the key that was looked for.
    pub fn get(&self, name: &str) -> Result<Arc<K>, NotFoundError> {
        let key: KeyRef<'_> = match &self.namespace {
            Some(namespace) => (namespace.as_str(), name).into(),
            None => name.into(),
        };
        let not_found = || NotFoundError { resource: self.cell.resource.clone(), key: key.to_string() };
        self.cell.peek().get(key).ok_or_else(not_found)
    }
}

impl<K: Resource> Lister<K> {
    /// The objects whose labels match, by the namespace index where there is a namespace.
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
