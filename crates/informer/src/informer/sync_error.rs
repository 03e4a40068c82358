//! The error of an informer that has not synced.

use kube_core::Status;
use kube_informer_wire::{Key, StatusExt};

/// The reason why an informer has not synced, or not completely.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SyncError {
    /// The server refuses the request, for example without permission. The informer keeps retrying.
    #[error("cannot list {resource}{}: server returned {}: {}", in_namespace(namespace.as_deref()), status.code, status.message)]
    #[non_exhaustive]
    Refused {
        /// The kind, such as `apps/v1 Deployment`.
        resource: String,
        /// The namespace; `None` for all namespaces.
        namespace: Option<String>,
        /// The response of the server.
        status: Box<Status>,
    },
    /// The cache is complete except for objects that could not be decoded or transformed. Their previous versions stay in the
    /// cache.
    #[error("{resource} synced without {}: {first}", count(keys))]
    #[non_exhaustive]
    Skipped {
        /// The kind.
        resource: String,
        /// The objects.
        keys: Vec<Key>,
        /// The error of the first of these objects. At most 256 errors are recorded.
        first: String,
    },
    /// The restored state is of another cluster. The informer has stopped.
    #[error(
        "{resource} was saved for cluster {saved}, but this is cluster {found}; use another folder, or `Save::start_over`"
    )]
    #[non_exhaustive]
    OtherCluster {
        /// The kind.
        resource: String,
        /// The uid of the saved cluster.
        saved: String,
        /// The uid of this cluster.
        found: String,
    },
    /// The informer was not started, so that it would never sync.
    #[error("informer of {resource} was not started; call `start` first")]
    #[non_exhaustive]
    NotStarted {
        /// The kind.
        resource: String,
    },
    /// The informer was stopped, or the handler was removed.
    #[error("{resource} was stopped before it had synced")]
    #[non_exhaustive]
    Stopped {
        /// The kind.
        resource: String,
    },
}

impl SyncError {
    /// Returns true if the credentials were rejected: 401.
    #[must_use]
    pub fn is_unauthorized(&self) -> bool {
        self.as_status().is_some_and(StatusExt::is_unauthorized_status)
    }

    /// Returns true if a permission is missing: 403.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        self.as_status().is_some_and(StatusExt::is_forbidden_status)
    }

    /// Returns true if the server does not serve the resource: 404, for example before its CustomResourceDefinition exists.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.as_status().is_some_and(StatusExt::is_not_found_status)
    }

    /// Returns true if the cache is complete except for skipped objects.
    #[must_use]
    pub fn is_skipped(&self) -> bool {
        matches!(self, Self::Skipped { .. })
    }

    /// Returns true if the informer was stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        matches!(self, Self::Stopped { .. })
    }

    /// Returns true if the informer was not started.
    #[must_use]
    pub fn is_not_started(&self) -> bool {
        matches!(self, Self::NotStarted { .. })
    }

    /// Returns the response of the server, if it refused the request.
    #[must_use]
    pub fn as_status(&self) -> Option<&Status> {
        match self {
            Self::Refused { status, .. } => Some(status),
            Self::Skipped { .. }
            | Self::OtherCluster { .. }
            | Self::NotStarted { .. }
            | Self::Stopped { .. } => None,
        }
    }
}

fn in_namespace(namespace: Option<&str>) -> String {
    namespace.map(|namespace| format!(" in namespace {namespace}")).unwrap_or_default()
}

fn count(keys: &[Key]) -> String {
    match keys {
        [key] => format!("{key}, which was skipped"),
        keys => format!("{} objects, which were skipped", keys.len()),
    }
}
