//! A source of an informer before it is started.

use crate::source::ListerWatcher;
use kube_informer_wire::ResourceVersion;
use std::sync::Arc;

/// A source of a new informer.
pub(super) struct SourceSpec<K> {
    pub(super) namespace: Option<String>,
    pub(super) source: Arc<dyn ListerWatcher<K>>,
    /// The version of the restored state.
    pub(super) restored: Option<ResourceVersion>,
    /// True if objects are missing in the restored state, so that a list is needed.
    pub(super) has_gaps: bool,
}

impl<K> SourceSpec<K> {
    pub(super) fn new(namespace: Option<String>, source: Arc<dyn ListerWatcher<K>>) -> Self {
        Self { namespace, source, restored: None, has_gaps: false }
    }
}

/// A resource of an API server that an informer lists and watches.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServedResource {
    /// The API group; empty for the core group.
    pub group: String,
    /// The plural name, such as `deployments`.
    pub plural: String,
    /// The namespaces; `None` for all namespaces, and for cluster-scoped resources.
    pub namespaces: Option<Vec<String>>,
}
