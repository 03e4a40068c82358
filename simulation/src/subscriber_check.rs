//! Checks the events of one subscriber against the previous ones.

use crate::{
    history::{History, Rule},
    persisted_state::PersistedState,
    planted_bug::PlantedBug,
    write_log::{Versions, WriteLog},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{
    cache::Store,
    event::{Deletion, Event, Phase},
};
use std::collections::BTreeMap;

/// The state that results from the events of a subscriber.
#[derive(Debug)]
pub(crate) struct SubscriberCheck {
    name: String,
    history: History,
    store: Store<ConfigMap>,
    known: BTreeMap<String, Identity>,
    /// The changes, without resyncs and without the objects that existed when it joined.
    pub(crate) changes: Vec<Change>,
    /// The number of pending events for objects that existed when it joined.
    replay: usize,
    /// Objects that are not compared with the write log yet: the writer may not have recorded them yet.
    unverified: Vec<ObservedObject>,
    /// The state that the subscriber persists.
    persisted: Option<PersistedState>,
    /// Set for the planted bug that reorders events.
    is_reordering: bool,
    /// An event that is delivered after the next one.
    delayed: Option<Event<ConfigMap>>,
    is_over: bool,
}

/// The part of an event that is the same for all subscribers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) key: String,
    pub(crate) version: u64,
    pub(crate) is_deleted: bool,
    /// False for the initial list.
    pub(crate) is_live: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Identity {
    version: u64,
    uid: String,
}

/// An object in a cache or in an event.
#[derive(Clone, Debug)]
pub(crate) struct ObservedObject {
    pub(crate) key: String,
    pub(crate) version: u64,
    pub(crate) uid: String,
    pub(crate) value: String,
    pub(crate) is_front: bool,
    /// The generation of the content, which may change under the same version.
    pub(crate) generation: Option<char>,
}

impl SubscriberCheck {
    /// Creates the checks of a subscriber that joins when the cache has `replay` objects for it.
    pub(crate) fn new(name: String, history: History, store: Store<ConfigMap>, replay: usize) -> Self {
        Self {
            name,
            history,
            store,
            known: BTreeMap::new(),
            changes: Vec::new(),
            replay,
            unverified: Vec::new(),
            persisted: None,
            is_reordering: false,
            delayed: None,
            is_over: false,
        }
    }

    /// Adds objects that the subscriber has already.
    pub(crate) fn with_known<'s>(mut self, observed: impl Iterator<Item = &'s ObservedObject>) -> Self {
        let identity =
            |observed: &ObservedObject| Identity { version: observed.version, uid: observed.uid.clone() };
        self.known = observed.map(|observed| (observed.key.clone(), identity(observed))).collect();
        self
    }

    /// Sets the state that the subscriber persists.
    pub(crate) fn with_persisted(mut self, persisted: PersistedState) -> Self {
        self.persisted = Some(persisted);
        self
    }

    /// Sets the planted bug.
    pub(crate) fn with_planted(mut self, planted: Option<PlantedBug>) -> Self {
        self.is_reordering = planted == Some(PlantedBug::ObjectsReordered);
        self
    }

    /// Processes an event that the planted bug has delayed.
    pub(crate) fn process_delayed(&mut self) {
        if let Some(delayed) = self.delayed.take() {
            self.process(&delayed);
        }
    }

    /// Records the end of the subscriber: no event may be delivered later.
    pub(crate) fn close(&mut self) {
        self.process_delayed();
        self.is_over = true;
    }

    /// Returns the sum of the events.
    pub(crate) fn versions(&self) -> Versions {
        self.known.iter().map(|(key, identity)| (key.clone(), identity.version)).collect()
    }

    /// Compares the received objects with the write log.
    pub(crate) fn verify(&mut self, write_log: &WriteLog) {
        for observed in self.unverified.drain(..) {
            if !observed.existed(write_log) {
                self.history.violate(Rule::ObjectsExisted, format!("{} received {observed:?}", self.name));
            }
        }
    }

    /// Receives an event.
    pub(crate) fn receive(&mut self, event: &Event<ConfigMap>) {
        match self.delayed.take() {
            None if self.is_reordering && is_delayed(event) => self.delayed = Some(event.clone()),
            None => self.process(event),
            Some(delayed) if delayed.key() == event.key() => {
                self.process(&delayed);
                self.process(event);
            }
            Some(delayed) => {
                self.process(event);
                self.process(&delayed);
            }
        }
    }

    fn process(&mut self, event: &Event<ConfigMap>) {
        let event_type = match event {
            Event::Added { phase: Phase::Initial, .. } => "initial",
            Event::Added { .. } => "added",
            Event::Updated { .. } if event.is_resync() => "resync",
            Event::Updated { .. } => "updated",
            Event::Deleted { deletion: Deletion::Observed, .. } => "deleted",
            Event::Deleted { .. } => "deleted (inferred)",
            _ => "unknown",
        };
        let observed = ObservedObject::of(event.object().get());
        self.history.note(format_args!(
            "    {} receives {event_type} {}@{}",
            self.name, observed.key, observed.version
        ));
        self.history.count(&format!("event: {event_type}"));
        if !event.is_resync() {
            self.history.delivered();
        }
        if self.is_over {
            self.history.violate(
                Rule::NothingAfterStop,
                format!("{} receives {} after its end", self.name, observed.key),
            );
        }
        if let Err(reason) = self.apply(event, &observed) {
            self.history.violate(
                Rule::EventsFit,
                format!("{} {reason}: {event_type} {}@{}", self.name, observed.key, observed.version),
            );
        }
        let is_deleted = matches!(event, Event::Deleted { .. });
        if let Some(persisted) = &self.persisted {
            persisted.write(&observed.key, (!is_deleted).then_some(observed.version));
        }
        self.compare_with_store(&observed, is_deleted);
        if !is_deleted {
            self.unverified.push(observed);
        }
    }

    fn apply(&mut self, event: &Event<ConfigMap>, observed: &ObservedObject) -> Result<(), String> {
        let known = self.known.get(&observed.key).cloned();
        let knew = |old: &ConfigMap| match &known {
            Some(known) if *known == identity(old) => Ok(()),
            known => Err(format!("has {known:?}, not {:?}", identity(old))),
        };
        let is_live = !matches!(event, Event::Added { phase: Phase::Initial, .. });
        let change =
            Change { key: observed.key.clone(), version: observed.version, is_deleted: false, is_live };
        match event {
            Event::Added { object, .. } => {
                if let Some(known) = known {
                    return Err(format!("has the object already, as {known:?}"));
                }
                self.known.insert(observed.key.clone(), identity(object.get()));
                match self.replay {
                    0 => self.changes.push(change),
                    _ => self.replay -= 1,
                }
            }
            Event::Updated { old, new, .. } => {
                let (old, new) = (old.get(), new.get());
                knew(old)?;
                if event.is_resync() {
                    return Ok(());
                }
                let [was, is] = [old, new].map(ObservedObject::of);
                let is_newer = is.version > was.version;
                // An upgraded server serves other content under the same version.
                let has_other_content = is.version == was.version && is.generation != was.generation;
                if !is_newer && !has_other_content {
                    return Err(format!("receives no change of {:?}", identity(old)));
                }
                self.known.insert(observed.key.clone(), identity(new));
                self.changes.push(change);
            }
            Event::Deleted { old, .. } => {
                knew(old.get())?;
                self.known.remove(&observed.key);
                self.changes.push(Change { is_deleted: true, ..change });
            }
            _ => return Err("receives an unknown event".to_owned()),
        }
        Ok(())
    }

    /// Checks that the cache has the object of an event, or a newer one.
    fn compare_with_store(&self, observed: &ObservedObject, is_deleted: bool) {
        let cached = self.store.get(observed.key.as_str()).map(|object| identity(&object).version);
        if cached.is_some_and(|version| version < observed.version) && !is_deleted {
            self.history.violate(
                Rule::CacheBeforeEvents,
                format!(
                    "{} receives {}@{}, and {cached:?} is cached",
                    self.name, observed.key, observed.version
                ),
            );
        }
    }
}

impl ObservedObject {
    pub(crate) fn of(object: &ConfigMap) -> Self {
        let Identity { version, uid } = identity(object);
        let meta = &object.metadata;
        let part = |part: &Option<String>| part.clone().unwrap_or_default();
        let label = meta.labels.as_ref().and_then(|labels| labels.get("tier"));
        let value = object.data.as_ref().and_then(|data| data.get("value"));
        Self {
            key: format!("{}/{}", part(&meta.namespace), part(&meta.name)),
            version,
            uid,
            value: value.cloned().unwrap_or_default(),
            is_front: label.is_some_and(|tier| tier == "front"),
            generation: object.data.as_ref().and_then(|data| data.get("served")?.chars().last()),
        }
    }

    /// Returns whether the object had this content at this version.
    pub(crate) fn existed(&self, write_log: &WriteLog) -> bool {
        write_log.state_at(&self.key, self.version).is_some_and(|was| {
            was.uid == self.uid && was.value == self.value && was.is_front == self.is_front
        })
    }
}

/// Returns whether the planted bug delays an event. It depends on the event only, so that subscribers agree.
fn is_delayed(event: &Event<ConfigMap>) -> bool {
    let is_initial = matches!(event, Event::Added { phase: Phase::Initial, .. });
    !is_initial && !event.is_resync() && identity(event.object().get()).version.is_multiple_of(2)
}

fn identity(object: &ConfigMap) -> Identity {
    let version = object.metadata.resource_version.as_deref().and_then(|version| version.parse().ok());
    Identity { version: version.unwrap_or_default(), uid: object.metadata.uid.clone().unwrap_or_default() }
}
