//! What a consumer takes at a time.

use super::queue::Entry;
use kube_informer_wire::ResourceVersion;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Entries that were popped together.
#[derive(Debug)]
pub struct Batch<K> {
    /// The entries, in order.
    pub entries: Vec<Entry<K>>,
    /// Up to which version all that arrived is in this batch or an earlier one.
    pub version: Option<ResourceVersion>,
    /// To be dropped when the entries have been applied.
    pub applied: Applied,
}

/// Says, when dropped, that a batch has been applied; see [`DeltaFifo::has_synced`](super::DeltaFifo::has_synced).
#[derive(Debug)]
#[must_use = "dropping this says that the batch has been applied"]
pub struct Applied(pub(super) Option<Arc<AtomicBool>>);

impl Drop for Applied {
    fn drop(&mut self) {
        if let Some(mark) = self.0.take()
            && !std::thread::panicking()
        {
            mark.store(true, Ordering::Release);
        }
    }
}
