//! Where the one writer and the many readers of a store meet.

use super::{
    entry::Entry,
    index::{IndexConflictError, IndexFn, Indexes, Panics, calling_back},
    snapshot::Snapshot,
};
use crate::{
    ingest::KnownObjects,
    labels::CachedLabels,
    object::{IndexValue, IndexValues, Labels, ListedObject, Object},
};
use arc_swap::ArcSwap;
use kube_core::Resource;
use kube_informer_wire::{Identity, Key};
use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::sync::Notify;

/// Readers load `published`; whoever changes something holds `working` and publishes a clone of it.
///
/// The lock is the writer's. Only adding an index to a running store takes it from elsewhere; a read never does.
pub(super) struct Cell<K> {
    published: ArcSwap<Snapshot<K>>,
    working: Mutex<Snapshot<K>>,
    moved: Notify,
    is_closed: AtomicBool,
    pub(super) panics: Panics,
    pub(super) resource: String,
}

/// The state being changed. What was done is published when this is dropped, all at once.
pub(super) struct Draft<'c, K> {
    cell: &'c Cell<K>,
    pub(super) state: MutexGuard<'c, Snapshot<K>>,
}

impl<K> Cell<K> {
    pub(super) fn new(resource: String, indexes: Indexes<K>, labels: Option<CachedLabels<K>>) -> Self {
        let state = Snapshot { indexes, labels: labels.map(Arc::new), ..Snapshot::default() };
        Self {
            published: ArcSwap::from_pointee(state.clone()),
            working: Mutex::new(state),
            moved: Notify::new(),
            is_closed: AtomicBool::new(false),
            panics: Panics::default(),
            resource,
        }
    }

    /// Reads the current state without keeping it.
    pub(super) fn peek(&self) -> arc_swap::Guard<Arc<Snapshot<K>>> {
        self.published.load()
    }

    /// The current state, to keep.
    pub(super) fn snapshot(&self) -> Arc<Snapshot<K>> {
        self.published.load_full()
    }

    /// Begins a change.
    pub(super) fn draft(&self) -> Draft<'_, K> {
        // A draft that a panic ended has put the state back, so a poisoned lock guards nothing broken.
        Draft { cell: self, state: self.working.lock().unwrap_or_else(PoisonError::into_inner) }
    }

    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.moved.notify_waiters();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Resolves at the next publication or at the close, from the moment it is enabled or polled.
    pub(super) fn moved(&self) -> tokio::sync::futures::Notified<'_> {
        self.moved.notified()
    }
}

impl<K> Cell<K> {
    /// Adds an index and fills it from what is there.
    pub(super) fn add_index<F, I, V>(&self, name: &str, function: F) -> Result<(), IndexConflictError>
    where
        F: Fn(&K) -> I + Send + Sync + 'static,
        I: IntoIterator<Item = V>,
        V: AsRef<str>,
    {
        let function = calling_back(function);
        // Before anybody has to wait for it: objects that are kept compact are decoded for this.
        let known = self.snapshot();
        let worked_out = worked_out(&known, name, Arc::clone(&function), &self.panics)?;
        let mut draft = self.draft();
        draft.state.indexes.add(name, function)?;
        draft.fill_newest_index(&worked_out);
        Ok(())
    }
}

/// Under which values of an index entries stand, by their place in memory.
type WorkedOut = HashMap<usize, Vec<Arc<str>>>;

/// Where an entry is; no other can be there while it is held.
fn place<K>(entry: &Arc<Entry<K>>) -> usize {
    Arc::as_ptr(entry) as usize
}

/// Works out under which values of an index that is to be added the objects of a snapshot stand.
fn worked_out<K>(
    known: &Snapshot<K>,
    name: &str,
    function: IndexFn<K>,
    panics: &Panics,
) -> Result<WorkedOut, IndexConflictError> {
    let mut indexes = known.indexes.clone();
    indexes.add(name, function)?;
    let newest = indexes.count() - 1..indexes.count();
    let values = |entry: &Arc<Entry<K>>| {
        let values = indexes.values_of(newest.clone(), entry.key(), &entry.object(), panics);
        (place(entry), values.into_iter().map(|value| value.value).collect())
    };
    Ok(known.objects.iter().map(values).collect())
}

impl<K: Resource + Send + Sync> KnownObjects<K> for Cell<K> {
    fn find_same(&self, identity: &Identity<'_>) -> Option<(Key, ListedObject<K>)> {
        self.peek().find_same(identity)
    }

    fn has_index_functions(&self) -> bool {
        self.peek().indexes.have_functions()
    }

    fn caches_labels(&self) -> bool {
        self.peek().labels.is_some()
    }

    fn index_values(&self, key: &Key, object: &K) -> IndexValues {
        let Snapshot { indexes, labels, .. } = &**self.peek();
        let mut values = indexes.values_of(0..indexes.count(), key, object, &self.panics);
        values.extend(labels.as_ref().and_then(|cached| cached.value_of(object)));
        IndexValues { indexes: indexes.count(), values }
    }

    fn label_values(&self, labels: Labels<'_>) -> IndexValues {
        let Snapshot { indexes, labels: cached, .. } = &**self.peek();
        let values = cached.as_ref().and_then(|cached| cached.value(labels)).into_iter().collect();
        // An index that was added in the meantime needs the decoded object.
        let is_outdated = indexes.have_functions();
        IndexValues { indexes: if is_outdated { IndexValues::OUTDATED } else { indexes.count() }, values }
    }
}

impl<K> Draft<'_, K> {
    /// Writes an object to the objects and indexes, in place of the known entry.
    pub(super) fn insert(
        &mut self,
        known: Option<&Arc<Entry<K>>>,
        key: Key,
        object: Object<K>,
    ) -> Arc<Entry<K>> {
        let Snapshot { objects, indexes, labels, .. } = &mut *self.state;
        // The labels of a decoded object need no cache.
        let labels = labels.as_ref().filter(|_| object.is_stored_encoded());
        let values = match object.index_values().filter(|values| values.indexes == indexes.count()) {
            _ if !indexes.have_functions() && labels.is_none() => Vec::new(),
            Some(values) => indexes.shared(&values.values),
            None => object.with(|object| {
                let mut values = indexes.values_of(0..indexes.count(), &key, object, &self.cell.panics);
                values.extend(labels.and_then(|cached| cached.value_of(object)));
                values
            }),
        };
        let stored = object.to_stored();
        // Freed before the entry is allocated: both have about the same size, so that the memory is used again.
        drop(object);
        let entry = Arc::new(Entry::new(key, stored, values));
        indexes.update(entry.key(), known.map(|known| &**known), Some(&entry));
        objects.insert(Arc::clone(&entry));
        entry
    }

    /// Puts every object into the newest index. What has come since the others were worked out is looked at now.
    fn fill_newest_index(&mut self, worked_out: &WorkedOut) {
        let Snapshot { objects, indexes, .. } = &mut *self.state;
        let newest = indexes.count() - 1;
        for entry in objects.clone().iter() {
            let more = match worked_out.get(&place(entry)) {
                Some(values) => {
                    let values =
                        values.iter().map(|value| IndexValue { index: newest, value: Arc::clone(value) });
                    indexes.shared(&values.collect::<Vec<_>>())
                }
                None => {
                    let object = entry.object();
                    indexes.values_of(newest..newest + 1, entry.key(), &object, &self.cell.panics)
                }
            };
            let indexed = Arc::new(entry.with_more_values(more));
            indexes.update(entry.key(), Some(entry), Some(&indexed));
            objects.insert(indexed);
        }
    }
}

impl<K> fmt::Debug for Cell<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell")
            .field("resource", &self.resource)
            .field("published", &self.peek())
            .finish_non_exhaustive()
    }
}

impl<K> fmt::Debug for Draft<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Draft").field("state", &*self.state).finish_non_exhaustive()
    }
}

impl<K> Drop for Draft<'_, K> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            *self.state = Snapshot::clone(&self.cell.published.load());
            return;
        }
        self.cell.published.store(Arc::new(self.state.clone()));
        self.cell.moved.notify_waiters();
    }
}
