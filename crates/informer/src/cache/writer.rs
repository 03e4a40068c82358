//! The writer of a store.

use super::{
    cell::{Cell, Draft, Extent},
    entry::Entry,
    snapshot::Snapshot,
};
use crate::{
    boxed::BoxError,
    delta::{Delta, DeltaBatch},
    event::{Deletion, Event, Phase, UpdateCause},
    ingest::{Ingest, KnownObjects},
    object::{ListedObject, Listing, Object},
    reflector::Sink,
};
use kube_core::Resource;
use kube_informer_wire::{Key, KeyError, KeyHasher, KeyRef, ResourceVersion};
use std::{collections::HashSet, fmt, hash::BuildHasherDefault, sync::Arc};

/// Changes a [`Store`](super::Store). Each store has one; dropping it ends [`wait_for`].
///
/// As a [`Sink`] of a reflector it fills a store without subscribers (client-go's `NewNamespaceKeyedIndexerAndReflector`).
///
/// [`wait_for`]: super::Store::wait_for
pub struct Writer<K> {
    cell: Arc<Cell<K>>,
    ingest: Ingest<K>,
}

/// A set of changes that become visible to readers together when this is dropped.
///
/// If it is dropped by a panic, the changes are discarded.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_informer::cache::Store;
/// use std::sync::Arc;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (store, mut writer) = Store::builder().build()?;
/// let mut edit = writer.edit();
/// for name in ["front-1", "front-2"] {
///     let mut pod = Pod::default();
///     pod.metadata.name = Some(name.into());
///     edit.insert(Arc::new(pod))?;
/// }
/// assert!(store.is_empty());
/// drop(edit);
/// assert_eq!(store.len(), 2);
/// # Ok(()) }
/// ```
#[must_use = "the changes are published when this is dropped"]
pub struct Edit<'w, K> {
    pub(super) draft: Draft<'w, K>,
}

/// The part of a resource that a list covers. Objects outside of it are not deleted.
pub(crate) enum Scope<'s, K> {
    All,
    Namespace(&'s str),
    /// The objects for which the function returns true.
    Matching(&'s dyn Fn(&Entry<K>) -> bool),
}

impl<K> Clone for Scope<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Scope<'_, K> {}

/// Receives the events of an edit, in order.
pub(crate) trait EventSink<K> {
    /// An object changed.
    fn changed(&mut self, event: Event<K>);

    /// An object is delivered again, unchanged.
    fn resynced(&mut self, entry: &Entry<K>);

    /// These objects are the initial list.
    fn initial_list(&mut self, entries: Vec<Arc<Entry<K>>>);
}

impl<K> EventSink<K> for Vec<Event<K>> {
    fn changed(&mut self, event: Event<K>) {
        self.push(event);
    }

    fn resynced(&mut self, entry: &Entry<K>) {
        self.push(entry.resynced());
    }

    fn initial_list(&mut self, entries: Vec<Arc<Entry<K>>>) {
        let added = |entry: &Arc<Entry<K>>| Event::added(entry.key().clone(), entry.shared(), Phase::Initial);
        self.extend(entries.iter().map(added));
    }
}

impl<K> Writer<K> {
    pub(super) fn new(cell: Arc<Cell<K>>, ingest: Ingest<K>) -> Self {
        Self { cell, ingest }
    }

    /// Returns the objects of the store, for an ingest stage that reuses them.
    pub(crate) fn known_objects(&self) -> Arc<dyn KnownObjects<K>>
    where
        K: Resource + Send + Sync + 'static,
    {
        Arc::clone(&self.cell) as _
    }

    /// Starts a change, which is published when the edit is dropped. If that is by a panic, the change is discarded.
    pub fn edit(&mut self) -> Edit<'_, K> {
        Edit { draft: self.cell.draft() }
    }

    /// Starts a change of a few objects, for which a reader may wait. Many such changes are faster than many [edits](Self::edit)
    /// if the store is read rarely.
    pub(crate) fn batch(&mut self) -> Edit<'_, K> {
        Edit { draft: self.cell.batch() }
    }

    /// Returns the number of objects and the version.
    pub(crate) fn extent(&self) -> Extent {
        self.cell.extent()
    }

    /// Returns the address of the root of the objects.
    #[cfg(test)]
    pub(super) fn working_root(&mut self) -> usize {
        self.cell.working_root()
    }

    /// Removes the object with this key; otherwise as [`Edit::remove`].
    pub fn remove<'k>(&mut self, key: impl Into<KeyRef<'k>>) -> Option<Object<K>> {
        self.batch().remove(key)
    }
}

impl<K: Resource> Writer<K> {
    /// Adds or updates an object; otherwise as [`Edit::insert`].
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_informer::{Event, cache::Store};
    /// use std::sync::Arc;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (store, mut writer) = Store::<Pod>::builder().build()?;
    /// let mut pod = Pod::default();
    /// pod.metadata.name = Some("front-1".into());
    /// assert!(matches!(writer.insert(Arc::new(pod))?, Event::Added { .. }));
    /// assert_eq!(store.len(), 1);
    /// assert!(writer.remove("front-1").is_some());
    /// assert!(store.is_empty());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`KeyError`] if the object has no name. The store is not changed.
    pub fn insert(&mut self, object: Arc<K>) -> Result<Event<K>, KeyError> {
        self.batch().insert(object)
    }
}

impl<K> Edit<'_, K> {
    /// Returns the object with this key, with the changes of this edit.
    pub fn get<'k>(&self, key: impl Into<KeyRef<'k>>) -> Option<Arc<K>> {
        self.draft.state().get(key)
    }

    /// Returns all objects, with the changes of this edit.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<K>> {
        self.draft.state().list()
    }

    /// Removes the object with this key. The version of the store does not change.
    pub fn remove<'k>(&mut self, key: impl Into<KeyRef<'k>>) -> Option<Object<K>> {
        let key = key.into();
        let Snapshot { objects, indexes, .. } = self.draft.state_mut();
        let old = objects.remove(key.digest(), |entry| key.is(entry.key()))?;
        indexes.update(old.key(), Some(&old), None);
        Some(old.shared())
    }

    /// Sets the resource version of the store.
    pub fn set_version(&mut self, version: ResourceVersion) {
        self.draft.state_mut().version = Some(version);
    }

    /// Delivers all objects again.
    pub(crate) fn resync(&self, events: &mut (impl EventSink<K> + ?Sized)) {
        for entry in self.draft.state().iter() {
            events.resynced(entry);
        }
    }

    /// Returns whether the objects of a list can be added without comparing them with others.
    fn is_empty(&self, scope: Scope<'_, K>) -> bool {
        match scope {
            Scope::All => self.draft.state().is_empty(),
            Scope::Namespace(namespace) => self.draft.state().in_namespace(namespace).next().is_none(),
            // Other sources may have objects with the same keys.
            Scope::Matching(_) => self.draft.state().is_empty(),
        }
    }

    /// Removes objects that the store does not cover any more.
    pub(crate) fn release(&mut self, scope: Scope<'_, K>, events: &mut (impl EventSink<K> + ?Sized)) {
        for key in self.keys_in(scope, |_| true) {
            if let Some(last_known) = self.remove(&key) {
                events.changed(Event::released(key, last_known));
            }
        }
    }

    /// Returns the keys of the stored objects of a scope for which `filter` returns true.
    fn keys_in(&self, scope: Scope<'_, K>, filter: impl Fn(&Entry<K>) -> bool) -> Vec<Key> {
        let filter = |entry: &&Entry<K>| filter(entry);
        let key = |entry: &Entry<K>| entry.key().clone();
        let state = self.draft.state();
        match scope {
            Scope::All => state.iter().filter(filter).map(key).collect(),
            Scope::Namespace(namespace) => state.in_namespace(namespace).filter(filter).map(key).collect(),
            Scope::Matching(matches) => {
                state.iter().filter(|entry| matches(entry)).filter(filter).map(key).collect()
            }
        }
    }

    pub(crate) fn find(&self, key: &Key) -> Option<&Arc<Entry<K>>> {
        self.draft.state().objects.find(key.digest(), |entry| entry.key() == key)
    }
}

impl<K: Resource> Edit<'_, K> {
    /// Adds or updates an object; the version of the store becomes the object's, if it has one.
    ///
    /// # Errors
    /// [`KeyError`] if the object has no name. The store is not changed.
    pub fn insert(&mut self, object: Arc<K>) -> Result<Event<K>, KeyError> {
        let key = Key::of(&*object)?;
        let version = object.meta().resource_version.as_deref().and_then(|text| text.parse().ok());
        let event = self.put(key, object.into());
        if let Some(version) = version {
            self.set_version(version);
        }
        Ok(event)
    }

    /// Replaces all objects by those of a full list, and returns the events in order: deletions, then additions and updates in the
    /// order of the list. An unchanged object is an update with the cause [`UpdateCause::Resync`].
    ///
    /// Objects in [`Listing::skipped`] are not deleted. An object that is stored with the same uid, version and content is not
    /// replaced, so a relist without changes does not replace any `Arc`.
    pub fn replace(&mut self, listing: Listing<K>) -> Vec<Event<K>> {
        let mut events = Vec::new();
        self.replace_scope(Scope::All, listing, Phase::Live, &mut events);
        events
    }

    /// Replaces the objects of one namespace; otherwise as [`replace`](Self::replace). The version of the store does not change.
    pub fn replace_namespace(&mut self, namespace: &str, listing: Listing<K>) -> Vec<Event<K>> {
        let mut events = Vec::new();
        self.replace_scope(Scope::Namespace(namespace), listing, Phase::Live, &mut events);
        events
    }

    /// Applies a change, and returns the event if there is one. The version of the store does not change.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_informer::{Delta, Event, cache::Store};
    /// use std::sync::Arc;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (store, mut writer) = Store::<Pod>::builder().build()?;
    /// let mut pod = Pod::default();
    /// pod.metadata.name = Some("front-1".into());
    /// let delta = Delta::Updated("front-1".parse()?, Arc::new(pod).into());
    /// let event = writer.edit().apply(delta);
    /// assert!(matches!(event, Some(Event::Added { .. })), "the object was not in the store");
    /// assert_eq!(store.len(), 1);
    /// # Ok(()) }
    /// ```
    pub fn apply(&mut self, delta: Delta<K>) -> Option<Event<K>> {
        match delta {
            // The store decides whether the object is new, not the source.
            Delta::Added(key, object) | Delta::Updated(key, object) => Some(self.put(key, object)),
            Delta::Deleted(key, final_state) => {
                let old = self.remove(&key)?;
                let deletion = if final_state.is_some() { Deletion::Observed } else { Deletion::Inferred };
                let last_known = final_state.unwrap_or_else(|| old.clone());
                Some(Event::Deleted { key, old, last_known, deletion })
            }
            Delta::Skipped(_) => None,
        }
    }

    /// Applies a change, and passes the event on.
    pub(crate) fn apply_to(&mut self, delta: Delta<K>, events: &mut (impl EventSink<K> + ?Sized)) {
        match self.apply(delta) {
            Some(event) if event.is_resync() => {
                if let Some(entry) = self.find(event.key()) {
                    events.resynced(entry);
                }
            }
            Some(event) => events.changed(event),
            None => {}
        }
    }

    /// Replaces the objects of a scope by those of a full list. Objects that are unchanged are not written again.
    pub(crate) fn replace_scope(
        &mut self,
        scope: Scope<'_, K>,
        listing: Listing<K>,
        phase: Phase,
        events: &mut (impl EventSink<K> + ?Sized),
    ) {
        let version = listing.version.clone();
        if phase == Phase::Initial && self.is_empty(scope) {
            events.initial_list(self.fill(listing));
        } else {
            for key in self.vanished(scope, &listing) {
                if let Some(old) = self.remove(&key) {
                    events.changed(Event::vanished(key, old));
                }
            }
            for (key, object) in listing.objects {
                self.put_listed(key, object, phase, events);
            }
        }
        if let (Scope::All, Some(version)) = (scope, version) {
            self.set_version(version);
        }
    }

    /// Returns the keys of stored objects that the list does not have.
    fn vanished(&self, scope: Scope<'_, K>, listing: &Listing<K>) -> Vec<Key> {
        let listed = listing.objects.iter().map(|(key, _)| key).chain(&listing.skipped);
        let listed: HashSet<&Key, BuildHasherDefault<KeyHasher>> = listed.collect();
        self.keys_in(scope, |entry| !listed.contains(entry.key()))
    }

    /// Adds or updates an object of a list. Most objects are those of the cache, for which nothing is cloned.
    fn put_listed(
        &mut self,
        key: Key,
        listed: ListedObject<K>,
        phase: Phase,
        events: &mut (impl EventSink<K> + ?Sized),
    ) {
        let Some(known) = self.find(&key) else {
            events.changed(self.add(key, listed.into_object(), phase));
            return;
        };
        if listed.is(known.stored()) {
            events.resynced(known);
            return;
        }
        let known = Arc::clone(known);
        let object = listed.into_object();
        if !known.is_same_state(&object) {
            events.changed(self.update(&known, object));
            return;
        }
        if known.stored().is_larger_than(&object) {
            let smaller = Arc::new(known.with_stored(object.to_stored()));
            self.draft.state_mut().objects.insert(smaller);
        }
        events.resynced(&known);
    }

    /// Adds the objects of a first list to an empty scope, and returns the entries in the order of the list.
    fn fill(&mut self, listing: Listing<K>) -> Vec<Arc<Entry<K>>> {
        let mut entries = Vec::with_capacity(listing.objects.len());
        let mut replaced = HashSet::new();
        for (key, listed) in listing.objects {
            let duplicate = self.find(&key).cloned();
            replaced.extend(duplicate.as_ref().map(|entry| Arc::as_ptr(entry).addr()));
            entries.push(self.draft.insert(duplicate.as_ref(), key, listed.into_object()));
        }
        if !replaced.is_empty() {
            entries.retain(|entry| !replaced.contains(&Arc::as_ptr(entry).addr()));
        }
        entries
    }

    /// Adds or updates an object. The version of the store does not change.
    pub(crate) fn put(&mut self, key: Key, object: Object<K>) -> Event<K> {
        match self.find(&key).cloned() {
            Some(known) => self.update(&known, object),
            None => self.add(key, object, Phase::Live),
        }
    }

    fn add(&mut self, key: Key, object: Object<K>, phase: Phase) -> Event<K> {
        self.draft.insert(None, key.clone(), object.clone());
        Event::added(key, object, phase)
    }

    fn update(&mut self, known: &Arc<Entry<K>>, object: Object<K>) -> Event<K> {
        // The stored key rather than its equal: the store, its indexes and events then share one allocation.
        let key = known.key().clone();
        let is_same = known.is_same_state(&object);
        let cause = if is_same { UpdateCause::Resync } else { UpdateCause::Changed };
        self.draft.insert(Some(known), key.clone(), object.clone());
        Event::updated(key, known.shared(), object, cause)
    }
}

/// There are no subscribers, so a resync does nothing.
impl<K: Resource + Send + Sync + 'static> Sink<K> for Writer<K> {
    fn ingest(&self) -> Ingest<K> {
        self.ingest.clone().known_objects(self.known_objects())
    }

    async fn replace(&mut self, listing: Listing<K>) -> Result<(), BoxError> {
        self.edit().replace(listing);
        Ok(())
    }

    async fn apply(&mut self, batch: DeltaBatch<K>) -> Result<(), BoxError> {
        let mut edit = self.batch();
        for delta in batch.deltas {
            edit.apply(delta);
        }
        if let Some(version) = batch.version {
            edit.set_version(version);
        }
        Ok(())
    }

    async fn resync(&mut self) -> Result<(), BoxError> {
        Ok(())
    }
}

impl<K> fmt::Debug for Writer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("cell", &self.cell).finish()
    }
}

impl<K> fmt::Debug for Edit<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Edit").field("draft", &self.draft).finish()
    }
}

impl<K> Drop for Writer<K> {
    fn drop(&mut self) {
        self.cell.close();
    }
}
