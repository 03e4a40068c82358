//! What one follower was told, held against what it knew.

use crate::{
    diary::Diary,
    history::{History, Rule},
    truth::{Truth, Versions},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{
    cache::Store,
    event::{Deletion, Event, Phase},
};
use std::collections::BTreeMap;

/// A follower's memory.
#[derive(Debug)]
pub(crate) struct Ear {
    name: String,
    history: History,
    store: Store<ConfigMap>,
    known: BTreeMap<String, Identity>,
    /// What was told, but for what was told again, after what was there when it came.
    pub(crate) changes: Vec<Change>,
    /// How many events tell what was there when it came.
    replay: usize,
    /// States that have not been looked up yet: who wrote them may not know it either.
    unverified: Vec<Seen>,
    /// Where it writes down what it is told.
    diary: Option<Diary>,
    is_over: bool,
}

/// An event, as far as followers can be compared by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) key: String,
    pub(crate) version: u64,
    pub(crate) is_gone: bool,
    /// Whether it happened after what was there at first.
    pub(crate) is_live: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Identity {
    version: u64,
    uid: String,
}

/// A state as it was seen.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) key: String,
    pub(crate) version: u64,
    pub(crate) uid: String,
    pub(crate) value: String,
    pub(crate) is_front: bool,
}

impl Ear {
    /// Of a follower that comes when the cache has so many objects for it.
    pub(crate) fn new(name: String, history: History, store: Store<ConfigMap>, replay: usize) -> Self {
        Self {
            name,
            history,
            store,
            known: BTreeMap::new(),
            changes: Vec::new(),
            replay,
            unverified: Vec::new(),
            diary: None,
            is_over: false,
        }
    }

    /// It knows these already.
    pub(crate) fn knowing<'s>(mut self, seen: impl Iterator<Item = &'s Seen>) -> Self {
        let identity = |seen: &Seen| Identity { version: seen.version, uid: seen.uid.clone() };
        self.known = seen.map(|seen| (seen.key.clone(), identity(seen))).collect();
        self
    }

    /// It writes down what it is told.
    pub(crate) fn writing(mut self, diary: Diary) -> Self {
        self.diary = Some(diary);
        self
    }

    /// Nothing may come any more.
    pub(crate) fn close(&mut self) {
        self.is_over = true;
    }

    /// What it was told, added up.
    pub(crate) fn versions(&self) -> Versions {
        self.known.iter().map(|(key, identity)| (key.clone(), identity.version)).collect()
    }

    /// Holds what it was told against all that was ever written.
    pub(crate) fn verify(&mut self, truth: &Truth) {
        for seen in self.unverified.drain(..) {
            if !seen.was_so(truth) {
                self.history.breach(Rule::WasSo, format!("{} was told {seen:?}", self.name));
            }
        }
    }

    /// Takes an event.
    pub(crate) fn hear(&mut self, event: &Event<ConfigMap>) {
        let said = match event {
            Event::Added { phase: Phase::Initial, .. } => "initial",
            Event::Added { .. } => "added",
            Event::Updated { .. } if event.is_resync() => "sync",
            Event::Updated { .. } => "updated",
            Event::Deleted { deletion: Deletion::Observed, .. } => "deleted",
            Event::Deleted { .. } => "vanished",
            _ => "unknown",
        };
        let seen = Seen::of(event.object().get());
        self.history.note(format_args!("    {} hears {said} {}@{}", self.name, seen.key, seen.version));
        self.history.count(&format!("told: {said}"));
        if self.is_over {
            self.history.breach(Rule::OverIsOver, format!("{} is still told of {}", self.name, seen.key));
        }
        if let Err(why) = self.fold(event, &seen) {
            self.history.breach(
                Rule::ToldInOrder,
                format!("{} {why}, by {said} {}@{}", self.name, seen.key, seen.version),
            );
        }
        let is_gone = matches!(event, Event::Deleted { .. });
        if let Some(diary) = &self.diary {
            diary.write(&seen.key, (!is_gone).then_some(seen.version));
        }
        self.compare_with_store(&seen, is_gone);
        if !is_gone {
            self.unverified.push(seen);
        }
    }

    fn fold(&mut self, event: &Event<ConfigMap>, seen: &Seen) -> Result<(), String> {
        let known = self.known.get(&seen.key).cloned();
        let knew = |old: &ConfigMap| match &known {
            Some(known) if *known == identity(old) => Ok(()),
            known => Err(format!("knew {known:?}, not {:?}", identity(old))),
        };
        let is_live = !matches!(event, Event::Added { phase: Phase::Initial, .. });
        let change = Change { key: seen.key.clone(), version: seen.version, is_gone: false, is_live };
        match event {
            Event::Added { object, .. } => {
                if let Some(known) = known {
                    return Err(format!("knew it already, as {known:?}"));
                }
                self.known.insert(seen.key.clone(), identity(object.get()));
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
                if identity(new).version <= identity(old).version {
                    return Err(format!("is taken back from {:?}", identity(old)));
                }
                self.known.insert(seen.key.clone(), identity(new));
                self.changes.push(change);
            }
            Event::Deleted { old, .. } => {
                knew(old.get())?;
                self.known.remove(&seen.key);
                self.changes.push(Change { is_gone: true, ..change });
            }
            _ => return Err("does not know this kind of event".to_owned()),
        }
        Ok(())
    }

    /// What it is told must be in the cache, or be past there.
    fn compare_with_store(&self, seen: &Seen, is_gone: bool) {
        let cached = self.store.get(seen.key.as_str()).map(|object| identity(&object).version);
        if cached.is_some_and(|version| version < seen.version) && !is_gone {
            self.history.breach(
                Rule::StoreFirst,
                format!("{} hears {}@{}, and {cached:?} is cached", self.name, seen.key, seen.version),
            );
        }
    }
}

impl Seen {
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
        }
    }

    /// Whether the object was in this state under this version.
    pub(crate) fn was_so(&self, truth: &Truth) -> bool {
        truth.was(&self.key, self.version).is_some_and(|was| {
            was.uid == self.uid && was.value == self.value && was.is_front == self.is_front
        })
    }
}

fn identity(object: &ConfigMap) -> Identity {
    let version = object.metadata.resource_version.as_deref().and_then(|version| version.parse().ok());
    Identity { version: version.unwrap_or_default(), uid: object.metadata.uid.clone().unwrap_or_default() }
}
