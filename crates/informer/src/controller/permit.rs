//! Whether this process may reconcile a key.
//!
//! Replicas that share the keys of a controller decide it by leases.

use super::reconciler::Attempt;
use crate::boxed::BoxFuture;
use kube_informer_wire::Key;

/// Decides which keys this process reconciles.
pub(super) trait Permits: Send + Sync {
    /// Returns whether a reconcile of this key may start.
    fn permit(&self, key: &Key) -> Permission;

    /// Records the uid of an object that was deleted, so that a reconcile of its key can be assigned to a shard.
    fn deleted(&self, key: &Key, uid: Option<&str>);
}

/// Whether a reconcile may start.
#[cfg_attr(not(feature = "leases"), allow(dead_code, reason = "only leases restrict reconciles"))]
pub(super) enum Permission {
    Granted(Box<dyn Permit>),
    /// Another process reconciles the key.
    Denied,
    /// The key is added to the queue again when the caches are complete.
    Deferred,
}

/// Runs a reconcile while it is permitted.
pub(super) trait Permit: Send + Sync {
    /// Returns `None` if the reconcile was dropped because it was not permitted any more.
    fn run<'a>(&'a self, reconcile: BoxFuture<'a, Attempt>) -> BoxFuture<'a, Option<Attempt>>;
}
