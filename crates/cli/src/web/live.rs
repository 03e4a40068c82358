//! Live caches as a source of changes, with a history in memory.

use super::{
    change::{Change, ObjectId, Verb},
    describe::{describe, field_changes, manager, owner, version},
    log::ChangeLog,
    source::{ChangeSource, KindInfo, KindStatus, NOW, Owner, SourceError, Status, Subscriber, is_secret},
    undo::Undo,
};
use crate::change::description;
use crate::informers::{Delivery, WatchedResource, events};
use crate::kinds::with_managed_fields;
use crate::meter::MetricValues;
use crate::safe::clean_name;
use futures_util::StreamExt;
use jiff::Timestamp;
use kube_core::DynamicObject;
use kube_informer::{
    Event,
    event::Phase,
    informer::{InformerPhase, InformerStatus},
    reflector::{
        ReflectorPhase,
        metrics::{BYTES, ERRORS, RELISTS},
    },
    subscription::metrics::HANDLER_LAG,
};
use kube_informer_wire::Key;
use serde_json::{Map, Value, json};
use std::{
    collections::HashSet,
    io,
    num::NonZeroUsize,
    panic::resume_unwind,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
    thread,
    time::Duration,
};
use tokio::sync::watch;

/// The memory for changes, in bytes.
const BUDGET: usize = 128 << 20;
/// The indexes of the names of the first two owners, and their paths. They are read from the bytes, so that an object is not decoded
/// when it arrives. Objects with more owners are rare.
pub(super) const OWNER_NAMES: [(&str, &str); 2] =
    [("owner", "/metadata/ownerReferences/0/name"), ("second-owner", "/metadata/ownerReferences/1/name")];
/// The maximum number of events that are described together, and the minimum for one thread.
const MAX_BATCH: usize = 256;
const MIN_PART: usize = 16;
/// The number of comparisons of a state with the log while the log is behind the cache, and the time between them.
const ATTEMPTS: u32 = 10;
const CATCH_UP: Duration = Duration::from_millis(5);

/// Live caches with the changes since the start, within a memory budget.
///
/// A change keeps the previous values of its fields. The state at a moment is the current state with all later changes undone.
#[derive(Debug)]
pub(super) struct Live {
    watched: Vec<WatchedResource>,
    kinds: Vec<KindInfo>,
    log: RwLock<ChangeLog>,
    progress: watch::Sender<u64>,
    metric_values: MetricValues,
    server: String,
    scope: String,
    notice: watch::Receiver<Option<String>>,
}

/// A change whose texts are not shared with the log yet.
struct NewChange {
    change: Change,
    manager: Option<String>,
    owner: Option<String>,
    fields: Vec<String>,
}

/// The informers of a live source, and their description.
pub(super) struct LiveOptions {
    pub(super) watched: Vec<WatchedResource>,
    pub(super) metric_values: MetricValues,
    pub(super) server: String,
    pub(super) scope: String,
    pub(super) notice: watch::Receiver<Option<String>>,
}

impl Live {
    pub(super) fn new(options: LiveOptions) -> Self {
        let LiveOptions { watched, metric_values, server, scope, notice } = options;
        let info = |watched: &WatchedResource| KindInfo {
            resource: watched.kind.resource(),
            kind: watched.kind.kind.clone(),
            is_secret: watched.kind.is_secret() || is_secret(&[&watched.kind.kind, &watched.kind.plural]),
        };
        Self {
            kinds: watched.iter().map(info).collect(),
            watched,
            log: RwLock::new(ChangeLog::new(BUDGET, Timestamp::now().as_microsecond())),
            progress: watch::Sender::new(0),
            metric_values,
            server,
            scope,
            notice,
        }
    }

    /// Adds every change to the log, until the informers stop.
    pub(super) async fn record(self: Arc<Self>) {
        let mut events = events(&self.watched, Delivery::Latest).ready_chunks(MAX_BATCH);
        while let Some(batch) = events.next().await {
            let live = Arc::clone(&self);
            // The states are decoded and compared, which takes longer than a task may block.
            let recorded = tokio::task::spawn_blocking(move || live.append(live.described(&batch)));
            if let Err(panic) = recorded.await {
                resume_unwind(panic.into_panic());
            }
        }
    }

    /// Describes events in their order, on all cores if there are many.
    fn described(&self, batch: &[(usize, Event<DynamicObject>)]) -> Vec<NewChange> {
        let describe_all = |part: &[(usize, Event<DynamicObject>)]| {
            part.iter().filter_map(|(kind, event)| self.describe(*kind, event)).collect::<Vec<_>>()
        };
        let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let part = batch.len().div_ceil(threads).max(MIN_PART);
        thread::scope(|scope| {
            let mut parts = batch.chunks(part);
            let first = parts.next().unwrap_or_default();
            let others: Vec<_> = parts.map(|part| scope.spawn(move || describe_all(part))).collect();
            let mut changes = describe_all(first);
            changes.extend(
                others.into_iter().flat_map(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic))),
            );
            changes
        })
    }

    /// Describes an event; `None` if it is not a change.
    fn describe(&self, kind: usize, event: &Event<DynamicObject>) -> Option<NewChange> {
        let info = &self.kinds[kind];
        let state = |object: &DynamicObject| with_managed_fields(&self.watched[kind].kind, object);
        let (verb, old, new) = match event {
            Event::Added { phase: Phase::Initial, .. } => return None,
            Event::Added { object, .. } => (Verb::Added, None, state(object.get())),
            Event::Updated { .. } if event.is_resync() => return None,
            Event::Updated { old, new, .. } => {
                let [old, new] = changed_parts(old.get(), new.get());
                (Verb::Updated, Some(old), new)
            }
            Event::Deleted { old, last_known, .. } => {
                (Verb::Deleted, Some(state(old.get())), state(last_known.get()))
            }
            _ => return None,
        };
        let manager = manager(old.as_ref(), &new).filter(|_| verb != Verb::Deleted);
        let undo = match (&old, verb) {
            (Some(old), Verb::Updated) => Undo::between(old, &new),
            (Some(old), _) => Undo::state(old),
            (None, _) => Undo::Absent,
        };
        let words = match info.is_secret {
            true => describe(info, verb, old.clone().unwrap_or_default(), new.clone()).words,
            false => description(event),
        };
        let change = Change {
            number: 0,
            time: Timestamp::now().as_microsecond(),
            object: ObjectId { kind, key: event.key().clone() },
            verb,
            manager: None,
            owner: None,
            version: version(&new),
            bytes: encoded_size(event.object().get()),
            words: words.into(),
            fields: Box::default(),
            undo,
        };
        let owner = owner(&new);
        let fields = match (old, verb) {
            (Some(old), Verb::Updated) => field_changes(info, old, new),
            _ => Vec::new(),
        };
        let fields = fields.into_iter().map(|change| change.path).collect();
        Some(NewChange { change, manager, owner, fields })
    }

    /// Appends changes to the log.
    fn append(&self, changes: Vec<NewChange>) {
        let mut log = self.write();
        for NewChange { mut change, manager, owner, fields } in changes {
            change.manager = manager.map(|manager| log.share(&manager));
            change.owner = owner.map(|owner| log.share(&owner));
            change.fields = fields.iter().map(|path| log.share(path)).collect();
            log.push(change);
        }
        let next = log.next();
        drop(log);
        self.progress.send_replace(next);
    }

    fn write(&self) -> RwLockWriteGuard<'_, ChangeLog> {
        self.log.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the state of an object after its last change in the log.
    ///
    /// The cache is ahead of the log by the changes that are being delivered, so this waits briefly until both have the same version.
    fn latest(&self, object: &ObjectId) -> Option<Value> {
        let watched = self.watched.get(object.kind)?;
        for _ in 0..ATTEMPTS {
            let current = watched.informer.get(&object.key);
            let version = current.as_ref().and_then(|object| object.metadata.resource_version.clone());
            let is_same = match self.log().of(object).next_back() {
                None => true,
                Some(last) if last.verb == Verb::Deleted => version.is_none(),
                Some(last) => last.version.as_deref() == version.as_deref(),
            };
            if is_same {
                return current.map(|object| with_managed_fields(&watched.kind, &object));
            }
            thread::sleep(CATCH_UP);
        }
        watched.informer.get(&object.key).map(|object| with_managed_fields(&watched.kind, &object))
    }

    fn kind_status(&self, watched: &WatchedResource) -> KindStatus {
        let (status, name) = (watched.informer.status(), watched.informer.name());
        let subscriber = |subscriber: &kube_informer::informer::SubscriberStatus| Subscriber {
            name: subscriber.name.clone(),
            depth: subscriber.depth,
        };
        KindStatus {
            resource: watched.kind.resource(),
            phase: phase(&status),
            objects: status.objects as u64,
            version: status.version.as_ref().map(ToString::to_string).unwrap_or_default(),
            lag: self.metric_values.highest(HANDLER_LAG, name).unwrap_or_default(),
            events: status.counts.events,
            lists: status.counts.lists + status.counts.streams,
            relists: self.metric_values.by(RELISTS, name, "reason"),
            errors: self.metric_values.by(ERRORS, name, "kind"),
            bytes: self.metric_values.total(BYTES, name),
            error: status.last_error.as_deref().map(clean_name),
            received: status.times.received.map(|received| received.elapsed().as_secs_f64()),
            subscribers: status.subscribers.iter().map(subscriber).collect(),
        }
    }
}

impl ChangeSource for Live {
    fn kinds(&self) -> Vec<KindInfo> {
        self.kinds.clone()
    }

    fn log(&self) -> RwLockReadGuard<'_, ChangeLog> {
        self.log.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn progress(&self) -> watch::Receiver<u64> {
        self.progress.subscribe()
    }

    fn keys_at(&self, kind: usize, time: i64) -> Result<Vec<Key>, SourceError> {
        let Some(watched) = self.watched.get(kind) else { return Ok(Vec::new()) };
        let mut keys = watched.informer.snapshot().keys();
        if time == NOW {
            keys.sort_unstable();
            return Ok(keys);
        }
        let mut keys: HashSet<Key> = keys.into_iter().collect();
        let log = self.log();
        for object in log.objects().filter(|object| object.kind == kind) {
            // The first change after the moment knows whether the object existed before it.
            let Some(next) = log.first_after(object, time) else { continue };
            if next.verb == Verb::Added {
                keys.remove(&object.key);
            } else {
                keys.insert(object.key.clone());
            }
        }
        let mut keys: Vec<_> = keys.into_iter().collect();
        keys.sort_unstable();
        Ok(keys)
    }

    fn state_at(&self, object: &ObjectId, time: i64) -> Result<Option<Value>, SourceError> {
        let state = self.latest(object);
        if time == NOW {
            return Ok(state);
        }
        let log = self.log();
        if time < log.start() && log.dropped() > 0 {
            return Err(SourceError(
                "the moment is before the first change that is kept in memory".to_owned(),
            ));
        }
        let later = log.of(object).rev().take_while(|change| change.time > time);
        Ok(later.fold(state, |state, change| change.undo.apply(state)))
    }

    fn children(&self, owner: &Owner) -> Vec<ObjectId> {
        let label = owner.label();
        let mut found = HashSet::new();
        for (kind, watched) in self.watched.iter().enumerate() {
            let snapshot = watched.informer.snapshot();
            let indexes = OWNER_NAMES.into_iter();
            let keys =
                indexes.flat_map(|(index, _)| snapshot.index_keys(index, &owner.name).unwrap_or_default());
            let is_child = |key: &Key| {
                let object = snapshot.get(key);
                let mut owners =
                    object.iter().flat_map(|object| object.metadata.owner_references.iter().flatten());
                owners.any(|reference| reference.kind == owner.kind && reference.name == owner.name)
            };
            found.extend(keys.filter(is_child).map(|key| ObjectId { kind, key }));
        }
        let log = self.log();
        let owned = log.since(0).filter(|change| change.owner.as_deref() == Some(&label));
        found.extend(owned.map(|change| change.object.clone()));
        let is_near = |object: &ObjectId| {
            owner.namespace.is_none() || object.key.namespace() == owner.namespace.as_deref()
        };
        found.into_iter().filter(is_near).collect()
    }

    fn status(&self) -> Status {
        let kinds: Vec<KindStatus> = self.watched.iter().map(|watched| self.kind_status(watched)).collect();
        let stale = |kind: &KindStatus| {
            let error = kind.error.as_deref().unwrap_or("no connection to the server");
            matches!(kind.phase, "waiting" | "stopped").then(|| format!("{}: {error}", kind.resource))
        };
        Status {
            mode: "live",
            server: self.server.clone(),
            scope: self.scope.clone(),
            stale: kinds.iter().filter_map(stale).collect(),
            loaded: 1.0,
            kinds,
            gaps: Vec::new(),
            notice: self.notice.borrow().clone(),
        }
    }
}

/// Returns the metadata of both states, and the other top-level fields that differ. Usually that is the status only.
fn changed_parts(old: &DynamicObject, new: &DynamicObject) -> [Value; 2] {
    let part = |object: &DynamicObject, other: &DynamicObject| {
        let fields = object.data.as_object().into_iter().flatten();
        let changed = fields.filter(|(name, value)| other.data.get(*name) != Some(*value));
        let mut part: Map<String, Value> =
            changed.map(|(name, value)| (name.clone(), value.clone())).collect();
        part.insert("metadata".to_owned(), json!(object.metadata));
        Value::Object(part)
    };
    [part(old, new), part(new, old)]
}

/// Returns the size of an object in JSON, without creating the text.
fn encoded_size(object: &DynamicObject) -> u32 {
    struct Counter(usize);
    impl io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    // Neither the object nor the counter fails.
    let _ = serde_json::to_writer(&mut counter, object);
    u32::try_from(counter.0).unwrap_or(u32::MAX)
}

fn phase(status: &InformerStatus) -> &'static str {
    let is = |phase| status.sources.iter().any(|source| source.status.phase == phase);
    match status.phase {
        InformerPhase::Stopped => "stopped",
        _ if is(ReflectorPhase::Waiting) => "waiting",
        _ if is(ReflectorPhase::Listing) => "listing",
        InformerPhase::Synced => "watching",
        _ => "starting",
    }
}
