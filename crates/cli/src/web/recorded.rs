//! A recorded history as a source of changes.

use super::{
    change::{Change, ObjectId, Verb},
    describe::{Description, describe, describe_parts, needs_full_states, owners_of},
    log::ChangeLog,
    parts::changed_parts,
    source::{ChangeSource, GapInfo, KindInfo, KindStatus, Owner, SourceError, Status, is_secret},
    undo::Undo,
};
use crate::cli_error::chain;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube_history::{Event, Filter, History, KindId, ReadError, Version};
use kube_informer_wire::{Key, ManagedFields, Raw};
use serde_json::Value;
use std::{
    collections::{HashMap, HashSet},
    num::NonZero,
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
    thread,
    time::Duration,
};
use tokio::sync::watch;

/// The memory for the index of changes, in bytes.
const BUDGET: usize = 1 << 30;
/// The time between two reads of the folder.
pub(super) const REFRESH: Duration = Duration::from_secs(1);
/// The number of changes after which the page sees them.
const BATCH: usize = 1_000;

/// A recorded history, whose folder may still be written.
#[derive(Debug)]
pub(super) struct Recorded {
    server: String,
    state: Mutex<State>,
    log: RwLock<ChangeLog>,
    progress: watch::Sender<u64>,
    last_keys: Mutex<Option<KeysAt>>,
}

/// The keys of a kind at a moment, which a page requests again and again.
#[derive(Clone, Debug)]
struct KeysAt {
    kind: usize,
    time: Timestamp,
    /// The number of the next change: keys may be outdated after it.
    next: u64,
    keys: Vec<Key>,
}

#[derive(Debug)]
struct State {
    history: History,
    ids: Vec<KindId>,
    kinds: Vec<KindInfo>,
    /// The objects at the start of the history, by each of their owners. The log has those of later changes.
    initial_children: HashMap<String, Vec<ObjectId>>,
    /// The time up to which changes have been read.
    read_until: i64,
    error: Option<String>,
}

impl Recorded {
    /// Opens a folder. Changes are read by [`load`](Self::load).
    pub(super) fn open(folder: &Path) -> Result<Self, ReadError> {
        let history = History::open(folder)?;
        let start = history.span()?.start.as_microsecond();
        let state = State {
            history,
            ids: Vec::new(),
            kinds: Vec::new(),
            initial_children: HashMap::new(),
            read_until: start - 1,
            error: None,
        };
        let recorded = Self {
            server: folder.display().to_string(),
            state: Mutex::new(state),
            log: RwLock::new(ChangeLog::new(BUDGET, start)),
            progress: watch::Sender::new(0),
            last_keys: Mutex::new(None),
        };
        recorded.lock().add_kinds()?;
        recorded.add_initial_owners(start)?;
        Ok(recorded)
    }

    /// Adds the changes that have been recorded since the last call.
    pub(super) fn load(&self) -> Result<(), ReadError> {
        let (history, from) = {
            let mut state = self.lock();
            state.history.refresh()?;
            state.add_kinds()?;
            (state.history.clone(), state.read_until)
        };
        let to = history.span()?.end;
        let reader = self.lock().change_reader();
        let mut batch = Vec::with_capacity(BATCH);
        for version in history.changes(timestamp(from)..to, Filter::new())? {
            // A damaged version is a gap, which the page shows.
            batch.extend(version.ok());
            if batch.len() == BATCH {
                self.publish(reader.read_all(&batch));
                batch.clear();
            }
        }
        self.publish(reader.read_all(&batch));
        let mut state = self.lock();
        state.read_until = to.as_microsecond();
        state.error = None;
        Ok(())
    }

    /// Reports that the folder cannot be read.
    pub(super) fn failed(&self, error: &ReadError) {
        self.lock().error = Some(chain(error));
    }

    fn publish(&self, changes: Vec<RecordedChange>) {
        let Some(last) = changes.last().map(|change| change.time) else { return };
        let mut log = self.write();
        for change in changes {
            let change = change.shared(&mut log);
            log.push(change);
        }
        let next = log.next();
        drop(log);
        let mut state = self.lock();
        state.read_until = last;
        drop(state);
        self.progress.send_replace(next);
    }

    /// Reads the owners of the objects that are older than the history.
    fn add_initial_owners(&self, start: i64) -> Result<(), ReadError> {
        let (history, ids) = {
            let state = self.lock();
            (state.history.clone(), state.ids.clone())
        };
        let snapshot = history.at(timestamp(start))?;
        for (kind, id) in ids.into_iter().enumerate() {
            for version in snapshot.list(id, None).filter_map(Result::ok) {
                for owner in version.object().map_or_else(|_| Vec::new(), |raw| owners(&raw)) {
                    let object = ObjectId { kind, key: version.key().clone() };
                    self.lock().initial_children.entry(owner).or_default().push(object);
                }
            }
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, ChangeLog> {
        self.log.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the history, and the kind in it.
    fn find(&self, kind: usize) -> Option<(History, KindId)> {
        let state = self.lock();
        state.ids.get(kind).map(|id| (state.history.clone(), *id))
    }
}

/// Decodes recorded changes.
struct ChangeReader {
    ids: Vec<KindId>,
    kinds: Vec<KindInfo>,
}

/// A change whose texts are not shared yet.
struct RecordedChange {
    time: i64,
    object: ObjectId,
    verb: Verb,
    manager: Option<String>,
    /// The one that counts first.
    owners: Vec<String>,
    version: Option<Box<str>>,
    bytes: u32,
    description: Description,
}

impl ChangeReader {
    /// Reads changes on all cores.
    fn read_all(&self, versions: &[Version]) -> Vec<RecordedChange> {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let share = versions.len().div_ceil(cores).max(1);
        thread::scope(|scope| {
            let read = |versions| move || -> Vec<_> { self.read_share(versions).collect() };
            let threads: Vec<_> =
                versions.chunks(share).map(|versions| scope.spawn(read(versions))).collect();
            // A panic is not caught: it would hide changes.
            threads
                .into_iter()
                .flat_map(|thread| thread.join().expect("reading a change does not panic"))
                .collect()
        })
    }

    fn read_share(&self, versions: &[Version]) -> impl Iterator<Item = RecordedChange> {
        versions.iter().filter_map(|version| self.read(version))
    }

    fn read(&self, version: &Version) -> Option<RecordedChange> {
        let kind = self.ids.iter().position(|id| *id == version.kind_id())?;
        let verb = match version.event() {
            Event::Checkpoint => return None,
            Event::Added => Verb::Added,
            Event::Modified => Verb::Updated,
            Event::Deleted => Verb::Deleted,
        };
        let raw = version.object().ok();
        Some(RecordedChange {
            time: version.time().as_microsecond(),
            object: ObjectId { kind, key: version.key().clone() },
            verb,
            manager: version.manager().map(str::to_owned),
            owners: raw.as_ref().map(owners).unwrap_or_default(),
            version: version.version().map(|version| version.to_string().into()),
            bytes: raw.as_ref().map_or(0, |raw| u32::try_from(raw.bytes().len()).unwrap_or(u32::MAX)),
            description: self.describe(kind, verb, version, raw.as_ref()),
        })
    }

    /// Describes a change, an update by the parts that differ.
    fn describe(&self, kind: usize, verb: Verb, version: &Version, raw: Option<&Raw>) -> Description {
        let kind = &self.kinds[kind];
        let decoded = |raw: Option<&Raw>| raw.and_then(state).unwrap_or_default();
        match verb {
            Verb::Added => describe(kind, verb, Value::Null, decoded(raw)),
            Verb::Deleted => describe(kind, verb, decoded(raw), Value::Null),
            Verb::Updated => {
                let previous = version.previous().ok().flatten().and_then(|previous| previous.object().ok());
                let parts = previous.as_ref().zip(raw).filter(|_| !needs_full_states(kind));
                match parts.and_then(|(old, new)| changed_parts(old, new, ManagedFields::Drop)) {
                    Some([old, new]) => describe_parts(kind, old, new),
                    None => describe(kind, verb, decoded(previous.as_ref()), decoded(raw)),
                }
            }
        }
    }
}

impl RecordedChange {
    fn shared(self, log: &mut ChangeLog) -> Change {
        let Self { time, object, verb, manager, owners, version, bytes, description } = self;
        let mut owners = owners.iter().map(|owner| log.share(owner));
        let (owner, other_owners) = (owners.next(), owners.collect());
        Change {
            number: 0,
            slot: 0,
            time,
            object,
            verb,
            manager: manager.map(|manager| log.share(&manager)),
            owner,
            other_owners,
            version,
            bytes,
            words: description.words.into(),
            fields: log.share_list(description.fields.iter().map(|change| change.path.as_str())),
            undo: Undo::External,
        }
    }
}

impl State {
    fn change_reader(&self) -> ChangeReader {
        ChangeReader { ids: self.ids.clone(), kinds: self.kinds.clone() }
    }

    fn add_kinds(&mut self) -> Result<(), ReadError> {
        for (id, kind) in self.history.kinds()? {
            if !self.ids.contains(&id) {
                self.ids.push(id);
                let is_secret = is_secret(&[&kind.kind, &kind.plural, &kind.singular]);
                self.kinds.push(KindInfo { resource: kind.to_string(), kind: kind.kind.clone(), is_secret });
            }
        }
        Ok(())
    }
}

impl ChangeSource for Recorded {
    fn kinds(&self) -> Vec<KindInfo> {
        self.lock().kinds.clone()
    }

    fn log(&self) -> RwLockReadGuard<'_, ChangeLog> {
        self.log.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn progress(&self) -> watch::Receiver<u64> {
        self.progress.subscribe()
    }

    fn keys_at(&self, kind: usize, time: i64) -> Result<Vec<Key>, SourceError> {
        let Some((history, id)) = self.find(kind) else { return Ok(Vec::new()) };
        let time = timestamp(time).min(history.span()?.end);
        let next = self.log().next();
        let mut last = self.last_keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) =
            last.as_ref().filter(|last| (last.kind, last.time, last.next) == (kind, time, next))
        {
            return Ok(last.keys.clone());
        }
        let keys: Vec<Key> = history.at(time)?.keys(id).cloned().collect();
        *last = Some(KeysAt { kind, time, next, keys: keys.clone() });
        Ok(keys)
    }

    fn state_at(&self, object: &ObjectId, time: i64) -> Result<Option<Value>, SourceError> {
        let Some((history, id)) = self.find(object.kind) else { return Ok(None) };
        let end = history.span()?.end;
        let found = history.object(id, object.key.clone()).at(timestamp(time).min(end))?;
        Ok(found.map(|version| version.decode()).transpose()?)
    }

    fn children(&self, owner: &Owner) -> Vec<ObjectId> {
        let label = owner.label();
        let mut found: HashSet<ObjectId> = self.log().owned_by(&label).cloned().collect();
        found.extend(self.lock().initial_children.get(&label).into_iter().flatten().cloned());
        let is_near = |object: &ObjectId| {
            owner.namespace.is_none() || object.key.namespace() == owner.namespace.as_deref()
        };
        found.into_iter().filter(is_near).collect()
    }

    fn status(&self) -> Status {
        let state = self.lock();
        let history = state.history.clone();
        let (kinds, ids, error) = (state.kinds.clone(), state.ids.clone(), state.error.clone());
        let read_until = state.read_until;
        drop(state);
        let span = history.span().ok();
        let resource =
            |id: KindId| Some(kinds.get(ids.iter().position(|known| *known == id)?)?.resource.clone());
        let gaps = history.gaps().unwrap_or_default();
        let gap = |gap: &kube_history::Gap| GapInfo {
            resource: gap.kind.and_then(resource),
            from: gap.from.as_microsecond(),
            to: gap.to.map(|to| to.as_microsecond()),
            reason: gap.reason.clone(),
        };
        let kind = |kind: &KindInfo| KindStatus {
            resource: kind.resource.clone(),
            phase: "recorded",
            ..KindStatus::default()
        };
        let loaded = span.map_or(1.0, |span| {
            let (start, end) = (span.start.as_microsecond(), span.end.as_microsecond());
            if end <= start {
                1.0
            } else {
                ((read_until - start) as f64 / (end - start) as f64).clamp(0.0, 1.0)
            }
        });
        Status {
            mode: "recorded",
            server: self.server.clone(),
            scope: String::new(),
            stale: error.into_iter().collect(),
            loaded,
            kinds: kinds.iter().map(kind).collect(),
            gaps: gaps.iter().map(gap).collect(),
            notice: None,
        }
    }
}

/// Decodes an object without its managed fields: they are half of it, and no part of a description.
fn state(raw: &Raw) -> Option<Value> {
    raw.decode(ManagedFields::Drop).ok()
}

/// Returns the owners of an object, without decoding the rest.
fn owners(raw: &Raw) -> Vec<String> {
    let references: Option<Vec<OwnerReference>> = raw.read("/metadata/ownerReferences").ok().flatten();
    owners_of(&references.unwrap_or_default())
}

/// Converts microseconds; values out of range become the nearest time.
fn timestamp(microseconds: i64) -> Timestamp {
    let time = Timestamp::UNIX_EPOCH.saturating_add(SignedDuration::from_micros(microseconds));
    time.unwrap_or(if microseconds < 0 { Timestamp::MIN } else { Timestamp::MAX })
}

impl From<ReadError> for SourceError {
    fn from(error: ReadError) -> Self {
        Self(chain(&error))
    }
}
