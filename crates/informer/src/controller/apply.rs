//! Deltas meet the store, and events come out.

use super::event::Event;
use crate::{
    fifo::{Applied, Batch, Delta, Deltas, Entry},
    store::{Change, Edit, Writer},
};
use kube_core::Resource;
use std::sync::Arc;

/// Applies a batch to the store in one step, and appends what handlers are to be told, in order.
///
/// When this returns, readers see the whole batch. Say [`done`](Applied::done) when the events have been handed on: from
/// then on the queue [has synced](crate::fifo::DeltaFifo::has_synced).
pub fn apply<K: Resource>(batch: Batch<K>, writer: &mut Writer<K>, events: &mut Vec<Event<K>>) -> Applied {
    let mut edit = writer.edit();
    for entry in batch.entries {
        match entry {
            Entry::Deltas(deltas) => apply_deltas(deltas, &mut edit, events),
            Entry::Replaced { listing, initial } => {
                let done = edit.replace(listing);
                events.extend(done.removed.into_iter().map(vanished));
                events.extend(done.changes.into_iter().map(|change| match event(change) {
                    Event::Added { object, .. } => Event::Added { object, initial },
                    told => told,
                }));
            }
            Entry::Resync => events.extend(edit.list().into_iter().map(Event::sync)),
            Entry::Bookmark => {}
        }
    }
    if let Some(version) = batch.version {
        edit.set_version(version);
    }
    batch.applied
}

fn apply_deltas<K: Resource>(deltas: Deltas<K>, edit: &mut Edit<'_, K>, events: &mut Vec<Event<K>>) {
    let (key, deltas) = deltas.into_parts();
    for delta in deltas {
        match delta {
            // The store knows better than the source what is new to it.
            Delta::Added(object) | Delta::Updated(object) => {
                events.push(event(edit.put(key.clone(), object)))
            }
            Delta::Deleted(seen) => {
                if let Some(old) = edit.remove(&key) {
                    let observed = seen.is_some();
                    let last_known = seen.unwrap_or_else(|| Arc::clone(&old));
                    events.push(Event::Deleted { old, last_known, observed });
                }
            }
        }
    }
}

/// The deletion of something that a list no longer shows.
fn vanished<K>(object: Arc<K>) -> Event<K> {
    Event::Deleted { old: Arc::clone(&object), last_known: object, observed: false }
}

fn event<K>(change: Change<K>) -> Event<K> {
    match change {
        Change::Added(object) => Event::Added { object, initial: false },
        Change::Updated { old, new } => Event::Updated { old, new },
        Change::Unchanged(object) => Event::sync(object),
    }
}
