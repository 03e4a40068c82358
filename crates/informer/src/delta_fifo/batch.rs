//! What a consumer takes at a time.

use super::queue::Entry;
use kube_informer_wire::ResourceVersion;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use tokio::time::Instant;

/// Entries that were popped together.
#[derive(Debug)]
pub struct Batch<K> {
    /// The entries, in order.
    pub entries: Vec<Entry<K>>,
    /// Up to which version all that arrived is in this batch or an earlier one.
    pub version: Option<ResourceVersion>,
    /// Whether nothing is left of what had arrived, so that with this batch the state is that of the version.
    pub is_complete: bool,
    /// Whether something of that state could not be read, and is missing or as it was before.
    pub has_gaps: bool,
    /// When the oldest of it arrived.
    pub received: Option<Instant>,
    /// To be called when the entries have been applied.
    pub applied: Applied,
}

/// Says, when [`done`](Self::done), that a batch has been applied; see [`DeltaFifo::has_synced`](super::DeltaFifo::has_synced).
#[derive(Debug)]
#[must_use = "the queue has not synced before this is said to be done"]
pub struct Applied(pub(super) Option<Arc<AtomicBool>>);

impl Applied {
    /// The batch has been applied, and whoever is to hear of it has been told. A batch that is lost on the way never
    /// counts.
    pub fn done(self) {
        if let Some(mark) = self.0 {
            mark.store(true, Ordering::Release);
        }
    }
}
