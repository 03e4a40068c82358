//! A recorded history as a source of changes.

use super::{
    change::{Change, ObjectId, Verb},
    describe::{Description, describe, describe_parts, needs_full_states, owners_of},
    key_lists::KeyLists,
    log::ChangeLog,
    parts::changed_parts,
    source::{ChangeSource, GapInfo, KindInfo, KindStatus, NOW, Owner, SourceError, Status, is_secret},
    undo::Undo,
};
use crate::cli_error::chain;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube_history::{Event, History, KindId, ReadError, Transition};
use kube_informer_wire::{Key, ManagedFields, Raw};
use serde_json::Value;
use std::{
    collections::{HashMap, HashSet},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
    time::Duration,
};
use tokio::sync::watch;

/// The memory for the index of changes, in bytes.
const BUDGET: usize = 1 << 30;
/// The time between two reads of the folder.
pub(super) const REFRESH: Duration = Duration::from_secs(1);
/// The number of changes that are appended at once.
const PART: usize = 1_000;

/// A recorded history, whose folder may still be written.
#[derive(Debug)]
pub(super) struct Recorded {
    server: String,
    state: Mutex<State>,
    log: RwLock<ChangeLog>,
    progress: watch::Sender<u64>,
    key_lists: KeyLists,
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
    /// True if the changes that were recorded at the start have been read.
    is_read: bool,
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
            is_read: false,
            error: None,
        };
        let recorded = Self {
            server: folder.display().to_string(),
            state: Mutex::new(state),
            log: RwLock::new(ChangeLog::new(BUDGET, start)),
            progress: watch::Sender::new(0),
            key_lists: KeyLists::default(),
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
        let read = |change: Transition<'_>| reader.read(change, &self.log);
        history.read_transitions(timestamp(from)..to, read, |changes| self.publish(changes))?;
        let mut state = self.lock();
        state.read_until = to.as_microsecond();
        state.error = None;
        if !std::mem::replace(&mut state.is_read, true) {
            let kinds = 0..state.kinds.len();
            drop(state);
            // The first page that shows the objects does not wait for this.
            kinds.for_each(|kind| _ = self.keys_at(kind, NOW));
        }
        Ok(())
    }

    /// Reports that the folder cannot be read.
    pub(super) fn failed(&self, error: &ReadError) {
        self.lock().error = Some(chain(error));
    }

    /// Appends changes to the log, in parts, between which pages can read it.
    fn publish(&self, changes: Vec<Option<RecordedChange>>) {
        let mut changes = changes.into_iter().flatten().peekable();
        while changes.peek().is_some() {
            let mut log = self.write();
            for change in changes.by_ref().take(PART) {
                let change = change.shared(&mut log);
                log.push(change);
            }
            let (next, end) = (log.next(), log.end());
            drop(log);
            self.lock().read_until = end;
            self.progress.send_replace(next);
        }
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
    words: String,
    fields: Fields,
}

/// The paths of changed fields.
enum Fields {
    /// The list that the log shares.
    Shared(Arc<[Arc<str>]>),
    New(Vec<String>),
}

impl ChangeReader {
    /// Describes a change; `None` if it is not one. The log is only read.
    fn read(&self, change: Transition<'_>, log: &RwLock<ChangeLog>) -> Option<RecordedChange> {
        let (version, after) = (change.version, change.after);
        let kind = self.ids.iter().position(|id| *id == version.kind_id())?;
        let verb = match version.event() {
            Event::Checkpoint => return None,
            Event::Added => Verb::Added,
            Event::Modified => Verb::Updated,
            Event::Deleted => Verb::Deleted,
        };
        let Description { words, fields } = self.describe(kind, verb, change);
        let paths = fields.into_iter().map(|field| field.path).collect::<Vec<_>>();
        let known = log.read().unwrap_or_else(PoisonError::into_inner).known_list(&paths);
        Some(RecordedChange {
            time: version.time().as_microsecond(),
            object: ObjectId { kind, key: version.key().clone() },
            verb,
            manager: version.manager().map(str::to_owned),
            owners: after.map(owners).unwrap_or_default(),
            version: version.version().map(|version| version.to_string().into()),
            bytes: after.map_or(0, |raw| u32::try_from(raw.bytes().len()).unwrap_or(u32::MAX)),
            words,
            fields: known.map_or(Fields::New(paths), Fields::Shared),
        })
    }

    /// Describes a change, an update by the parts that differ.
    fn describe(&self, kind: usize, verb: Verb, change: Transition<'_>) -> Description {
        let kind = &self.kinds[kind];
        let Transition { before, after, .. } = change;
        let decoded = |raw: Option<&Raw>| raw.and_then(state).unwrap_or_default();
        match verb {
            Verb::Added => describe(kind, verb, Value::Null, decoded(after)),
            Verb::Deleted => describe(kind, verb, decoded(after), Value::Null),
            Verb::Updated => {
                let parts = before.zip(after).filter(|_| !needs_full_states(kind));
                match parts.and_then(|(old, new)| changed_parts(old, new, ManagedFields::Drop)) {
                    Some([old, new]) => describe_parts(kind, old, new),
                    None => describe(kind, verb, decoded(before), decoded(after)),
                }
            }
        }
    }
}

impl RecordedChange {
    fn shared(self, log: &mut ChangeLog) -> Change {
        let Self { time, object, verb, manager, owners, version, bytes, words, fields } = self;
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
            words: words.into(),
            fields: match fields {
                Fields::Shared(list) => list,
                Fields::New(paths) => log.share_list(paths.iter().map(String::as_str)),
            },
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

    fn keys_at(&self, kind: usize, time: i64) -> Result<Arc<[Key]>, SourceError> {
        let Some((history, id)) = self.find(kind) else { return Ok(Arc::default()) };
        let at = |time| -> Result<Vec<Key>, SourceError> {
            let time = timestamp(time).min(history.span()?.end);
            Ok(history.at(time)?.keys(id).cloned().collect())
        };
        let log = self.log();
        let is_read = self.lock().is_read;
        if !is_read || (time < log.start() && log.dropped() > 0) {
            return Ok(at(time)?.into());
        }
        let end = log.end();
        self.key_lists.at(&log, kind, time, || at(end))
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
