//! Live caches as a source of changes, with a history in memory.

use super::{
    change::{Change, ObjectId, Verb},
    describe::{Description, describe, describe_parts, manager, needs_full_states, owners_of},
    key_lists::KeyLists,
    log::ChangeLog,
    parts::{changed_parts, managed_part},
    source::{ChangeSource, KindInfo, KindStatus, NOW, Owner, SourceError, Status, Subscriber, is_secret},
    undo::Undo,
};
use crate::change::DELETION_NOT_RECEIVED;
use crate::cores::{on_all_cores, part_len};
use crate::kinds::Kind;
use crate::meter::MetricValues;
use crate::safe::clean_name;
use futures_util::{Stream, StreamExt, stream};
use jiff::Timestamp;
use kube_core::{DynamicObject, Resource};
use kube_informer::{
    Event, Informer,
    event::{Deletion, Phase},
    informer::{InformerBuilder, InformerPhase, InformerStatus},
    reflector::{
        ReflectorPhase,
        metrics::{BYTES, ERRORS, RELISTS},
    },
    subscription::{Policy, SubscribeOptions, metrics::HANDLER_LAG},
};
use kube_informer_wire::{Key, Lazy, ManagedFields};
use serde_json::Value;
use std::{
    collections::HashSet,
    panic::resume_unwind,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
    thread,
    time::Duration,
};
use tokio::sync::watch;

/// The memory for changes, in bytes.
const BUDGET: usize = 128 << 20;
/// The index of objects by all their owners, as `Kind/name`.
const OWNER: &str = "owner";
/// The number of waiting changes from which on several changes of an object become one. Each holds two compressed states.
const MAX_WAITING: usize = 2_048;
/// The maximum number of events that are described together, and the minimum for one thread.
const MAX_BATCH: usize = 256;
const MIN_PART: usize = 16;
/// The number of comparisons of a state with the log while the log is behind the cache, and the time between them.
const ATTEMPTS: u32 = 10;
const CATCH_UP: Duration = Duration::from_millis(5);

/// An object of a cache. Most of its fields are never decoded.
pub(super) type LiveObject = Lazy<DynamicObject>;

/// A kind with its cache.
#[derive(Clone, Debug)]
pub(super) struct LiveKind {
    pub(super) kind: Kind,
    pub(super) informer: Informer<LiveObject>,
}

/// Adds what a live source needs to an informer: the field managers, and an index by owner.
pub(super) fn prepared(builder: InformerBuilder<DynamicObject>) -> InformerBuilder<LiveObject> {
    let owners =
        |object: &LiveObject| owners_of(object.meta().owner_references.as_deref().unwrap_or_default());
    builder.managed_fields(ManagedFields::Keep).lazy().index(OWNER, owners)
}

/// Live caches with the changes since the start, within a memory budget.
///
/// A change keeps the previous values of its fields. The state at a moment is the current state with all later changes undone.
#[derive(Debug)]
pub(super) struct Live {
    watched: Vec<LiveKind>,
    kinds: Vec<KindInfo>,
    log: RwLock<ChangeLog>,
    key_lists: KeyLists,
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
    /// The one that counts first.
    owners: Vec<String>,
    fields: Vec<String>,
}

/// The differences between the states of an event.
struct Described {
    verb: Verb,
    description: Description,
    manager: Option<String>,
    undo: Undo,
}

/// The informers of a live source, and their description.
pub(super) struct LiveOptions {
    pub(super) watched: Vec<LiveKind>,
    pub(super) metric_values: MetricValues,
    pub(super) server: String,
    pub(super) scope: String,
    pub(super) notice: watch::Receiver<Option<String>>,
}

impl Live {
    pub(super) fn new(options: LiveOptions) -> Self {
        let LiveOptions { watched, metric_values, server, scope, notice } = options;
        let info = |watched: &LiveKind| KindInfo {
            resource: watched.kind.resource(),
            kind: watched.kind.kind.clone(),
            is_secret: watched.kind.is_secret() || is_secret(&[&watched.kind.kind, &watched.kind.plural]),
        };
        Self {
            kinds: watched.iter().map(info).collect(),
            watched,
            log: RwLock::new(ChangeLog::new(BUDGET, Timestamp::now().as_microsecond())),
            key_lists: KeyLists::default(),
            progress: watch::Sender::new(0),
            metric_values,
            server,
            scope,
            notice,
        }
    }

    /// Adds every change to the log, until the informers stop.
    pub(super) async fn record(self: Arc<Self>) {
        let mut events = self.events().ready_chunks(MAX_BATCH);
        while let Some(batch) = events.next().await {
            let live = Arc::clone(&self);
            // The states are decoded and compared, which takes longer than a task may block.
            let recorded = tokio::task::spawn_blocking(move || live.append(live.described(&batch)));
            if let Err(panic) = recorded.await {
                resume_unwind(panic.into_panic());
            }
        }
    }

    /// Returns the events of all kinds, each with the position of its kind.
    fn events(&self) -> impl Stream<Item = (usize, Event<LiveObject>)> + Unpin + use<> {
        let streams = self.watched.iter().enumerate().map(|(kind, watched)| {
            let options = SubscribeOptions::new().named("page").policy(Policy::coalesce(MAX_WAITING));
            watched.informer.subscribe_with(options).map(move |event| (kind, event)).boxed()
        });
        stream::select_all(streams.collect::<Vec<_>>())
    }

    /// Describes events in their order, on all cores if there are many.
    fn described(&self, batch: &[(usize, Event<LiveObject>)]) -> Vec<NewChange> {
        let describe_all = |part: &[(usize, Event<LiveObject>)]| {
            part.iter().filter_map(|(kind, event)| self.describe(*kind, event)).collect::<Vec<_>>()
        };
        let parts = batch.chunks(part_len(batch.len(), MIN_PART));
        on_all_cores(parts, describe_all).into_iter().flatten().collect()
    }

    /// Describes an event; `None` if it is not a change.
    fn describe(&self, kind: usize, event: &Event<LiveObject>) -> Option<NewChange> {
        let (info, watched) = (&self.kinds[kind], &self.watched[kind]);
        let Described { verb, description, manager, undo } = match event {
            Event::Added { phase: Phase::Initial, .. } => return None,
            Event::Added { object, .. } => {
                let state = watched.state(object.get());
                let manager = manager(None, &state);
                let description = describe(info, Verb::Added, Value::Null, state);
                Described { verb: Verb::Added, description, manager, undo: Undo::Absent }
            }
            Event::Updated { .. } if event.is_resync() => return None,
            Event::Updated { old, new, .. } => self.describe_update(kind, old.get(), new.get()),
            Event::Deleted { old, last_known, deletion, .. } => {
                let undo = Undo::state(&watched.state(old.get()));
                let mut description =
                    describe(info, Verb::Deleted, watched.state(last_known.get()), Value::Null);
                if *deletion == Deletion::Inferred {
                    description.words = DELETION_NOT_RECEIVED.to_owned();
                }
                Described { verb: Verb::Deleted, description, manager: None, undo }
            }
            _ => return None,
        };
        let object = event.object().get();
        let change = Change {
            number: 0,
            slot: 0,
            time: Timestamp::now().as_microsecond(),
            object: ObjectId { kind, key: event.key().clone() },
            verb,
            manager: None,
            owner: None,
            other_owners: Box::default(),
            version: object.meta().resource_version.as_deref().map(Into::into),
            bytes: u32::try_from(object.raw().bytes().len()).unwrap_or(u32::MAX),
            words: description.words.into(),
            fields: Arc::default(),
            undo,
        };
        let owners = owners_of(object.meta().owner_references.as_deref().unwrap_or_default());
        let fields = description.fields.into_iter().map(|change| change.path).collect();
        Some(NewChange { change, manager, owners, fields })
    }

    /// Describes an update by the parts that differ: decoding and comparing both states would take most of the time of this program.
    fn describe_update(&self, kind: usize, old: &LiveObject, new: &LiveObject) -> Described {
        let (info, watched) = (&self.kinds[kind], &self.watched[kind]);
        let verb = Verb::Updated;
        let states = || [watched.state(old), watched.state(new)];
        let parts = changed_parts(old.raw(), new.raw(), ManagedFields::Keep);
        let is_partial = parts.is_some() && !needs_full_states(info);
        let [part_of_old, part_of_new] = parts.unwrap_or_else(states);
        let undo = Undo::between(&part_of_old, &part_of_new);
        let manager = match part_of_new.pointer("/metadata/managedFields") {
            Some(_) => manager(Some(&part_of_old), &part_of_new),
            None => manager(None, &managed_part(new.raw())),
        };
        let description = match is_partial {
            true => describe_parts(info, part_of_old, part_of_new),
            false => {
                let [old, new] = states();
                describe(info, verb, old, new)
            }
        };
        Described { verb, description, manager, undo }
    }

    /// Appends changes to the log.
    fn append(&self, changes: Vec<NewChange>) {
        let mut log = self.write();
        for NewChange { mut change, manager, owners, fields } in changes {
            change.manager = manager.map(|manager| log.share(&manager));
            let mut owners = owners.iter().map(|owner| log.share(owner));
            (change.owner, change.other_owners) = (owners.next(), owners.collect());
            change.fields = log.share_list(fields.iter().map(String::as_str));
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
            let version = current.as_ref().and_then(|object| object.meta().resource_version.clone());
            let is_same = match self.log().of(object).next_back() {
                None => true,
                Some(last) if last.verb == Verb::Deleted => version.is_none(),
                Some(last) => last.version.as_deref() == version.as_deref(),
            };
            if is_same {
                return current.map(|object| watched.state(&object));
            }
            thread::sleep(CATCH_UP);
        }
        watched.informer.get(&object.key).map(|object| watched.state(&object))
    }

    fn kind_status(&self, watched: &LiveKind) -> KindStatus {
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

    fn keys_at(&self, kind: usize, time: i64) -> Result<Arc<[Key]>, SourceError> {
        let Some(watched) = self.watched.get(kind) else { return Ok(Arc::default()) };
        // The cache may be ahead of the log: adding an object twice, or deleting it twice, makes no difference.
        self.key_lists.at(&self.log(), kind, time, || Ok(watched.informer.snapshot().keys()))
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
            let keys = watched.informer.snapshot().index_keys(OWNER, &label).unwrap_or_default();
            found.extend(keys.into_iter().map(|key| ObjectId { kind, key }));
        }
        found.extend(self.log().owned_by(&label).cloned());
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

impl LiveKind {
    /// Decodes an object, with its kind, which lists do not contain, and with its managed fields.
    fn state(&self, object: &LiveObject) -> Value {
        // The cache has checked the object when it arrived.
        let mut state: Value = object.raw().decode(ManagedFields::Keep).unwrap_or_default();
        if let Some(fields) = state.as_object_mut() {
            fields.insert("apiVersion".to_owned(), self.kind.api_version().into());
            fields.insert("kind".to_owned(), self.kind.kind.clone().into());
        }
        state
    }
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
