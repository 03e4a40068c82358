//! Applies popped deltas to a store.

use super::{
    fifo::{Applied, Batch},
    queue::Entry,
};
use crate::{
    cache::{Scope, Writer},
    event::{Event, Phase},
};
use kube_core::Resource;

/// Applies a batch to a store in one step, and appends the events for handlers, in order.
///
/// When this returns, readers see the whole batch. Call [`done`](Applied::done) when the events have been handled: from then on the
/// queue [has synced](super::DeltaFifo::has_synced).
pub fn apply<K: Resource>(batch: Batch<K>, writer: &mut Writer<K>, events: &mut Vec<Event<K>>) -> Applied {
    let mut edit = writer.edit();
    for entry in batch.entries {
        match entry {
            Entry::Deltas(deltas) => {
                for delta in deltas {
                    edit.apply_to(delta, events);
                }
            }
            Entry::Replaced { listing, initial } => {
                let phase = if initial { Phase::Initial } else { Phase::Live };
                edit.replace_scope(Scope::All, listing, phase, events);
            }
            Entry::Resync => edit.resync(events),
            Entry::Bookmark | Entry::Resumed => {}
        }
    }
    if let Some(version) = batch.version {
        edit.set_version(version);
    }
    batch.applied
}
