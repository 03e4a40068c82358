//! The state that the writer and the readers of a store share.

use super::{
    entry::Entry,
    index::{IndexConflictError, IndexSource, Indexes, Panics},
    snapshot::Snapshot,
};
use crate::{
    ingest::KnownObjects,
    labels::CachedLabels,
    object::{IndexInput, IndexValue, IndexValues, Labels, ListedObject, Object},
};
use arc_swap::ArcSwap;
use kube_core::Resource;
use kube_informer_wire::{ContentHash, Identity, Key, ResourceVersion};
use std::{
    cell::Cell as StdCell,
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, TryLockError,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::sync::Notify;

/// Readers load `published`. A write locks `working`, changes it and publishes it.
///
/// A published state shares its nodes with `working`, so that the next write copies what it changes. While the store is not read, writes
/// in [batches](Self::batch) are not published: the published objects are released, and `working` is changed in place. The next
/// reader publishes them.
pub(super) struct Cell<K> {
    published: ArcSwap<Snapshot<K>>,
    working: Mutex<Arc<Snapshot<K>>>,
    /// `working` while index functions run, which may read the store.
    lent: Mutex<Option<Arc<Snapshot<K>>>>,
    /// True if the store was read since the last batch.
    was_read: AtomicBool,
    changed: Notify,
    is_closed: AtomicBool,
    pub(super) panics: Panics,
    pub(super) resource: String,
}

/// The state during a write. Readers see all changes or none.
pub(super) struct Draft<'c, K> {
    cell: &'c Cell<K>,
    state: MutexGuard<'c, Arc<Snapshot<K>>>,
    publication: Publication,
    /// The value of [`WRITING`] before this draft.
    outer: usize,
}

thread_local! {
    /// The address of the cell to which this thread writes, or 0. Index functions run during a write, and a read of theirs must not
    /// wait for it: it returns the state before the write of the object.
    static WRITING: StdCell<usize> = const { StdCell::new(0) };
}

/// When the changes of a draft are published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Publication {
    /// When the draft is dropped.
    Now,
    /// When the draft is dropped, or at the next read if the store was not read since the previous batch.
    OnRead,
}

impl<K> Cell<K> {
    pub(super) fn new(resource: String, indexes: Indexes<K>, labels: Option<CachedLabels<K>>) -> Self {
        let state = Arc::new(Snapshot { indexes, labels: labels.map(Arc::new), ..Snapshot::default() });
        Self {
            published: ArcSwap::new(Arc::clone(&state)),
            working: Mutex::new(state),
            lent: Mutex::default(),
            was_read: AtomicBool::new(true),
            changed: Notify::new(),
            is_closed: AtomicBool::new(false),
            panics: Panics::default(),
            resource,
        }
    }

    /// Loads the current state for a short read.
    pub(super) fn load(&self) -> arc_swap::Guard<Arc<Snapshot<K>>> {
        if WRITING.get() == self.address()
            && let Some(lent) = &*lock(&self.lent)
        {
            return arc_swap::Guard::from_inner(Arc::clone(lent));
        }
        loop {
            // Not written if it is true already, so that concurrent readers share the cache line.
            if !self.was_read.load(Ordering::Relaxed) {
                self.was_read.store(true, Ordering::Relaxed);
            }
            let published = self.published.load();
            if !published.is_released {
                return published;
            }
            self.publish_released();
        }
    }

    /// Returns the current state.
    pub(super) fn snapshot(&self) -> Arc<Snapshot<K>> {
        arc_swap::Guard::into_inner(self.load())
    }

    /// Publishes the changes of earlier batches, or waits a little for the batch that is being written.
    fn publish_released(&self) {
        match self.working.try_lock() {
            Ok(state) => self.publish(&state),
            Err(TryLockError::Poisoned(state)) => self.publish(&state.into_inner()),
            // The batch publishes its changes at its end, because `was_read` is set.
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
        }
    }

    fn publish(&self, working: &Arc<Snapshot<K>>) {
        self.published.store(Arc::clone(working));
    }

    /// Drops the published objects, so that `working` can be changed in place, and replaced objects are freed.
    fn release(&self, working: &Snapshot<K>) {
        if !self.published.load().is_released {
            self.published.store(Arc::new(working.released()));
        }
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Starts a write of any length, which is published at its end. Readers never wait for it.
    pub(super) fn draft(&self) -> Draft<'_, K> {
        let state = lock(&self.working);
        if self.published.load().is_released {
            self.publish(&state);
        }
        self.start(state, Publication::Now)
    }

    /// Starts a write of a few objects, for which a reader may wait.
    pub(super) fn batch(&self) -> Draft<'_, K> {
        let state = lock(&self.working);
        if !self.was_read.load(Ordering::Relaxed) {
            self.release(&state);
        }
        self.start(state, Publication::OnRead)
    }

    fn start<'c>(
        &'c self,
        state: MutexGuard<'c, Arc<Snapshot<K>>>,
        publication: Publication,
    ) -> Draft<'c, K> {
        Draft { cell: self, state, publication, outer: WRITING.replace(self.address()) }
    }

    /// Returns the number of objects and the version, without publishing changes.
    pub(super) fn extent(&self) -> Extent {
        let state = lock(&self.working);
        Extent { objects: state.len(), version: state.version().cloned() }
    }

    /// Returns the address of the root of the objects.
    #[cfg(test)]
    pub(super) fn working_root(&self) -> usize {
        lock(&self.working).objects.root_address()
    }

    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.changed.notify_waiters();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Waits until a new state is published or the store is closed. The wait starts when the future is enabled or polled.
    pub(super) fn changed(&self) -> tokio::sync::futures::Notified<'_> {
        self.changed.notified()
    }

    /// Adds an index that contains all objects.
    pub(super) fn add_index(&self, name: &str, source: IndexSource<K>) -> Result<(), IndexConflictError> {
        // Most values are computed before the writer is locked out, because encoded objects are decoded for that.
        let snapshot = self.snapshot();
        let computed = compute_values(&snapshot, name, source.clone(), &self.panics)?;
        let mut draft = self.draft();
        draft.state_mut().indexes.add(name, source)?;
        draft.fill_newest_index(&computed);
        Ok(())
    }
}

/// Locks a state. A poisoned lock is valid, because a draft that is dropped by a panic leaves a complete state.
fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The size of a store and its version.
pub(crate) struct Extent {
    pub(crate) objects: usize,
    pub(crate) version: Option<ResourceVersion>,
}

/// The values of entries in a new index, by the address of the entry.
type ComputedValues = HashMap<usize, Vec<Arc<str>>>;

/// Returns the address of an entry, which is unique while the entry is alive.
fn address<K>(entry: &Arc<Entry<K>>) -> usize {
    Arc::as_ptr(entry) as usize
}

/// Computes the values of all objects of a snapshot in a new index.
fn compute_values<K>(
    snapshot: &Snapshot<K>,
    name: &str,
    source: IndexSource<K>,
    panics: &Panics,
) -> Result<ComputedValues, IndexConflictError> {
    let mut indexes = snapshot.indexes.clone();
    let needs = source.needs();
    indexes.add(name, source)?;
    let newest = indexes.count() - 1..indexes.count();
    let values = |entry: &Arc<Entry<K>>| {
        let values = entry
            .shared()
            .with_index_input(needs, |input| indexes.values_of(newest.clone(), entry.key(), &input, panics));
        (address(entry), values.into_iter().map(|value| value.value).collect())
    };
    Ok(snapshot.objects.iter().map(values).collect())
}

impl<K: Resource + Send + Sync> KnownObjects<K> for Cell<K> {
    fn find_same(
        &self,
        identity: &Identity<'_>,
        content: &dyn Fn() -> Option<ContentHash>,
    ) -> Option<(Key, ListedObject<K>)> {
        self.load().find_same(identity, content)
    }

    // Indexes are always published, so that the following functions do not need the newest objects.

    fn has_index_functions(&self) -> bool {
        self.published.load().indexes.have_functions()
    }

    fn has_index_paths(&self) -> bool {
        self.published.load().indexes.have_paths()
    }

    fn caches_labels(&self) -> bool {
        self.published.load().labels.is_some()
    }

    fn index_values(&self, key: &Key, input: &IndexInput<'_, K>) -> IndexValues {
        let Snapshot { indexes, labels, .. } = &**self.published.load();
        let mut values = indexes.values_of(0..indexes.count(), key, input, &self.panics);
        values.extend(input.object.zip(labels.as_ref()).and_then(|(object, cached)| cached.value_of(object)));
        // An index function that was added in the meantime needs the decoded object.
        let is_outdated = input.object.is_none() && indexes.have_functions();
        IndexValues { indexes: if is_outdated { IndexValues::OUTDATED } else { indexes.count() }, values }
    }

    fn label_value(&self, labels: Labels<'_>) -> Option<IndexValue> {
        self.published.load().labels.as_ref().and_then(|cached| cached.value(labels))
    }
}

impl<K> Draft<'_, K> {
    /// Returns the state with the changes of this draft.
    pub(super) fn state(&self) -> &Snapshot<K> {
        &self.state
    }

    /// Returns the state with the changes of this draft. Nodes that are shared with the published state are copied when they change.
    pub(super) fn state_mut(&mut self) -> &mut Snapshot<K> {
        Arc::make_mut(&mut self.state)
    }

    /// Calls index functions, which may read the store.
    fn lend<R>(&self, function: impl FnOnce() -> R) -> R {
        if !self.state.indexes.have_functions() {
            return function();
        }
        *lock(&self.cell.lent) = Some(Arc::clone(&self.state));
        let result = function();
        *lock(&self.cell.lent) = None;
        result
    }

    /// Writes an object to the objects and indexes, in place of the known entry.
    pub(super) fn insert(
        &mut self,
        known: Option<&Arc<Entry<K>>>,
        key: Key,
        object: Object<K>,
    ) -> Arc<Entry<K>> {
        let Snapshot { indexes, labels, .. } = self.state();
        // The labels of a decoded object need no cache.
        let labels = labels.as_ref().filter(|_| object.is_stored_encoded());
        let values = match object.index_values().filter(|values| values.indexes == indexes.count()) {
            _ if !indexes.have_values() && labels.is_none() => Vec::new(),
            Some(values) => indexes.shared(&values.values),
            None => {
                let mut needs = indexes.needs();
                needs.object |= labels.is_some();
                let values = |input: IndexInput<'_, K>| {
                    let mut values = indexes.values_of(0..indexes.count(), &key, &input, &self.cell.panics);
                    values.extend(
                        input.object.zip(labels).and_then(|(object, cached)| cached.value_of(object)),
                    );
                    values
                };
                self.lend(|| object.with_index_input(needs, values))
            }
        };
        let stored = object.to_stored();
        // Freed before the entry is allocated, so that the allocator can reuse the memory.
        drop(object);
        let entry = Arc::new(Entry::new(key, stored, values));
        let Snapshot { objects, indexes, .. } = self.state_mut();
        indexes.update(entry.key(), known.map(|known| &**known), Some(&entry));
        objects.insert(Arc::clone(&entry));
        entry
    }

    /// Adds all objects to the newest index. The values of entries that are not in `computed` are computed here.
    fn fill_newest_index(&mut self, computed: &ComputedValues) {
        let newest = self.state.indexes.count() - 1;
        for entry in self.state.objects.clone().iter() {
            let indexes = &self.state.indexes;
            let more = match computed.get(&address(entry)) {
                Some(values) => {
                    let values =
                        values.iter().map(|value| IndexValue { index: newest, value: Arc::clone(value) });
                    indexes.shared(&values.collect::<Vec<_>>())
                }
                None => {
                    let numbers = newest..newest + 1;
                    let values = |input: IndexInput<'_, K>| {
                        indexes.values_of(numbers, entry.key(), &input, &self.cell.panics)
                    };
                    self.lend(|| entry.shared().with_index_input(indexes.needs(), values))
                }
            };
            let indexed = Arc::new(entry.with_more_values(more));
            let Snapshot { objects, indexes, .. } = self.state_mut();
            indexes.update(entry.key(), Some(entry), Some(&indexed));
            objects.insert(indexed);
        }
    }
}

impl<K> fmt::Debug for Cell<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell")
            .field("resource", &self.resource)
            .field("published", &self.load())
            .finish_non_exhaustive()
    }
}

impl<K> fmt::Debug for Draft<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Draft").field("state", self.state()).finish_non_exhaustive()
    }
}

impl<K> Drop for Draft<'_, K> {
    fn drop(&mut self) {
        WRITING.set(self.outer);
        if std::thread::panicking() {
            // A batch is applied by this crate only, and each of its changes is complete.
            match self.publication {
                Publication::Now => *self.state = self.cell.published.load_full(),
                Publication::OnRead => self.cell.publish(&self.state),
            }
            return;
        }
        let was_read = self.cell.was_read.swap(false, Ordering::Relaxed);
        // Without a read, the published objects were released at the start of this batch.
        if was_read || self.publication == Publication::Now {
            self.cell.publish(&self.state);
        }
        self.cell.changed.notify_waiters();
    }
}
