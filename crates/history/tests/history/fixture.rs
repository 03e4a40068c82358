//! Objects, and a plain model of a history.

use jiff::Timestamp;
use kube_informer_wire::{Format, Key, Raw};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use testkit::TempFolder;

/// The extension of the files with records.
pub(crate) const SEGMENT: &str = "segment";

pub(crate) fn temp_folder() -> TempFolder {
    TempFolder::new("kube-history-test")
}

/// Returns a time in microseconds after a fixed start.
pub(crate) fn time(microseconds: i64) -> Timestamp {
    Timestamp::from_microsecond(1_800_000_000_000_000 + microseconds).unwrap()
}

pub(crate) fn raw(object: &Value) -> Raw {
    Raw::new(Format::Json, object.to_string().into())
}

/// Returns a pod with a few hundred bytes.
pub(crate) fn pod(key: &Key, uid: &str, version: u64, phase: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": key.name(), "namespace": key.namespace(), "uid": uid, "resourceVersion": version.to_string(),
            "labels": {"app": key.name(), "parity": if version.is_multiple_of(2) { "even" } else { "odd" }},
            "managedFields": [
                {"manager": "kubectl", "operation": "Apply", "time": "2026-01-01T00:00:00Z"},
                {"manager": format!("controller-{}", version % 3), "operation": "Update", "subresource": "status",
                 "time": format!("2026-01-01T00:{:02}:{:02}Z", version / 60 % 60, version % 60)},
            ],
        },
        "spec": {"containers": [{"name": "main", "image": format!("registry.example.com/{}:1", key.name())}]},
        "status": {"phase": phase, "observed": version},
    })
}

/// The state of objects by key.
pub(crate) type State = BTreeMap<Key, Value>;

/// A plain model: the states after each change.
#[derive(Default)]
pub(crate) struct Model {
    states: Vec<(i64, State)>,
}

impl Model {
    pub(crate) fn record(&mut self, time: i64, state: &State) {
        self.states.push((time, state.clone()));
    }

    /// Returns the state at a time.
    pub(crate) fn at(&self, time: i64) -> State {
        let after = self.states.partition_point(|(changed, _)| *changed <= time);
        after.checked_sub(1).map(|index| self.states[index].1.clone()).unwrap_or_default()
    }
}
