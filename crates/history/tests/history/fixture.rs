//! A folder that is removed after the test, objects, and a plain model of a history.

use jiff::Timestamp;
use kube_informer_wire::{Format, Key, Raw};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// A folder that is removed when this is dropped.
pub(crate) struct TempFolder(PathBuf);

impl TempFolder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("kube-history-test-{}-{number}", std::process::id())))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the segment files, oldest first.
    pub(crate) fn segments(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path());
        let mut paths: Vec<_> =
            entries.filter(|path| path.extension().is_some_and(|e| e == "segment")).collect();
        paths.sort();
        paths
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A random number generator with a seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
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
