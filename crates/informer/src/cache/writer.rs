//! The one hand that changes a store.

use super::{
    cell::{Cell, Draft},
    entry::Entry,
    snapshot::Snapshot,
};
use crate::{
    object::Object,
    object::listing::{Listing, Shown},
};
use kube_core::Resource;
use kube_informer_wire::{Identity, Key, KeyError, KeyHasher, KeyRef, ResourceVersion};
use std::{collections::HashSet, fmt, hash::BuildHasherDefault, sync::Arc};

/// Changes a [`Store`](super::Store). There is one per store, and dropping it closes the store to [`wait_for`].
///
/// [`wait_for`]: super::Store::wait_for
pub struct Writer<K> {
    cell: Arc<Cell<K>>,
}

/// A run of changes that readers see all at once, when this is dropped.
///
/// If a panic unwinds through it, readers see none of them.
#[must_use = "the changes are published when this is dropped"]
pub struct Edit<'w, K> {
    pub(super) draft: Draft<'w, K>,
}

/// What putting an object in did.
#[derive(Debug, PartialEq, Eq)]
pub enum Change<K> {
    /// The key was not there.
    Added(Object<K>),
    /// Another state was there.
    Updated {
        /// The state that was there.
        old: Object<K>,
        /// The state that took its place.
        new: Object<K>,
    },
    /// A list showed the very state that was there, by uid and version; the stored object stays.
    Unchanged(Object<K>),
}

/// What replacing everything did.
#[derive(Debug)]
pub struct Replacement<K> {
    /// What was there and is not in the list.
    pub removed: Vec<Object<K>>,
    /// What became of each object of the list, in its order.
    pub changes: Vec<Change<K>>,
}

/// One step of a replacement: first all that vanished, then each object of the list, in its order.
pub(crate) enum Step<K> {
    /// It was there and is not in the list.
    Removed(Object<K>),
    /// What became of an object of the list.
    Changed(Change<K>),
}

impl<K> Writer<K> {
    pub(super) fn new(cell: Arc<Cell<K>>) -> Self {
        Self { cell }
    }

    /// Begins a run of changes.
    pub fn edit(&mut self) -> Edit<'_, K> {
        Edit { draft: self.cell.draft() }
    }
}

impl<K: Resource> Writer<K> {
    /// What finds the stored object and its key, if it is the very state that is meant.
    pub(super) fn known(&self) -> impl Fn(&Identity<'_>) -> Option<(Key, Shown<K>)> + use<K> {
        let cell = Arc::clone(&self.cell);
        move |identity| cell.peek().same(identity)
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

impl<K> Edit<'_, K> {
    /// The object with this key, as the changes so far leave it.
    pub fn get<'k>(&self, key: impl Into<KeyRef<'k>>) -> Option<Arc<K>> {
        self.draft.state.get(key)
    }

    /// Everything, as the changes so far leave it.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<K>> {
        self.draft.state.list()
    }

    /// Everything, as the changes so far leave it, and nothing of it decoded.
    pub(crate) fn objects(&self) -> impl Iterator<Item = Object<K>> {
        self.draft.state.iter().map(Entry::shared)
    }

    /// Whether nothing is there, as the changes so far leave it.
    pub(crate) fn is_empty(&self) -> bool {
        self.draft.state.is_empty()
    }

    /// Whether nothing is there in this namespace, as the changes so far leave it.
    pub(crate) fn is_empty_in(&self, namespace: &str) -> bool {
        self.draft.state.in_namespace(namespace).next().is_none()
    }

    /// Takes out the object with this key. The version stays as it is.
    pub fn remove<'k>(&mut self, key: impl Into<KeyRef<'k>>) -> Option<Object<K>> {
        let key = key.into();
        let Snapshot { objects, indexes, .. } = &mut *self.draft.state;
        let old = objects.remove(key.digest(), |entry| key.is(entry.key()))?;
        indexes.update(old.key(), Some(&old), None);
        Some(old.shared())
    }

    /// Says up to which version the server's changes are in.
    pub fn set_version(&mut self, version: ResourceVersion) {
        self.draft.state.version = Some(version);
    }
}

impl<K: Resource> Edit<'_, K> {
    /// Puts an object in; the store's version becomes the object's, where it has one.
    ///
    /// # Errors
    /// [`KeyError`] if the object has no key; nothing is changed.
    pub fn insert(&mut self, object: Arc<K>) -> Result<Change<K>, KeyError> {
        let key = Key::of(&*object)?;
        let version = object.meta().resource_version.as_deref().and_then(|text| text.parse().ok());
        let change = self.put(key, object.into());
        if let Some(version) = version {
            self.set_version(version);
        }
        Ok(change)
    }

    /// Makes the list all that there is, keeping what it names but could not read.
    ///
    /// An object that is stored in the very state that the list shows is kept, so a relist of an unchanged cluster
    /// leaves every `Arc` as it was.
    pub fn replace(&mut self, listing: Listing<K>) -> Replacement<K> {
        self.replacement(None, listing)
    }

    /// Makes the list all that there is in one namespace, and leaves every other namespace as it is; otherwise as
    /// [`replace`](Self::replace). The version stays as it is: it is that of a part.
    pub fn replace_namespace(&mut self, namespace: &str, listing: Listing<K>) -> Replacement<K> {
        self.replacement(Some(namespace), listing)
    }

    fn replacement(&mut self, namespace: Option<&str>, listing: Listing<K>) -> Replacement<K> {
        let mut done =
            Replacement { removed: Vec::new(), changes: Vec::with_capacity(listing.objects.len()) };
        self.replace_within(namespace, listing, |step| match step {
            Step::Removed(object) => done.removed.push(object),
            Step::Changed(change) => done.changes.push(change),
        });
        done
    }

    /// Makes the list all that there is, or all that there is in one namespace, and tells step by step what that does.
    ///
    /// What is as it was is not touched, so that a list costs what it changes.
    pub(crate) fn replace_within(
        &mut self,
        namespace: Option<&str>,
        listing: Listing<K>,
        mut tell: impl FnMut(Step<K>),
    ) {
        for key in self.vanished(namespace, &listing) {
            self.remove(&key).into_iter().for_each(|object| tell(Step::Removed(object)));
        }
        for (key, shown) in listing.objects {
            tell(Step::Changed(self.show(key, shown)));
        }
        if namespace.is_none() {
            self.draft.state.version = listing.version.or(self.draft.state.version.take());
        }
    }

    /// The keys of what is there and is not in the list.
    fn vanished(&self, namespace: Option<&str>, listing: &Listing<K>) -> Vec<Key> {
        let named = listing.objects.iter().map(|(key, _)| key).chain(&listing.unreadable);
        let named: HashSet<&Key, BuildHasherDefault<KeyHasher>> = named.collect();
        let is_gone = |entry: &&Entry<K>| !named.contains(entry.key());
        let key = |entry: &Entry<K>| entry.key().clone();
        match namespace {
            None => self.draft.state.iter().filter(is_gone).map(key).collect(),
            Some(namespace) => self.draft.state.in_namespace(namespace).filter(is_gone).map(key).collect(),
        }
    }

    /// Takes in an object that a list shows.
    fn show(&mut self, key: Key, shown: Shown<K>) -> Change<K> {
        let known = self.draft.state.objects.find(key.digest(), |entry| *entry.key() == key).cloned();
        if let Some(known) = known.as_ref().filter(|known| shown.is(known.kept())) {
            return Change::Unchanged(known.shared());
        }
        let object = shown.into_object(&key);
        match known {
            Some(known) if known.is_unchanged(&object) => {
                if known.kept().is_looser_than(&object) {
                    let smaller = Arc::new(known.kept_as(object.kept()));
                    self.draft.state.objects.insert(smaller);
                }
                Change::Unchanged(known.shared())
            }
            known => self.settle(key, object, known.as_ref()),
        }
    }

    /// Puts in all that a first list of everything, or of one namespace, shows, and gives the entries, in its order. Nothing
    /// of it may be there yet.
    pub(crate) fn fill(&mut self, listing: Listing<K>) -> Vec<Arc<Entry<K>>> {
        let (mut entries, mut outdated) = (Vec::with_capacity(listing.objects.len()), HashSet::new());
        for (key, object) in listing.objects {
            let twice = self.draft.state.objects.find(key.digest(), |entry| *entry.key() == key).cloned();
            outdated.extend(twice.as_ref().map(|twice| Arc::as_ptr(twice).addr()));
            let object = object.into_object(&key);
            entries.push(self.draft.enter(twice.as_ref(), key, object));
        }
        if !outdated.is_empty() {
            entries.retain(|entry| !outdated.contains(&Arc::as_ptr(entry).addr()));
        }
        entries
    }

    /// Puts an object in under a key that is known already. The version stays as it is.
    pub(crate) fn put(&mut self, key: Key, object: Object<K>) -> Change<K> {
        let known = self.draft.state.objects.find(key.digest(), |entry| *entry.key() == key).cloned();
        self.settle(key, object, known.as_ref())
    }

    fn settle(&mut self, key: Key, object: Object<K>, known: Option<&Arc<Entry<K>>>) -> Change<K> {
        // The stored key rather than its equal: queue, store and indexes then share one text.
        let key = known.map_or(key, |known| known.key().clone());
        self.draft.enter(known, key, object.clone());
        match known {
            Some(known) => Change::Updated { old: known.shared(), new: object },
            None => Change::Added(object),
        }
    }
}
