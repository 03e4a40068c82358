//! What there is to know after a batch, to save it or not.

use crate::cache::Snapshot;
use kube_informer_wire::ResourceVersion;
use std::sync::Arc;

/// The moment after a batch.
pub(in super::super) struct Moment<K> {
    /// The version of the source.
    pub(in super::super) version: Option<ResourceVersion>,
    /// Whether the cache is at that version, and not ahead of it in parts.
    pub(in super::super) is_complete: bool,
    /// Whether something of that version could not be read, and is missing or as it was before.
    pub(in super::super) has_gaps: bool,
    /// Whether the batch had a whole state in it.
    pub(in super::super) is_whole: bool,
    pub(in super::super) snapshot: Arc<Snapshot<K>>,
    /// Where the log is.
    pub(in super::super) position: u64,
    /// How much of it all those have handled who are told differences alone.
    pub(in super::super) handled: u64,
}
