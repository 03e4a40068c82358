//! Field managers: who owns which field, and over which fields managers fight.

use super::{
    change::{Change, ObjectId},
    log::ChangeLog,
    query::{Filter, Range},
    source::{ChangeSource, NOW},
};
use serde::Serialize;
use serde_json::Value;
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

/// The manager of a field.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct ManagedField {
    path: String,
    manager: String,
    operation: String,
    subresource: String,
    time: String,
}

/// The maximum number of fields of an object, and the maximum depth.
const MAX_FIELDS: usize = 5_000;
const MAX_DEPTH: usize = 40;

/// Returns the manager of each field, from `metadata.managedFields`.
pub(super) fn managed_fields(state: &Value) -> Vec<ManagedField> {
    let entries = state.pointer("/metadata/managedFields").and_then(Value::as_array);
    let mut found = Vec::new();
    for entry in entries.into_iter().flatten() {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut paths = Vec::new();
        if let Some(fields) = entry.get("fieldsV1") {
            collect("", fields, &mut paths);
        }
        found.extend(paths.into_iter().map(|path| ManagedField {
            path,
            manager: text("manager"),
            operation: text("operation"),
            subresource: text("subresource"),
            time: text("time"),
        }));
    }
    found.sort();
    found.truncate(MAX_FIELDS);
    found
}

/// Collects the paths of a `fieldsV1` value: the fields that have no fields of their own.
fn collect(path: &str, fields: &Value, paths: &mut Vec<String>) {
    let Some(fields) = fields.as_object() else { return };
    let inner: Vec<_> = fields.iter().filter(|(name, _)| *name != ".").collect();
    if inner.is_empty() && !path.is_empty() {
        paths.push(path.to_owned());
    }
    if paths.len() >= MAX_FIELDS || path.matches(['.', '[']).count() > MAX_DEPTH {
        return;
    }
    for (name, value) in inner {
        collect(&step(path, name), value, paths);
    }
}

/// Appends a path element of `fieldsV1`: `f:name`, `k:{"name":"a"}`, `v:"a"` or `i:0`.
fn step(path: &str, element: &str) -> String {
    let (kind, rest) = element.split_once(':').unwrap_or(("f", element));
    match kind {
        "f" if rest.contains(['.', '/']) => format!("{path}[{rest:?}]"),
        "f" if path.is_empty() => rest.to_owned(),
        "f" => format!("{path}.{rest}"),
        "k" => {
            let keys: serde_json::Map<String, Value> = serde_json::from_str(rest).unwrap_or_default();
            let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let keys: Vec<_> = keys.iter().map(|(name, value)| format!("{name}={}", plain(value))).collect();
            format!("{path}[{}]", keys.join(","))
        }
        _ => format!("{path}[{rest}]"),
    }
}

/// A field that several managers write alternately.
#[derive(Debug, Serialize)]
pub(super) struct Fight {
    kind: String,
    key: String,
    field: String,
    managers: BTreeSet<String>,
    /// The number of times that the manager changed.
    switches: usize,
    per_minute: f64,
    first: i64,
    last: i64,
}

/// The number of alternations from which on it is a fight.
const MIN_SWITCHES: usize = 3;
/// The maximum number of fights that are returned.
const MAX_FIGHTS: usize = 100;

/// The writes of one field.
struct Sequence {
    last_manager: Arc<str>,
    managers: BTreeSet<Arc<str>>,
    switches: usize,
    first: i64,
    last: i64,
}

/// Finds the fields that several managers write alternately, those with most alternations first.
pub(super) fn fights(source: &dyn ChangeSource, filter: &Filter, range: Range) -> Vec<Fight> {
    let kinds = source.kinds();
    let log = source.log();
    let to = if range.to == NOW { log.end() } else { range.to };
    let mut found = Vec::new();
    for object in contested(&log, filter, Range { to, ..range }) {
        let is_shown =
            |change: &&Change| change.time > range.from && change.time <= to && filter.accepts(change);
        let changes = log.of(object).filter(is_shown);
        let fights = sequences(changes).into_iter().filter(|(_, sequence)| sequence.switches >= MIN_SWITCHES);
        found.extend(fights.map(|(field, sequence)| Fight {
            kind: kinds[object.kind].resource.clone(),
            key: object.key.to_string(),
            field: field.to_string(),
            managers: sequence.managers.iter().map(ToString::to_string).collect(),
            switches: sequence.switches,
            per_minute: per_minute(&sequence),
            first: sequence.first,
            last: sequence.last,
        }));
        if found.len() > MAX_FIGHTS * 100 {
            keep_worst(&mut found);
        }
    }
    keep_worst(&mut found);
    found
}

/// Returns the objects whose manager changed often enough for a fight. Most objects have one manager.
fn contested<'l>(log: &'l ChangeLog, filter: &Filter, range: Range) -> Vec<&'l ObjectId> {
    /// The manager of the last change in a slot, by the address of its name, and the number of times that it changed.
    #[derive(Clone, Copy, Default)]
    struct Last {
        manager: usize,
        switches: usize,
    }
    let mut slots = vec![Last::default(); log.slots()];
    let mut found = Vec::new();
    for (number, fact) in
        filter.facts(log, log.numbers(range.from, range.to)).filter(|(_, fact)| fact.manager != 0)
    {
        let last = &mut slots[fact.slot as usize];
        let is_other = last.manager != 0 && last.manager != fact.manager;
        last.manager = fact.manager;
        if is_other {
            last.switches += 1;
            if last.switches == MIN_SWITCHES {
                found.push(&log[number].object);
            }
        }
    }
    found
}

/// Keeps the fights with most alternations, in this order.
fn keep_worst(fights: &mut Vec<Fight>) {
    fights.sort_by(|a, b| {
        b.switches.cmp(&a.switches).then_with(|| (&a.key, &a.field).cmp(&(&b.key, &b.field)))
    });
    fights.truncate(MAX_FIGHTS);
}

/// Returns the writes of each field of an object.
fn sequences<'c>(changes: impl Iterator<Item = &'c Change>) -> HashMap<&'c Arc<str>, Sequence> {
    let mut sequences: HashMap<&Arc<str>, Sequence> = HashMap::new();
    for change in changes {
        let Some(manager) = &change.manager else { continue };
        for field in change.fields.iter() {
            let sequence = sequences.entry(field).or_insert_with(|| Sequence {
                last_manager: Arc::clone(manager),
                managers: BTreeSet::new(),
                switches: 0,
                first: change.time,
                last: change.time,
            });
            sequence.managers.insert(Arc::clone(manager));
            sequence.last = change.time;
            if sequence.last_manager != *manager {
                sequence.switches += 1;
                sequence.last_manager = Arc::clone(manager);
            }
        }
    }
    sequences
}

fn per_minute(sequence: &Sequence) -> f64 {
    let minutes = (sequence.last - sequence.first) as f64 / 60e6;
    if minutes > 0.0 { sequence.switches as f64 / minutes } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_leaf_has_its_manager() {
        let fields = json!({"f:metadata": {"f:labels": {".": {}, "f:app.example/name": {}}},
            "f:spec": {"f:replicas": {}, "f:containers": {"k:{\"name\":\"a\"}": {".": {}, "f:image": {}}}, "f:finalizers": {"v:\"x\"": {}}}});
        let state = json!({"metadata": {"managedFields": [
            {"manager": "kubectl", "operation": "Apply", "time": "2026-01-02T00:00:00Z", "fieldsV1": fields},
            {"manager": "hpa", "operation": "Update", "subresource": "scale", "fieldsV1": {"f:spec": {"f:replicas": {}}}}]}});
        let found = managed_fields(&state);
        let paths: Vec<_> = found.iter().map(|field| format!("{} {}", field.path, field.manager)).collect();
        assert_eq!(
            paths,
            [
                "metadata.labels[\"app.example/name\"] kubectl",
                "spec.containers[name=a].image kubectl",
                "spec.finalizers[\"x\"] kubectl",
                "spec.replicas hpa",
                "spec.replicas kubectl",
            ]
        );
        assert!(managed_fields(&json!({"metadata": {"managedFields": [{"fieldsV1": 7}, 8]}})).is_empty());
    }

    #[test]
    fn deep_fields_end() {
        let mut fields = json!({});
        for _ in 0..100 {
            fields = json!({"f:a": fields});
        }
        let state = json!({"metadata": {"managedFields": [{"manager": "m", "fieldsV1": fields}]}});
        assert!(managed_fields(&state).is_empty());
    }
}
