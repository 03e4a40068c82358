//! Applies the lists and changes of a source to the cache, and publishes the events.

use super::{
    cache_state::CacheState,
    save::{AppliedState, Saver},
    status::Times,
    sync::SyncState,
};
use crate::{
    boxed::BoxError,
    cache::{Edit, Entry, EventSink, Scope},
    delta::{Delta, DeltaBatch},
    event::Phase,
    ingest::Ingest,
    object::{Listing, Object},
    reflector::Sink,
    source::ShardSet,
    subscription::Broadcaster,
};
use kube_core::Resource;
use kube_informer_wire::{Key, KeyMap, ResourceVersion};
use std::sync::Arc;
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

/// The sink of one source of an informer.
pub(super) struct CacheSink<K> {
    pub(super) source: usize,
    pub(super) coverage: Arc<SourceCoverage>,
    /// Cancelled when the source is removed or the informer is stopped.
    pub(super) cancel: CancellationToken,
    pub(super) ingest: Ingest<K>,
    pub(super) broadcaster: Arc<Broadcaster<K>>,
    pub(super) sync: Arc<SyncState>,
    pub(super) times: watch::Sender<Times>,
    /// True after the first list, and for a restored state.
    pub(super) has_listed: bool,
    /// The version of the source in the cache.
    pub(super) version: Option<ResourceVersion>,
    pub(super) outdated: OutdatedKeys,
    /// `None` if the cache is not saved.
    pub(super) saver: Option<Arc<Saver<K>>>,
}

/// Objects that are outdated in the cache because their newest version could not be ingested.
#[derive(Default)]
pub(super) struct OutdatedKeys {
    keys: KeyMap<()>,
    /// True if the number of keys exceeds [`MAX_OUTDATED`].
    overflowed: bool,
}

/// The maximum number of outdated keys that are recorded.
const MAX_OUTDATED: usize = 4096;

impl OutdatedKeys {
    fn insert(&mut self, key: Key) {
        if self.keys.len() < MAX_OUTDATED {
            self.keys.insert(key, ());
        } else {
            self.overflowed = true;
        }
    }

    fn update<K>(&mut self, delta: &Delta<K>) {
        match delta {
            Delta::Skipped(key) => self.insert(key.clone()),
            Delta::Added(key, _) | Delta::Updated(key, _) | Delta::Deleted(key, _) => {
                self.keys.remove(key);
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.keys.is_empty() && !self.overflowed
    }
}

/// The objects that a source covers.
pub(super) struct SourceCoverage {
    pub(super) namespace: Option<String>,
    pub(super) shards: Option<Arc<ShardSet>>,
}

impl SourceCoverage {
    pub(super) fn contains<K: Resource>(&self, entry: &Entry<K>) -> bool {
        let namespace = entry.key().namespace();
        self.namespace.as_deref().is_none_or(|own| namespace == Some(own))
            && self.shards.as_ref().is_none_or(|shards| shards.contains(namespace, || entry.object()))
    }

    fn replace<K: Resource>(
        &self,
        edit: &mut Edit<'_, K>,
        mut listing: Listing<K>,
        phase: Phase,
        events: &mut dyn EventSink<K>,
    ) {
        if self.shards.is_some() {
            listing.objects.retain(|(key, listed)| self.accepts_object(edit, key, &listed.object()));
            let contains = |entry: &Entry<K>| self.contains(entry);
            edit.replace_scope(Scope::Matching(&contains), listing, phase, events);
        } else {
            let scope = self.namespace.as_deref().map_or(Scope::All, Scope::Namespace);
            edit.replace_scope(scope, listing, phase, events);
        }
    }

    /// Returns whether a change of this source applies to the cache. Shards are checked again while the cache is locked, because
    /// they may have been lost since the change was received.
    fn accepts<K: Resource>(&self, edit: &Edit<'_, K>, delta: &Delta<K>) -> bool {
        match delta {
            _ if self.shards.is_none() => true,
            Delta::Added(key, object) | Delta::Updated(key, object) => self.accepts_object(edit, key, object),
            // The key may belong to an object that was created again in a shard of another source.
            Delta::Deleted(key, _) | Delta::Skipped(key) => {
                edit.find(key).is_some_and(|known| self.contains(known))
            }
        }
    }

    /// Returns whether an object replaces the stored one with the same key, if there is one. That may be an object that was created
    /// again in a shard of another source, whose watch is ahead.
    fn accepts_object<K: Resource>(&self, edit: &Edit<'_, K>, key: &Key, object: &Object<K>) -> bool {
        let Some(shards) = &self.shards else { return true };
        if !shards.contains(key.namespace(), || object.to_stored().object()) {
            return false;
        }
        edit.find(key).is_none_or(|known| {
            let version = || object.with(|object| object.meta().resource_version.as_deref()?.parse().ok());
            self.contains(known) || known.version() < version()
        })
    }
}

/// Whether the cache is complete after a change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChangeKind {
    /// A full list, or the changes since a restored state.
    List,
    /// A batch of this many changes.
    Batch(usize),
}

impl<K: Resource + Send + Sync + 'static> CacheSink<K> {
    /// Changes the cache, and publishes the events. Returns false if the source was removed or the informer is stopped.
    fn publish(
        &mut self,
        received: Instant,
        kind: ChangeKind,
        change: impl FnOnce(&mut Edit<'_, K>, &mut dyn EventSink<K>),
    ) -> bool {
        let published = self.broadcaster.publish(received, |writer, events| {
            // Checked while the cache is locked: objects of a source that was removed are not added again.
            if self.cancel.is_cancelled() {
                return false;
            }
            // Computed while the cache is locked, so that the version of several sources never decreases.
            let version = self.sync.version_reached(self.source, self.version.clone());
            let mut edit = match kind {
                ChangeKind::List => writer.edit(),
                ChangeKind::Batch(changes) => {
                    events.expect_changes(changes);
                    writer.batch()
                }
            };
            match &self.saver {
                Some(saver) => saver.record(events, |events| change(&mut edit, events)),
                None => change(&mut edit, events),
            }
            if let Some(version) = version {
                edit.set_version(version);
            }
            true
        });
        let is_published = published == Some(true);
        if let Some(saver) = self.saver.as_ref().filter(|_| is_published) {
            let handled = self.broadcaster.handled_position();
            saver.applied(AppliedState {
                version: self.version.clone(),
                has_gaps: !self.outdated.is_empty(),
                is_list: kind == ChangeKind::List,
                snapshot: self.broadcaster.snapshot(),
                position: self.broadcaster.log_end(),
                handled,
            });
            if self.broadcaster.is_final_position(handled) {
                saver.end();
            }
        }
        is_published
    }

    /// Records that a full list, or the changes since a restored state, were applied.
    fn listed(&mut self, skipped: Vec<Key>) {
        let now = Instant::now();
        let is_complete = self.sync.listed(self.source, skipped);
        if is_complete {
            self.broadcaster.mark_synced();
        }
        let is_readable = self.sync.cache_state() >= CacheState::Readable;
        self.times.send_modify(|times| {
            times.received = Some(now);
            times.synced = times.synced.or(is_complete.then_some(now));
            times.readable = times.readable.or(is_readable.then_some(now));
        });
        self.sync.notify();
    }
}

impl<K: Resource + Send + Sync + 'static> Sink<K> for CacheSink<K> {
    fn ingest(&self) -> Ingest<K> {
        self.ingest.clone()
    }

    async fn replace(&mut self, listing: Listing<K>) -> Result<(), BoxError> {
        self.broadcaster.wait_for_capacity().await;
        let phase = if self.has_listed { Phase::Live } else { Phase::Initial };
        self.has_listed = true;
        self.outdated = OutdatedKeys::default();
        for key in &listing.skipped {
            self.outdated.insert(key.clone());
        }
        self.version = listing.version.clone().or(self.version.take());
        let skipped = listing.skipped.clone();
        let coverage = Arc::clone(&self.coverage);
        let published = self.publish(Instant::now(), ChangeKind::List, |edit, events| {
            coverage.replace(edit, listing, phase, events);
        });
        if published {
            self.listed(skipped);
        }
        Ok(())
    }

    async fn apply(&mut self, batch: DeltaBatch<K>) -> Result<(), BoxError> {
        self.broadcaster.wait_for_capacity().await;
        for delta in &batch.deltas {
            self.outdated.update(delta);
        }
        let ingested = batch.deltas.iter().filter(|delta| !matches!(delta, Delta::Skipped(_)));
        self.sync.received(self.source, ingested.map(Delta::key));
        self.version = batch.version.or(self.version.take());
        let coverage = Arc::clone(&self.coverage);
        let published =
            self.publish(batch.received, ChangeKind::Batch(batch.deltas.len()), |edit, events| {
                for delta in batch.deltas {
                    if coverage.accepts(edit, &delta) {
                        edit.apply_to(delta, events);
                    }
                }
            });
        if published {
            self.times.send_modify(|times| times.received = Some(batch.received));
            self.sync.notify();
        }
        Ok(())
    }

    async fn resumed(&mut self) -> Result<(), BoxError> {
        if self.publish(Instant::now(), ChangeKind::List, |_, _| {}) {
            self.listed(Vec::new());
        }
        Ok(())
    }

    /// Does nothing, since the broadcaster resyncs each subscriber.
    async fn resync(&mut self) -> Result<(), BoxError> {
        Ok(())
    }
}
