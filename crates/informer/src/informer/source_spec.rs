//! A source of an informer before it is started.

use crate::source::{ListerWatcher, ShardSet};
use kube_informer_wire::ResourceVersion;
use std::sync::Arc;

/// A source of a new informer.
pub(super) struct SourceSpec<K> {
    pub(super) namespace: Option<String>,
    /// The shards that the source covers; `None` for all objects.
    pub(super) shards: Option<Arc<ShardSet>>,
    pub(super) source: Arc<dyn ListerWatcher<K>>,
    /// The version of the restored state.
    pub(super) restored: Option<ResourceVersion>,
    /// True if objects are missing in the restored state, so that a list is needed.
    pub(super) has_gaps: bool,
}

impl<K> SourceSpec<K> {
    pub(super) fn new(namespace: Option<String>, source: Arc<dyn ListerWatcher<K>>) -> Self {
        Self { namespace, shards: None, source, restored: None, has_gaps: false }
    }
}

/// Creates the source of one namespace, or of all namespaces.
pub(super) type NewSource<K> = Box<dyn Fn(Option<&str>) -> Arc<dyn ListerWatcher<K>> + Send + Sync>;

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

/// Returns true if this is a valid name of a namespace: a DNS label (RFC 1123).
pub(super) fn is_namespace(name: &str) -> bool {
    let is_alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = name.as_bytes();
    matches!(bytes.len(), 1..=63)
        && bytes.iter().all(|byte| is_alphanumeric(*byte) || *byte == b'-')
        && [bytes.first(), bytes.last()].into_iter().flatten().all(|byte| is_alphanumeric(*byte))
}
