//! The reason of a reconcile.

use kube_informer_wire::Key;
use std::{fmt, sync::Arc};

/// Why a key is reconciled. If there are several reasons, the first one since the last reconcile.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "ReconcileReason")]
pub enum Reason {
    /// The object was part of the initial list.
    Initial,
    /// The object was added, changed or deleted.
    Changed,
    /// The object was delivered again by a resync.
    Resync,
    /// An object of another informer was added, changed or deleted.
    // Behind a pointer, because every queued key has a reason.
    RelatedChanged(Arc<RelatedObject>),
    /// A stream of [`reconcile_on`](super::Controller::reconcile_on) returned the key.
    Stream,
    /// A stream of [`reconcile_all_on`](super::Controller::reconcile_all_on) returned an item.
    All,
    /// [`ControllerHandle::trigger`](super::ControllerHandle::trigger) was called.
    Triggered,
    /// The lease of the key's shard, or of the leader, was acquired.
    Acquired,
    /// The last reconcile returned [`Action::requeue`](super::Action::requeue).
    Requeue,
    /// The last reconcile failed.
    Retry,
}

/// An object of another informer than that of the reconciled objects.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RelatedObject {
    /// The name of the informer.
    pub informer: Arc<str>,
    /// The key of the object.
    pub key: Key,
}

impl Reason {
    /// The priority of the initial list, of resyncs, of acquired leases and of `reconcile_all_on`. All other reasons have priority 0.
    const LOW_PRIORITY: i32 = -1;

    pub(super) fn priority(&self) -> i32 {
        match self {
            Self::Initial | Self::Resync | Self::All | Self::Acquired => Self::LOW_PRIORITY,
            Self::Changed
            | Self::RelatedChanged(_)
            | Self::Stream
            | Self::Triggered
            | Self::Requeue
            | Self::Retry => 0,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Initial => f.write_str("initial list"),
            Self::Changed => f.write_str("object changed"),
            Self::Resync => f.write_str("resync"),
            Self::RelatedChanged(related) => write!(f, "{} {} changed", related.informer, related.key),
            Self::Stream => f.write_str("requested by a stream"),
            Self::All => f.write_str("all objects requested"),
            Self::Triggered => f.write_str("triggered"),
            Self::Acquired => f.write_str("lease acquired"),
            Self::Requeue => f.write_str("requeue"),
            Self::Retry => f.write_str("retry"),
        }
    }
}
