//! All collections, with versions from one counter.

use crate::storage::{
    collection::{Collection, Objects},
    event::{End, Event},
    history::History,
    journal::{Entry, Journal},
    page::{self, Page, Span},
    record::{Content, Record},
    selection::Selection,
};
use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};
use tokio::sync::Notify;

/// The identity of a collection: the group and the plural name of a resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CollectionId {
    group: Box<str>,
    plural: Box<str>,
}

/// All objects, in memory.
#[derive(Debug)]
pub(crate) struct Store {
    state: RwLock<State>,
    /// Notifies of a newer version of any collection.
    raised: Notify,
}

#[derive(Debug)]
struct State {
    version: u64,
    /// The number of times at which all watches were cut.
    epoch: u64,
    history: usize,
    collections: HashMap<CollectionId, Collection>,
    /// The uids in owner references.
    owners: HashSet<Box<str>>,
    /// The log to which changes are saved, if any.
    journal: Option<Journal>,
}

/// All objects at one moment.
#[derive(Clone, Debug)]
pub(crate) struct StoreSnapshot {
    collections: HashMap<CollectionId, Objects>,
    owners: HashSet<Box<str>>,
}

/// A change with its precondition.
#[derive(Debug)]
pub(crate) enum Write {
    /// Creates an object.
    Create(Box<Content>),
    /// Replaces the state that has this version.
    Replace(u64, Box<Content>),
    /// Removes the object whose state has this version.
    Remove(u64),
}

/// The reason why a change was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteError {
    /// An object with that name exists.
    Exists,
    /// No object with that name exists.
    Missing,
    /// The object has another version.
    Changed,
}

/// The reason why a list or watch fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadError {
    /// The version has expired; this is the oldest available one.
    Expired { floor: u64 },
    /// The version has not been reached; this is the newest.
    NotReached { newest: u64 },
    /// All watches were cut.
    Cut,
    /// The resource is not served any more.
    NotServed,
}

/// The position of a watch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position {
    /// The last version that was read.
    pub(crate) version: u64,
    epoch: u64,
    ends: u64,
}

/// The next events of a watch.
#[derive(Debug)]
pub(crate) struct Batch {
    /// The events, in order.
    pub(crate) events: Vec<Arc<Event>>,
    /// The position after them.
    pub(crate) position: Position,
}

impl From<(&str, &str)> for CollectionId {
    fn from((group, plural): (&str, &str)) -> Self {
        Self { group: group.into(), plural: plural.into() }
    }
}

impl Store {
    /// Creates an empty store with this number of events in the history of each collection.
    pub(crate) fn new(history: usize) -> Self {
        let state = State {
            version: 1,
            epoch: 0,
            history,
            collections: HashMap::new(),
            owners: HashSet::new(),
            journal: None,
        };
        Self { state: RwLock::new(state), raised: Notify::new() }
    }

    /// Returns the newest version.
    pub(crate) fn version(&self) -> u64 {
        self.read().version
    }

    /// Waits until the store has this version.
    pub(crate) async fn reached(&self, version: u64) {
        loop {
            // The future is created before the comparison, so that it misses no notification.
            let raised = self.raised.notified();
            if self.version() >= version {
                return;
            }
            raised.await;
        }
    }

    pub(crate) fn get(&self, id: &CollectionId, key: &str) -> Option<Record> {
        self.read().collections.get(id)?.get(key).cloned()
    }

    /// Returns true if an object may have dependents, because its uid was in an owner reference.
    pub(crate) fn may_own(&self, uid: &str) -> bool {
        self.read().owners.contains(uid)
    }

    /// Stores a change under a new version.
    pub(crate) fn write(&self, id: &CollectionId, key: &str, write: Write) -> Result<Record, WriteError> {
        let (record, changed) = self.lock().write(id, key, write)?;
        // The readers are notified after the lock was released, so that they do not wait for it.
        changed.notify_waiters();
        self.raised.notify_waiters();
        Ok(record)
    }

    /// Stores an object of a recording under its own version, before the store is used.
    pub(crate) fn load(&self, id: &CollectionId, content: Content, version: Option<u64>) {
        let mut state = self.lock();
        let version = version.unwrap_or(state.version);
        state.version = state.version.max(version);
        let record = state.collection(id).put(content, version);
        state.add_owners(&record);
    }

    /// Saves all objects, and all changes from now on.
    pub(crate) fn keep(&self, journal: Journal) {
        let mut state = self.lock();
        state.journal = Some(journal);
        state.rewrite_journal();
    }

    /// Returns why the last change could not be saved.
    pub(crate) fn data_error(&self) -> Option<String> {
        self.lock().journal.as_ref().and_then(|journal| journal.error().map(str::to_owned))
    }

    /// Closes the log, so that another server can use its directory.
    pub(crate) fn stop_saving(&self) {
        self.lock().journal = None;
    }

    /// Sets the newest version before the store is used, unless it is newer already.
    pub(crate) fn raise(&self, version: u64) {
        let mut state = self.lock();
        state.version = state.version.max(version);
    }

    /// Stores a recorded state under its own version, or under the next one if that has been reached.
    pub(crate) fn replay_put(&self, id: &CollectionId, content: Content, version: Option<u64>) {
        self.replay(id, version, |collection, version| Some(collection.put(content, version)));
    }

    /// Removes an object under the version of its recorded deletion, or under the next one if that has been reached.
    pub(crate) fn replay_remove(&self, id: &CollectionId, key: &str, version: Option<u64>) {
        self.replay(id, version, |collection, version| collection.remove(key, version));
    }

    fn replay(
        &self,
        id: &CollectionId,
        version: Option<u64>,
        change: impl FnOnce(&mut Collection, u64) -> Option<Record>,
    ) {
        let mut state = self.lock();
        let version = version.unwrap_or_default().max(state.version + 1);
        let collection = state.collection(id);
        let Some(record) = change(collection, version) else { return };
        let changed = Arc::clone(&collection.changed);
        state.version = version;
        state.add_owners(&record);
        drop(state);
        changed.notify_waiters();
        self.raised.notify_waiters();
    }

    /// Reads a page of a list.
    pub(crate) fn list(
        &self,
        id: &CollectionId,
        selection: &Selection,
        span: &Span,
    ) -> Result<Page, ReadError> {
        let state = self.read();
        let version = span.version.unwrap_or(state.version);
        if version > state.version {
            return Err(ReadError::NotReached { newest: state.version });
        }
        let Some(collection) = state.collections.get(id) else {
            return Ok(Page { version, records: Vec::new(), next: None, remaining: None });
        };
        let floor = collection.history.floor();
        let page = page::read(collection, version, selection, span);
        page.filter(|_| version >= floor || span.version.is_none()).ok_or(ReadError::Expired { floor })
    }

    /// Starts a watch of a collection after `version`, or from now on.
    pub(crate) fn follow(
        &self,
        id: &CollectionId,
        version: Option<u64>,
    ) -> Result<(Position, Arc<Notify>), ReadError> {
        let mut state = self.lock();
        let (newest, epoch) = (state.version, state.epoch);
        let collection = state.collection(id);
        let floor = collection.history.floor();
        match version.unwrap_or(newest) {
            version if version < floor => Err(ReadError::Expired { floor }),
            version => {
                Ok((Position { version, epoch, ends: collection.ends }, Arc::clone(&collection.changed)))
            }
        }
    }

    /// Reads the next events of a watch, at most `most`.
    pub(crate) fn events(&self, id: &CollectionId, from: Position, most: usize) -> Result<Batch, ReadError> {
        let state = self.read();
        if state.epoch != from.epoch {
            return Err(ReadError::Cut);
        }
        let Some(collection) = state.collections.get(id) else { return Err(ReadError::Cut) };
        let floor = collection.history.floor();
        let unseen = collection.history.after(from.version).ok_or(ReadError::Expired { floor })?;
        let events: Vec<_> = unseen.take(most).cloned().collect();
        if events.is_empty() && collection.ends != from.ends {
            return Err(ReadError::NotServed);
        }
        let reached = match events.last() {
            Some(last) if events.len() == most => last.version(),
            Some(_) | None => state.version,
        };
        let position = Position { version: reached.max(from.version), ..from };
        Ok(Batch { events, position })
    }

    /// Removes the history of all collections.
    pub(crate) fn forget_history(&self) {
        let mut state = self.lock();
        let version = state.version;
        state.collections.values_mut().for_each(|collection| collection.history.forget(version));
    }

    /// Cuts all watches.
    pub(crate) fn cut_off(&self) {
        self.lock().epoch += 1;
        let wake = |collection: &Collection| collection.changed.notify_waiters();
        self.read().collections.values().for_each(wake);
    }

    /// Ends the watches of a collection after they have received all events.
    pub(crate) fn end(&self, id: &CollectionId) {
        let changed = {
            let mut state = self.lock();
            let collection = state.collection(id);
            collection.ends += 1;
            Arc::clone(&collection.changed)
        };
        changed.notify_waiters();
    }

    /// Restarts the versions, as after the restore of a backup. The objects do not change.
    pub(crate) fn reset_versions(&self) {
        let mut state = self.lock();
        let State { version, collections, .. } = &mut *state;
        *version = 1;
        for collection in collections.values_mut() {
            collection.renumber(|| {
                *version += 1;
                *version
            });
        }
        for collection in collections.values_mut() {
            collection.history.forget(*version);
        }
        state.rewrite_journal();
        drop(state);
        self.cut_off();
    }

    /// Returns all objects, to be restored later.
    pub(crate) fn snapshot(&self) -> StoreSnapshot {
        let state = self.read();
        let saved = state.collections.iter().map(|(id, collection)| (id.clone(), collection.saved()));
        StoreSnapshot { collections: saved.collect(), owners: state.owners.clone() }
    }

    /// Replaces all objects by those of a snapshot. Versions continue. The watches of changed collections end
    /// with 410, so that clients list them again.
    pub(crate) fn restore(&self, snapshot: &StoreSnapshot) {
        let mut state = self.lock();
        state.version += 1;
        let version = state.version;
        state.owners.clone_from(&snapshot.owners);
        for id in snapshot.collections.keys() {
            state.collection(id);
        }
        let mut changed = Vec::new();
        for (id, collection) in &mut state.collections {
            let objects = snapshot.collections.get(id).cloned().unwrap_or_default();
            collection.restore(objects, version);
            changed.push(Arc::clone(&collection.changed));
        }
        state.rewrite_journal();
        drop(state);
        changed.iter().for_each(|changed| changed.notify_waiters());
        self.raised.notify_waiters();
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn collection(&mut self, id: &CollectionId) -> &mut Collection {
        let history = self.history;
        let made = || Collection::new(History::new(history));
        self.collections.entry(id.clone()).or_insert_with(made)
    }

    fn write(
        &mut self,
        id: &CollectionId,
        key: &str,
        write: Write,
    ) -> Result<(Record, Arc<Notify>), WriteError> {
        let version = self.version + 1;
        let end = if matches!(write, Write::Remove(_)) { End::Deleted } else { End::Present };
        let collection = self.collection(id);
        let found = collection.get(key).map(Record::version);
        let record = match (write, found) {
            (Write::Create(content), None) => collection.put(*content, version),
            (Write::Replace(expected, content), Some(found)) if expected == found => {
                collection.put(*content, version)
            }
            (Write::Remove(expected), Some(found)) if expected == found => {
                collection.remove(key, version).ok_or(WriteError::Missing)?
            }
            (Write::Create(_), Some(_)) => return Err(WriteError::Exists),
            (Write::Replace(..) | Write::Remove(_), Some(_)) => return Err(WriteError::Changed),
            (Write::Replace(..) | Write::Remove(_), None) => return Err(WriteError::Missing),
        };
        let changed = Arc::clone(&collection.changed);
        self.add_owners(&record);
        self.version = version;
        self.save(id, &record, end);
        Ok((record, changed))
    }

    /// Saves a change, if changes are saved.
    fn save(&mut self, id: &CollectionId, record: &Record, end: End) {
        let Some(journal) = &mut self.journal else { return };
        let entry = Entry { group: &id.group, plural: &id.plural, record };
        match end {
            End::Deleted => journal.remove(entry),
            End::Present => journal.put(entry),
        }
        if journal.is_due() {
            self.rewrite_journal();
        }
    }

    /// Replaces the saved changes by the objects.
    fn rewrite_journal(&mut self) {
        let Self { journal: Some(journal), collections, version, .. } = self else { return };
        let entries = collections.iter().flat_map(|(id, collection)| {
            collection.records().map(|record| Entry { group: &id.group, plural: &id.plural, record })
        });
        journal.replace(*version, entries);
    }

    fn add_owners(&mut self, record: &Record) {
        for owner in record.content().owners() {
            if !self.owners.contains(owner) {
                self.owners.insert(owner.clone());
            }
        }
    }
}
