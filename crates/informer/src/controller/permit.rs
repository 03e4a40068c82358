//! Whether this process may reconcile a key.
//!
//! Replicas that share the keys of a controller decide it by leases.

use super::reconciler::Attempt;
use crate::boxed::BoxFuture;
use kube_core::ObjectMeta;
use kube_informer_wire::Key;
use tokio::time::Instant;

/// Decides which keys this process reconciles.
pub(super) trait Permits: Send + Sync {
    /// Returns whether a reconcile of this key may start.
    fn permit(&self, key: &Key) -> Permission;

    /// Returns true if [`deleted`](Self::deleted) and [`created`](Self::created) have an effect. They need decoded objects.
    fn needs_uids(&self) -> bool;

    /// Records an object that was deleted, so that a reconcile of its key can be assigned to a shard.
    fn deleted(&self, key: &Key, metadata: &ObjectMeta);

    /// Records an object that was added to the cache, and may have been created again.
    fn created(&self, key: &Key, metadata: &ObjectMeta);
}

/// Whether a reconcile may start.
#[cfg_attr(not(feature = "leases"), allow(dead_code, reason = "only leases restrict reconciles"))]
pub(super) enum Permission {
    Granted(Box<dyn Permit>),
    /// Another process reconciles the key.
    Denied,
    /// The key is added to the queue again when the caches are complete.
    Deferred,
    /// The key is taken again at this time, because another process may still reconcile it.
    Delayed(Instant),
}

/// Runs a reconcile while it is permitted.
pub(super) trait Permit: Send + Sync {
    /// Returns `None` if the reconcile was dropped because it was not permitted any more.
    fn run<'a>(&'a self, reconcile: BoxFuture<'a, Attempt>) -> BoxFuture<'a, Option<Attempt>>;
}
