//! Compares random changes of random objects with the libraries of kube-apiserver.
//!
//! `cargo xtask test oracle` builds the Go program that runs these libraries, and sets `DEVSERVER_ORACLE` to
//! its path.

pub(crate) mod program;

pub(crate) mod random;

use super::{
    conflict::Conflict,
    openapi::{Version, from_openapi},
    schema::Schema,
    set::FieldSet,
    table::built_in,
    tracker::{ApplyError, Force, Tracker, Writer},
};
use program::Oracle;
use random::Random;
use serde_json::{Value, json};

/// The number of objects of each kind.
const OBJECTS: u64 = 12;
/// The number of changes of each object.
const CHANGES: usize = 14;

/// A kind of object, and its description for the program.
pub(crate) struct Kind {
    api_version: String,
    kind: String,
    definition: Option<Value>,
    custom: Option<Schema>,
}

impl Kind {
    pub(crate) fn built_in(api_version: &str, kind: &str) -> Self {
        Self { api_version: api_version.into(), kind: kind.into(), definition: None, custom: None }
    }

    fn custom(openapi: &Value) -> Self {
        let (api_version, kind) = ("example.com/v1".to_owned(), "Widget".to_owned());
        let version = Version { api_version: api_version.clone(), openapi: Some(openapi) };
        let custom = Some(from_openapi(&kind, [version]));
        let names =
            json!({"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"});
        let version =
            json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": openapi}});
        let spec =
            json!({"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]});
        let definition = json!({"metadata": {"name": "widgets.example.com"}, "spec": spec});
        Self { api_version, kind, definition: Some(definition), custom }
    }

    fn schema(&self) -> &Schema {
        self.custom.as_ref().unwrap_or(built_in())
    }
}

/// A change that both implementations make.
pub(crate) struct Change {
    operation: &'static str,
    manager: &'static str,
    subresource: &'static str,
    force: Force,
    new: Value,
}

fn ours(kind: &Kind, live: &Value, change: &Change, now: &str) -> Value {
    let empty = json!({"apiVersion": kind.api_version, "kind": kind.kind});
    let writer = Writer { manager: change.manager, subresource: change.subresource, now };
    let (schema, api_version) = (kind.schema(), kind.api_version.as_str());
    let ignored = FieldSet::of(&[&[ignored(change)]]);
    let tracker = Tracker { schema, api_version, kind: &kind.kind, ignored, empty: &empty, writer };
    let live = if live.is_null() { &empty } else { live };
    if change.operation == "update" {
        let mut new = change.new.clone();
        tracker.update(live, &mut new);
        return json!({"object": new});
    }
    match tracker.apply(live, &change.new, change.force) {
        Ok(object) => json!({"object": object}),
        Err(ApplyError::Conflicts(conflicts)) => {
            let cause = |one: &Conflict| json!([one.field, format!("conflict with {}", one.owner)]);
            json!({"conflicts": sorted(conflicts.iter().map(cause).collect())})
        }
        Err(error) => json!({"error": error.to_string()}),
    }
}

fn theirs(oracle: &mut Oracle, kind: &Kind, live: &Value, change: &Change) -> Value {
    let answer = oracle.ask(&json!({
        "apiVersion": kind.api_version, "kind": kind.kind, "definition": kind.definition,
        "operation": change.operation, "manager": change.manager, "subresource": change.subresource,
        "force": change.force == Force::Yes, "live": live, "new": change.new, "reset": [[ignored(change)]],
    }));
    let causes = answer.pointer("/status/details/causes").and_then(Value::as_array);
    match (answer.get("object"), causes) {
        (Some(object), _) => json!({"object": object}),
        (None, Some(causes)) => {
            let cause = |cause: &Value| json!([cause["field"], cause["message"]]);
            json!({"conflicts": sorted(causes.iter().map(cause).collect())})
        }
        (None, None) => json!({"error": answer["error"]}),
    }
}

fn ignored(change: &Change) -> &'static str {
    if change.subresource.is_empty() { "status" } else { "spec" }
}

fn sorted(mut values: Vec<Value>) -> Vec<Value> {
    values.sort_by_key(ToString::to_string);
    values
}

/// Replaces the times, and sorts the managers, whose order depends on the times. All errors become equal.
fn normalized(mut answer: Value) -> Value {
    if answer.get("error").is_some() {
        return json!({"error": true});
    }
    let fields = answer.pointer_mut("/object/metadata/managedFields").and_then(Value::as_array_mut);
    if let Some(entries) = fields {
        for time in entries.iter_mut().filter_map(|entry| entry.get_mut("time")) {
            *time = "some time".into();
        }
        entries.sort_by_key(|entry| {
            ["operation", "manager", "apiVersion", "subresource"].map(|name| entry[name].to_string())
        });
    }
    answer
}

/// Counts conflicts and errors, because sequences without them would test little.
#[derive(Debug, Default)]
struct SequenceCounts {
    changes: usize,
    conflicts: usize,
    errors: usize,
}

fn compare_sequences(kind: &Kind, seed: u64) -> SequenceCounts {
    let mut oracle = Oracle::start();
    let mut tally = SequenceCounts::default();
    for object in 0..OBJECTS {
        let mut random = Random::new(seed.wrapping_mul(1000) + object);
        let mut live = Value::Null;
        for step in 0..CHANGES {
            let change = random.change(kind, &live);
            let now = format!("2026-01-01T00:00:{step:02}Z");
            let ours = ours(kind, &live, &change, &now);
            let theirs = theirs(&mut oracle, kind, &live, &change);
            let place = format!("{} seed {seed} object {object} step {step}", kind.kind);
            assert_eq!(
                normalized(ours.clone()),
                normalized(theirs),
                "{place}: {} by {:?} of {} on {live}",
                change.operation,
                change.manager,
                change.new
            );
            tally.changes += 1;
            tally.conflicts += usize::from(ours.get("conflicts").is_some());
            tally.errors += usize::from(ours.get("error").is_some());
            if let Some(object) = ours.get("object") {
                live = object.clone();
                live["metadata"]["uid"] = "u".into();
            }
        }
    }
    tally
}

/// Changes objects of built-in kinds.
pub fn built_in_kinds_change_as_in_kube_apiserver() {
    let kinds = [
        ("v1", "ConfigMap"),
        ("v1", "Pod"),
        ("v1", "Service"),
        ("v1", "Node"),
        ("v1", "PersistentVolume"),
        ("apps/v1", "Deployment"),
        ("apps/v1", "StatefulSet"),
        ("batch/v1", "Job"),
        ("networking.k8s.io/v1", "Ingress"),
        ("rbac.authorization.k8s.io/v1", "ClusterRole"),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
    ];
    let seed = std::env::var("ORACLE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    for (api_version, kind) in kinds {
        let tally = compare_sequences(&Kind::built_in(api_version, kind), seed);
        assert!(tally.conflicts * 20 > tally.changes, "{kind} has few conflicts: {tally:?}");
        assert!(tally.errors * 4 < tally.changes, "{kind} has many errors: {tally:?}");
    }
}

/// Changes objects of kinds with a schema of their own.
pub fn custom_resources_change_by_their_schema_as_in_kube_apiserver() {
    let text = json!({"type": "string"});
    let number = json!({"type": "integer"});
    let list =
        |kind: &str, items: &Value| json!({"type": "array", "x-kubernetes-list-type": kind, "items": items});
    let item = json!({"type": "object", "required": ["name"], "properties": {
        "name": text, "port": {"type": "integer", "default": 80}, "tags": list("set", &text),
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    }});
    let mut keyed = list("map", &item);
    keyed["x-kubernetes-list-map-keys"] = json!(["name", "port"]);
    let spec = json!({"type": "object", "properties": {
        "text": text, "number": number, "set": list("set", &text), "atomic": list("atomic", &item), "keyed": keyed,
        "plain": {"type": "array", "items": text},
        "one": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": text, "b": text}},
        "map": {"type": "object", "additionalProperties": number},
        "maps": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": text, "b": number}}},
        "either": {"x-kubernetes-int-or-string": true},
        "any": {"x-kubernetes-preserve-unknown-fields": true},
        "template": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
    }});
    let whole = json!({"type": "object", "properties": {"spec": spec, "status": spec}});
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"spec": {"type": "object", "properties": {"text": text}}}});
    for (seed, openapi) in [(1, &whole), (2, &whole), (3, &whole), (4, &open)] {
        let tally = compare_sequences(&Kind::custom(openapi), seed);
        assert!(tally.conflicts * 20 > tally.changes, "few conflicts: {tally:?}");
    }
}
