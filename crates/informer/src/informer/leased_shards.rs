//! The leases that an informer follows.
//!
//! Without the feature `leases`, the type has no values.

use crate::source::HashedField;

/// The leases that an informer follows, and the field of its objects that is hashed.
#[cfg(feature = "leases")]
#[derive(Clone, Debug)]
pub(super) struct LeasedShards {
    pub(super) leases: kube_leases::Leases,
    field: HashedField,
}

#[cfg(feature = "leases")]
impl LeasedShards {
    /// Creates the shards of objects with the field that the leases hash. A leader holds everything.
    pub(super) fn new(leases: &kube_leases::Leases) -> Self {
        let field = match leases.shard_key() {
            Some(kube_leases::ShardKey::Uid) => HashedField::Uid,
            _ => HashedField::Namespace,
        };
        Self { leases: leases.clone(), field }
    }

    /// Creates the shards of objects that objects in these shards own. Owned objects are in the namespace of their owner.
    pub(super) fn owned(&self) -> Self {
        let field = match self.field {
            HashedField::Uid | HashedField::OwnerUid => HashedField::OwnerUid,
            HashedField::Namespace => HashedField::Namespace,
        };
        Self { leases: self.leases.clone(), field }
    }

    pub(super) fn field(&self) -> HashedField {
        self.field
    }
}

/// Compared by the registry.
#[cfg(feature = "leases")]
impl std::fmt::Display for LeasedShards {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} of {} of {}", self.field, self.leases.identity(), self.leases.name())
    }
}

/// The leases that an informer follows.
#[cfg(not(feature = "leases"))]
#[derive(Clone, Copy, Debug)]
pub(super) enum LeasedShards {}

#[cfg(not(feature = "leases"))]
impl LeasedShards {
    pub(super) fn field(self) -> HashedField {
        match self {}
    }
}

#[cfg(not(feature = "leases"))]
impl std::fmt::Display for LeasedShards {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {}
    }
}
