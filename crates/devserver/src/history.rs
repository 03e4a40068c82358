//! Serves a recorded history: the state at one moment, or a range in which time continues.

use crate::registry::Resource;
use crate::storage::CollectionId;
use crate::verb::{Cluster, encode};
use jiff::Timestamp;
use kube_history::{Event, Filter, History, Kind, KindId, ReadError, Scope, Version};
use kube_informer_wire::{Key, ManagedFields, ResourceVersion};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

/// A part of a recorded history, which a server shows instead of its own objects.
///
/// The server is read-only and has only the recorded resources. Objects have their recorded names, uids,
/// versions and managed fields, and ages in tables are relative to the time that is shown.
///
/// If time continues, objects change as they were recorded, and watches deliver the changes. Kubernetes
/// orders changes by version. If changes of several kinds were recorded in another order, a change gets the
/// next version instead of its own.
#[derive(Clone, Debug)]
#[must_use = "a past is served by `Builder::past`"]
pub struct Past {
    history: History,
    time: Timestamp,
    motion: Motion,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Motion {
    Frozen,
    /// The factor by which the recorded speed is multiplied.
    Moving(f64),
}

/// The objects at one moment, ready to be stored.
#[derive(Debug)]
pub(crate) struct Loaded {
    past: Past,
    kinds: Vec<(KindId, Arc<Kind>)>,
    objects: Vec<Change>,
    /// The newest version of a list or bookmark.
    version: u64,
}

/// A recorded change.
#[derive(Debug)]
struct Change {
    time: Timestamp,
    kind: KindId,
    key: Key,
    version: Option<u64>,
    /// `None` for a deletion.
    object: Option<Value>,
}

/// Changes of different kinds that were received within this time are sorted by version.
const WINDOW: Duration = Duration::from_millis(250);
/// The number of changes that are read ahead.
const READ_AHEAD: usize = 256;

impl Past {
    /// Shows the state at a time, which does not change.
    pub fn at(history: History, time: Timestamp) -> Self {
        Self { history, time, motion: Motion::Frozen }
    }

    /// Shows the state at a time, and then the changes after it at the recorded speed.
    pub fn starting_at(history: History, time: Timestamp) -> Self {
        Self { history, time, motion: Motion::Moving(1.0) }
    }

    /// Sets the factor by which the recorded speed is multiplied. It has no effect if the state is frozen or
    /// the factor is not positive.
    pub fn speed(self, factor: f64) -> Self {
        match self.motion {
            Motion::Moving(_) if factor > 0.0 && factor.is_finite() => {
                Self { motion: Motion::Moving(factor), ..self }
            }
            Motion::Moving(_) | Motion::Frozen => self,
        }
    }

    /// Reads the state at the time.
    pub(crate) fn load(self) -> Result<Loaded, ReadError> {
        let snapshot = self.history.at(self.time)?;
        let mut kinds = self.history.kinds()?;
        if self.motion == Motion::Frozen {
            kinds.retain_mut(|(id, kind)| {
                let then = snapshot.kind(*id);
                then.map(|then| *kind = Arc::clone(then)).is_some()
            });
        }
        let mut objects = Vec::new();
        let mut version = 0;
        for (id, _) in &kinds {
            let of_kind = snapshot.version(*id)?;
            version = version.max(of_kind.and_then(|version| version.to_number()).unwrap_or_default());
            for object in snapshot.list(*id, None) {
                objects.push(Change::read(&object?)?);
            }
        }
        Ok(Loaded { past: self, kinds, objects, version })
    }
}

impl Change {
    fn read(version: &Version) -> Result<Self, ReadError> {
        let object = match version.event() {
            Event::Deleted => None,
            Event::Checkpoint | Event::Added | Event::Modified => {
                Some(version.object()?.decode(ManagedFields::Keep)?)
            }
        };
        Ok(Self {
            time: version.time(),
            kind: version.kind_id(),
            key: version.key().clone(),
            version: version.version().and_then(ResourceVersion::to_number),
            object,
        })
    }
}

impl Loaded {
    /// Loads the objects into a server before its first request, and starts to replay the history.
    pub(crate) fn fill(&self, cluster: &Arc<Cluster>) {
        let served = serve_kinds(cluster, &self.kinds);
        let mut objects: Vec<&Change> = self.objects.iter().collect();
        objects.sort_by_key(|change| change.version);
        for change in objects {
            if let (Some(resource), Some(object)) = (served.get(&change.kind), &change.object) {
                let content = encode(resource, change.key.clone(), object.clone());
                cluster.store.load(&CollectionId::from(resource.storage()), *content, change.version);
            }
        }
        cluster.store.raise(self.version);
        cluster.store.forget_history();
        cluster.served_time.set(self.past.time);
        if let Motion::Moving(speed) = self.past.motion {
            let (send, changes) = mpsc::channel(READ_AHEAD);
            let (history, from) = (self.past.history.clone(), self.past.time);
            tokio::task::spawn_blocking(move || read_ahead(&history, from, &send));
            tokio::spawn(play(Arc::downgrade(cluster), served, changes, Pace::new(from, speed)));
        }
    }
}

/// Serves the recorded kinds, and reviews, which are not stored.
fn serve_kinds(cluster: &Cluster, kinds: &[(KindId, Arc<Kind>)]) -> HashMap<KindId, Arc<Resource>> {
    let is_kind = |resource: &Resource, kind: &Kind| {
        resource.group == kind.group && resource.version == kind.version && resource.plural == kind.plural
    };
    let changed: Result<(), std::convert::Infallible> = cluster.change_registry(|registry| {
        registry
            .retain(|resource| resource.is_review || kinds.iter().any(|(_, kind)| is_kind(resource, kind)));
        for (_, kind) in kinds {
            let is_built_in = registry.resource(&kind.group, &kind.version, &kind.plural).is_some();
            if !is_built_in && let Err(error) = registry.add_crd(&definition(kind)) {
                tracing::warn!(%kind, %error, "recorded kind cannot be served");
            }
        }
        Ok(())
    });
    let Ok(()) = changed;
    let registry = cluster.registry();
    let found = kinds.iter().filter_map(|(id, kind)| {
        Some((*id, Arc::clone(registry.resource(&kind.group, &kind.version, &kind.plural)?)))
    });
    found.collect()
}

/// Returns the definition of a recorded custom resource, as far as it is known.
fn definition(kind: &Kind) -> Value {
    let scope = match kind.scope {
        Scope::Namespaced => "Namespaced",
        Scope::Cluster => "Cluster",
    };
    json!({
        "metadata": {"name": format!("{}.{}", kind.plural, kind.group)},
        "spec": {
            "group": kind.group,
            "scope": scope,
            "names": {
                "plural": kind.plural,
                "singular": kind.singular,
                "kind": kind.kind,
                "shortNames": kind.short_names,
                "categories": kind.categories,
            },
            "versions": [{
                "name": kind.version,
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                "additionalPrinterColumns": kind.printer_columns,
            }],
        },
    })
}

/// Reads the changes after a time until the server ends.
fn read_ahead(history: &History, from: Timestamp, changes: &mpsc::Sender<Change>) {
    let recorded = match history.changes(from..Timestamp::MAX, Filter::new()) {
        Ok(recorded) => recorded,
        Err(error) => return tracing::error!(%error, "recording cannot be read"),
    };
    for change in recorded {
        match change.and_then(|version| Change::read(&version)) {
            Ok(change) => {
                if changes.blocking_send(change).is_err() {
                    return;
                }
            }
            Err(error) => tracing::error!(%error, "recorded change cannot be read"),
        }
    }
}

/// Maps recorded times to the clock.
#[derive(Clone, Copy, Debug)]
struct Pace {
    from: Timestamp,
    started: Instant,
    speed: f64,
}

impl Pace {
    fn new(from: Timestamp, speed: f64) -> Self {
        Self { from, started: Instant::now(), speed }
    }

    /// Returns the time at which a recorded change is due.
    fn due(&self, time: Timestamp) -> Instant {
        let recorded = Duration::try_from(time.duration_since(self.from)).unwrap_or_default();
        let wait = Duration::try_from_secs_f64(recorded.as_secs_f64() / self.speed);
        wait.ok().and_then(|wait| self.started.checked_add(wait)).unwrap_or(self.started)
    }
}

/// Applies recorded changes when they are due, until the recording or the server ends.
async fn play(
    cluster: Weak<Cluster>,
    served: HashMap<KindId, Arc<Resource>>,
    mut changes: mpsc::Receiver<Change>,
    pace: Pace,
) {
    let mut next = changes.recv().await;
    while let Some(first) = next.take() {
        let until = first.time + WINDOW;
        let mut window = vec![first];
        while let Some(change) = changes.recv().await {
            if change.time > until {
                next = Some(change);
                break;
            }
            window.push(change);
        }
        // A deletion that was detected by a list has no version and keeps its position.
        window.sort_by_key(|change| change.version.unwrap_or_default());
        let mut reached = Timestamp::MIN;
        for change in window {
            reached = reached.max(change.time);
            sleep_until(pace.due(reached)).await;
            let Some(cluster) = cluster.upgrade() else { return };
            apply(&cluster, &served, change);
            cluster.served_time.set(reached);
        }
    }
}

fn apply(cluster: &Cluster, served: &HashMap<KindId, Arc<Resource>>, change: Change) {
    let Some(resource) = served.get(&change.kind) else { return };
    let collection = CollectionId::from(resource.storage());
    match change.object {
        Some(object) => {
            cluster.store.replay_put(&collection, *encode(resource, change.key, object), change.version);
        }
        None => cluster.store.replay_remove(&collection, change.key.as_str(), change.version),
    }
}
