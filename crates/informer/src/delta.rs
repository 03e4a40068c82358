//! Changes on their way into a cache.

use crate::object::Object;
use kube_informer_wire::{Key, ResourceVersion};
use tokio::time::Instant;

/// One change of one object, as the source reported it.
///
/// A cache compares it with the stored object: `Added` of a stored object is an update, and `Deleted` of a missing one does nothing.
#[derive(Debug, PartialEq, Eq)]
pub enum Delta<K> {
    /// The object was created, as far as the source knows.
    Added(Key, Object<K>),
    /// The object changed.
    Updated(Key, Object<K>),
    /// The object was deleted; with its final state, if that was observed and could be decoded.
    Deleted(Key, Option<Object<K>>),
    /// The object exists and changed, but could not be ingested. A cache keeps the state it has, which is outdated.
    Skipped(Key),
}

/// Changes that are applied together, in order.
#[derive(Debug)]
pub struct DeltaBatch<K> {
    /// The changes, in the order of the watch.
    pub deltas: Vec<Delta<K>>,
    /// The version of the cache after this batch; `None` if the batch does not change it.
    pub version: Option<ResourceVersion>,
    /// When the first of the changes was received.
    pub received: Instant,
}

impl<K> Delta<K> {
    /// The key of the object.
    #[must_use]
    pub fn key(&self) -> &Key {
        match self {
            Self::Added(key, _) | Self::Updated(key, _) | Self::Deleted(key, _) | Self::Skipped(key) => key,
        }
    }
}

impl<K> DeltaBatch<K> {
    /// Creates a batch without changes.
    #[must_use]
    pub fn new(received: Instant) -> Self {
        Self { deltas: Vec::new(), version: None, received }
    }
}
