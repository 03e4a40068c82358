//! Live caches as a source of changes, with a history in memory.

use super::{
    change::{Change, ObjectId, Verb},
    describe::{field_changes, manager, owner, version, words},
    log::ChangeLog,
    source::{ChangeSource, KindInfo, KindStatus, NOW, Owner, SourceError, Status, Subscriber, is_secret},
    undo::Undo,
};
use crate::change::told;
use crate::follow::{Followed, OWNER, Pace, events};
use crate::kinds::with_managed_fields;
use crate::meter::Tally;
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
use serde_json::Value;
use std::{
    collections::HashSet,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
    time::Duration,
};
use tokio::sync::watch;

/// The memory for changes, in bytes.
const BUDGET: usize = 128 << 20;
/// The number of comparisons of a state with the log while the log is behind the cache, and the time between them.
const ATTEMPTS: u32 = 10;
const CATCH_UP: Duration = Duration::from_millis(5);

/// Live caches with the changes since the start, within a memory budget.
///
/// A change keeps the previous values of its fields. The state at a moment is the current state with all later changes undone.
#[derive(Debug)]
pub(super) struct Live {
    followed: Vec<Followed>,
    kinds: Vec<KindInfo>,
    log: RwLock<ChangeLog>,
    progress: watch::Sender<u64>,
    tally: Tally,
    server: String,
    scope: String,
    notice: watch::Receiver<Option<String>>,
}

/// The informers of a live source, and their description.
pub(super) struct LiveOptions {
    pub(super) followed: Vec<Followed>,
    pub(super) tally: Tally,
    pub(super) server: String,
    pub(super) scope: String,
    pub(super) notice: watch::Receiver<Option<String>>,
}

impl Live {
    pub(super) fn new(options: LiveOptions) -> Self {
        let LiveOptions { followed, tally, server, scope, notice } = options;
        let info = |followed: &Followed| KindInfo {
            resource: followed.kind.resource(),
            kind: followed.kind.kind.clone(),
            is_secret: followed.kind.is_secret() || is_secret(&[&followed.kind.kind, &followed.kind.plural]),
        };
        Self {
            kinds: followed.iter().map(info).collect(),
            followed,
            log: RwLock::new(ChangeLog::new(BUDGET, Timestamp::now().as_microsecond())),
            progress: watch::Sender::new(0),
            tally,
            server,
            scope,
            notice,
        }
    }

    /// Adds every change to the log, until the informers stop.
    pub(super) async fn record(self: Arc<Self>) {
        let mut events = events(&self.followed, Pace::Latest);
        while let Some((kind, event)) = events.next().await {
            self.push(kind, &event);
        }
    }

    fn push(&self, kind: usize, event: &Event<DynamicObject>) {
        let state = |object: &DynamicObject| with_managed_fields(&self.followed[kind].kind, object);
        let (verb, old, new) = match event {
            Event::Added { phase: Phase::Initial, .. } => return,
            Event::Added { object, .. } => (Verb::Added, None, state(object.get())),
            Event::Updated { .. } if event.is_resync() => return,
            Event::Updated { old, new, .. } => (Verb::Updated, Some(state(old.get())), state(new.get())),
            Event::Deleted { old, last_known, .. } => {
                (Verb::Deleted, Some(state(old.get())), state(last_known.get()))
            }
            _ => return,
        };
        let info = &self.kinds[kind];
        let manager = manager(old.as_ref(), &new).filter(|_| verb != Verb::Deleted);
        let undo = match (&old, verb) {
            (Some(old), Verb::Updated) => Undo::between(old, &new),
            (Some(old), _) => Undo::state(old),
            (None, _) => Undo::Absent,
        };
        let words = match info.is_secret {
            true => words(info, verb, old.clone().unwrap_or_default(), new.clone()),
            false => told(event),
        };
        let (owner, version) = (owner(&new), version(&new));
        let bytes = u32::try_from(new.to_string().len()).unwrap_or(u32::MAX);
        let fields = match (old, verb) {
            (Some(old), Verb::Updated) => field_changes(info, old, new),
            _ => Vec::new(),
        };
        let mut log = self.write();
        let fields = fields.iter().map(|change| log.share(&change.path)).collect();
        let change = Change {
            number: 0,
            time: Timestamp::now().as_microsecond(),
            object: ObjectId { kind, key: event.key().clone() },
            verb,
            manager: manager.map(|manager| log.share(&manager)),
            owner: owner.map(|owner| log.share(&owner)),
            version,
            bytes,
            words: words.into(),
            fields,
            undo,
        };
        log.push(change);
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
        let followed = self.followed.get(object.kind)?;
        for _ in 0..ATTEMPTS {
            let current = followed.informer.get(&object.key);
            let version = current.as_ref().and_then(|object| object.metadata.resource_version.clone());
            let is_same = match self.log().of(object).next_back() {
                None => true,
                Some(last) if last.verb == Verb::Deleted => version.is_none(),
                Some(last) => last.version.as_deref() == version.as_deref(),
            };
            if is_same {
                return current.map(|object| with_managed_fields(&followed.kind, &object));
            }
            std::thread::sleep(CATCH_UP);
        }
        followed.informer.get(&object.key).map(|object| with_managed_fields(&followed.kind, &object))
    }

    fn kind_status(&self, followed: &Followed) -> KindStatus {
        let (status, name) = (followed.informer.status(), followed.informer.name());
        let subscriber = |subscriber: &kube_informer::informer::SubscriberStatus| Subscriber {
            name: subscriber.name.clone(),
            depth: subscriber.depth,
        };
        KindStatus {
            resource: followed.kind.resource(),
            phase: phase(&status),
            objects: status.objects as u64,
            version: status.version.as_ref().map(ToString::to_string).unwrap_or_default(),
            lag: self.tally.highest(HANDLER_LAG, name).unwrap_or_default(),
            events: status.counts.events,
            lists: status.counts.lists + status.counts.streams,
            relists: self.tally.by(RELISTS, name, "reason"),
            errors: self.tally.by(ERRORS, name, "kind"),
            bytes: self.tally.total(BYTES, name),
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
        let Some(followed) = self.followed.get(kind) else { return Ok(Vec::new()) };
        let mut keys: HashSet<Key> = followed.informer.snapshot().keys().into_iter().collect();
        let log = self.log();
        for object in log.objects().filter(|object| object.kind == kind) {
            // The first change after the moment knows whether the object existed before it.
            let Some(next) = log.of(object).find(|change| change.time > time) else { continue };
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
        for (kind, followed) in self.followed.iter().enumerate() {
            let keys = followed.informer.snapshot().index_keys(OWNER, &label).unwrap_or_default();
            found.extend(keys.into_iter().map(|key| ObjectId { kind, key }));
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
        let kinds: Vec<KindStatus> =
            self.followed.iter().map(|followed| self.kind_status(followed)).collect();
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
