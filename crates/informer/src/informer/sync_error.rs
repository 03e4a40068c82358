//! Why an informer has not synced.

use kube_core::Status;
use kube_informer_wire::{Key, StatusExt};

/// Why an informer has not synced, or not wholly.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SyncError {
    /// The server says no, and will until something is changed. The informer goes on asking.
    #[error("{resource}{} cannot be read: server answered {}: {}", within(namespace.as_deref()), status.code, status.message)]
    #[non_exhaustive]
    Refused {
        /// What was asked for, such as `apps/v1 Deployment`.
        resource: String,
        /// The namespace that was asked for; nothing where it was all of them.
        namespace: Option<String>,
        /// What the server said.
        status: Box<Status>,
    },
    /// The cache is complete but for objects that could not be read. What was known of them is kept.
    #[error("{resource} synced without {} that could not be read: {first}", count(keys))]
    #[non_exhaustive]
    Unreadable {
        /// What was asked for.
        resource: String,
        /// Which objects.
        keys: Vec<Key>,
        /// What was wrong with the first one.
        first: String,
    },
    /// What was restored is of another cluster. The informer has stopped.
    #[error(
        "{resource} was saved for cluster {saved}, and this is {found}; use another folder, or start over"
    )]
    #[non_exhaustive]
    OtherCluster {
        /// What was asked for.
        resource: String,
        /// The uid of the cluster that was saved.
        saved: String,
        /// The uid of this one.
        found: String,
    },
    /// The informer was stopped, or the follower was removed.
    #[error("{resource} was stopped before it had synced")]
    #[non_exhaustive]
    Stopped {
        /// What was asked for.
        resource: String,
    },
}

impl SyncError {
    /// Whether the credentials are not accepted: 401.
    #[must_use]
    pub fn is_unauthorized(&self) -> bool {
        self.as_status().is_some_and(StatusExt::says_unauthorized)
    }

    /// Whether the right is missing: 403.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        self.as_status().is_some_and(StatusExt::says_forbidden)
    }

    /// Whether the server does not know the resource: 404, such as for a custom resource that is not defined yet.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.as_status().is_some_and(StatusExt::says_not_found)
    }

    /// Whether only some objects are missing, because they could not be read.
    #[must_use]
    pub fn is_unreadable(&self) -> bool {
        matches!(self, Self::Unreadable { .. })
    }

    /// Whether it was stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        matches!(self, Self::Stopped { .. })
    }

    /// What the server said, if it said something.
    #[must_use]
    pub fn as_status(&self) -> Option<&Status> {
        match self {
            Self::Refused { status, .. } => Some(status),
            Self::Unreadable { .. } | Self::OtherCluster { .. } | Self::Stopped { .. } => None,
        }
    }
}

fn within(namespace: Option<&str>) -> String {
    namespace.map(|namespace| format!(" in namespace {namespace}")).unwrap_or_default()
}

fn count(keys: &[Key]) -> String {
    match keys {
        [key] => format!("{key}"),
        keys => format!("{} objects", keys.len()),
    }
}
