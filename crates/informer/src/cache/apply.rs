//! Deltas meet the store, and events come out.

use super::writer::{Change, Edit, Step, Writer};
use crate::event::Event;
use crate::{
    cache::Entry as StoreEntry,
    delta_fifo::{Applied, Batch, Delta, Deltas, Entry},
};
use kube_core::Resource;
use std::sync::Arc;

/// Applies a batch to the store in one step, and appends what handlers are to be told, in order.
///
/// When this returns, readers see the whole batch. Say [`done`](Applied::done) when the events have been handed on: from
/// then on the queue [has synced](crate::delta_fifo::DeltaFifo::has_synced).
pub fn apply<K: Resource>(batch: Batch<K>, writer: &mut Writer<K>, events: &mut Vec<Event<K>>) -> Applied {
    apply_within(Extent::Everything, batch, writer, events)
}

/// What a list speaks of: nothing outside of it is taken for gone.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Extent<'e> {
    /// All there is.
    Everything,
    /// The objects of one namespace.
    Namespace(&'e str),
}

impl<'e> Extent<'e> {
    fn namespace(self) -> Option<&'e str> {
        match self {
            Self::Everything => None,
            Self::Namespace(namespace) => Some(namespace),
        }
    }

    fn is_empty<K>(self, edit: &Edit<'_, K>) -> bool {
        match self {
            Self::Everything => edit.is_empty(),
            Self::Namespace(namespace) => edit.is_empty_in(namespace),
        }
    }
}

/// Hears what a batch did, in order.
pub(crate) trait Tell<K> {
    /// Something changed.
    fn change(&mut self, event: Event<K>);

    /// Something known is told again, in the state that is known.
    fn again(&mut self, event: Event<K>);

    /// This is what there was at first.
    fn initial(&mut self, entries: Vec<Arc<StoreEntry<K>>>);
}

impl<K> Tell<K> for Vec<Event<K>> {
    fn change(&mut self, event: Event<K>) {
        self.push(event);
    }

    fn again(&mut self, event: Event<K>) {
        self.push(event);
    }

    fn initial(&mut self, entries: Vec<Arc<StoreEntry<K>>>) {
        self.extend(entries.iter().map(|entry| Event::Added { object: entry.shared(), initial: true }));
    }
}

/// Applies a batch whose lists speak of so much.
pub(crate) fn apply_within<K: Resource>(
    extent: Extent<'_>,
    batch: Batch<K>,
    writer: &mut Writer<K>,
    told: &mut impl Tell<K>,
) -> Applied {
    let mut edit = writer.edit();
    for entry in batch.entries {
        match entry {
            Entry::Deltas(deltas) => apply_deltas(deltas, &mut edit, told),
            Entry::Replaced { listing, initial: true } if extent.is_empty(&edit) => {
                let version = listing.version.clone();
                told.initial(edit.fill(listing));
                if let (Extent::Everything, Some(version)) = (extent, version) {
                    edit.set_version(version);
                }
            }
            Entry::Replaced { listing, initial } => {
                edit.replace_within(extent.namespace(), listing, |step| tell_step(step, initial, told));
            }
            Entry::Resync => edit.objects().for_each(|object| told.again(Event::sync(object))),
            Entry::Bookmark | Entry::Resumed => {}
        }
    }
    if let Some(version) = batch.version {
        edit.set_version(version);
    }
    batch.applied
}

fn apply_deltas<K: Resource>(deltas: Deltas<K>, edit: &mut Edit<'_, K>, told: &mut impl Tell<K>) {
    let (key, deltas) = deltas.into_parts();
    for delta in deltas {
        match delta {
            // The store knows better than the source what is new to it.
            Delta::Added(object) | Delta::Updated(object) => {
                tell(edit.put(key.clone(), object), false, told);
            }
            Delta::Deleted(seen) => {
                if let Some(old) = edit.remove(&key) {
                    let observed = seen.is_some();
                    let last_known = seen.unwrap_or_else(|| old.clone());
                    told.change(Event::Deleted { old, last_known, observed });
                }
            }
        }
    }
}

fn tell_step<K: Resource>(step: Step<K>, initial: bool, told: &mut impl Tell<K>) {
    match step {
        Step::Removed(object) => {
            told.change(Event::Deleted { old: object.clone(), last_known: object, observed: false });
        }
        Step::Changed(change) => tell(change, initial, told),
    }
}

fn tell<K: Resource>(change: Change<K>, initial: bool, told: &mut impl Tell<K>) {
    match change {
        Change::Added(object) => told.change(Event::Added { object, initial }),
        Change::Updated { old, new } if old.is_same_state(&new) => told.again(Event::Updated { old, new }),
        Change::Updated { old, new } => told.change(Event::Updated { old, new }),
        Change::Unchanged(object) => told.again(Event::sync(object)),
    }
}
