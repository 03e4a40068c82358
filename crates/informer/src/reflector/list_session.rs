//! A full list while it is read, in pages or as a stream.

use super::{cursor::ListMethod, telemetry::ListStats};
use crate::{
    ingest::{Ingest, IngestedItem, ParallelIngest, RejectedError},
    object::{ItemError, ListedObject, Listing, RawObject},
};
use kube_core::Resource;
use kube_informer_wire::{Key, KeyMap, ResourceVersion, WatchEvent};
use tokio::time::Instant;

/// The objects of a list that were read so far.
///
/// A stream may change or delete objects before the list is complete. Pages do not, so that objects of pages are not indexed by
/// key.
pub(super) struct ListSession<K> {
    pub(super) stats: ListStats,
    ingest: Ingest<K>,
    pipeline: ParallelIngest<K>,
    objects: Vec<Option<(Key, ListedObject<K>)>>,
    /// The position of each object of a stream.
    positions: KeyMap<usize>,
    skipped: KeyMap<()>,
    rejected: Vec<RejectedError>,
}

impl<K: Resource + Send + Sync + 'static> ListSession<K> {
    pub(super) fn new(method: ListMethod, ingest: &Ingest<K>) -> Self {
        Self {
            stats: ListStats::new(method, Instant::now()),
            ingest: ingest.clone(),
            pipeline: ParallelIngest::new(ingest.clone()),
            objects: Vec::new(),
            positions: KeyMap::default(),
            skipped: KeyMap::default(),
            rejected: Vec::new(),
        }
    }

    /// Adds an item of a page.
    pub(super) fn item(&mut self, item: Result<RawObject<K>, ItemError>) {
        self.stats.item_received();
        match item {
            Ok(object) => self.pipeline.push(object),
            Err(cause) => self.reject(RejectedError::Undecodable { cause }),
        }
        self.collect_ready();
    }

    /// Adds an event of a stream.
    pub(super) fn event(&mut self, event: WatchEvent<RawObject<K>>, now: Instant) {
        self.stats.event_received(now);
        match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                self.stats.item_received();
                self.pipeline.push(object);
            }
            WatchEvent::Deleted(object) => self.pipeline.push_deleted(object),
            _ => {}
        }
        self.collect_ready();
    }

    /// Waits until all objects that were added are ingested.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, no object is lost.
    pub(super) async fn complete(&mut self) {
        self.pipeline.finish();
        while let Some(items) = self.pipeline.next().await {
            self.collect(items);
        }
    }

    fn collect_ready(&mut self) {
        while let Some(items) = self.pipeline.next_ready() {
            self.collect(items);
        }
    }

    fn collect(&mut self, items: Vec<IngestedItem<K>>) {
        for IngestedItem { is_deleted, result } in items {
            match result {
                Ok((key, _)) if is_deleted => self.remove(&key),
                Ok((key, object)) => self.put(key, object),
                Err(error) if is_deleted => {
                    if let Some(key) = error.key() {
                        self.remove(&key.clone());
                    }
                    self.rejected.push(error);
                }
                Err(error) => self.reject(error),
            }
        }
    }

    fn put(&mut self, key: Key, object: ListedObject<K>) {
        if self.stats.method == ListMethod::List {
            self.objects.push(Some((key, object)));
            return;
        }
        self.skipped.remove(&key);
        if let Some(position) = self.positions.get(&key) {
            self.objects[*position] = Some((key, object));
        } else {
            self.positions.insert(key.clone(), self.objects.len());
            self.objects.push(Some((key, object)));
        }
    }

    /// Removes an object that was deleted while the list was streamed.
    pub(super) fn remove(&mut self, key: &Key) {
        if let Some(position) = self.positions.remove(key) {
            self.objects[position] = None;
        }
        self.skipped.remove(key);
    }

    /// Adds an object that exists but cannot be ingested.
    fn reject(&mut self, error: RejectedError) {
        if let Some(key) = skipped_key(&error) {
            self.skipped.insert(key.clone(), ());
        }
        self.rejected.push(error);
    }

    /// Marks an object as skipped: it exists, so the cache must not delete it.
    pub(super) fn skip(&mut self, key: Key) {
        self.skipped.insert(key, ());
    }

    /// Takes the errors of objects that were skipped since the last call.
    pub(super) fn take_rejected(&mut self) -> Vec<RejectedError> {
        std::mem::take(&mut self.rejected)
    }

    /// Takes the complete list.
    pub(super) fn take_listing(&mut self, version: Option<ResourceVersion>) -> Listing<K> {
        let mut skipped: Vec<_> = std::mem::take(&mut self.skipped).into_keys().collect();
        skipped.sort_unstable_by(|one, other| one.as_str().cmp(other.as_str()));
        self.positions = KeyMap::default();
        let objects = std::mem::take(&mut self.objects).into_iter().flatten().collect();
        let mut listing = Listing { objects, skipped, version };
        self.ingest.list_completed(&mut listing);
        listing
    }
}

/// Returns the key of a listed object. An object with an unexpected kind is included, since it exists under this key.
fn skipped_key(error: &RejectedError) -> Option<&Key> {
    match error {
        RejectedError::Transform { key, .. } => Some(key),
        RejectedError::Undecodable { cause } => cause.key(),
        RejectedError::NoKey { .. } => None,
    }
}
