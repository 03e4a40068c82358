//! Compares two states of an object field by field.

use super::path::Path;
use kube_core::DynamicObject;
use serde_json::{Map, Value, json};
use std::collections::{BTreeSet, HashMap};

/// A changed field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FieldChange {
    pub(crate) path: Path,
    /// The old value; `None` if the field did not exist.
    pub(crate) old: Option<Value>,
    pub(crate) new: Option<Value>,
}

/// The annotation in which `kubectl apply` stores the whole object, including the data of Secrets.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Returns the changed fields, down to single values. Bookkeeping of the server and of kubectl (`managedFields`, `resourceVersion`,
/// `generation`, the last applied configuration) is skipped.
pub(crate) fn changes(old: &DynamicObject, new: &DynamicObject) -> Vec<FieldChange> {
    let mut found = Vec::new();
    compare(&Path::default().field("metadata"), Some(&metadata(old)), Some(&metadata(new)), &mut found);
    compare(&Path::default(), Some(&old.data), Some(&new.data), &mut found);
    found
}

/// Returns the metadata that users change.
fn metadata(object: &DynamicObject) -> Value {
    let meta = &object.metadata;
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| {
        if !value.is_null() {
            fields.insert(name.to_owned(), value);
        }
    };
    put("labels", json!(meta.labels));
    let annotations = meta.annotations.iter().flatten().filter(|(name, _)| *name != LAST_APPLIED);
    put("annotations", annotations.map(|(name, text)| (name.clone(), json!(text))).collect());
    put("finalizers", json!(meta.finalizers));
    put("ownerReferences", json!(meta.owner_references));
    put("deletionTimestamp", json!(meta.deletion_timestamp));
    Value::Object(fields)
}

fn compare(path: &Path, old: Option<&Value>, new: Option<&Value>, found: &mut Vec<FieldChange>) {
    if old == new {
        return;
    }
    match (old, new) {
        (Some(Value::Object(old)), Some(Value::Object(new))) => objects(path, old, new, found),
        (Some(Value::Array(old)), Some(Value::Array(new))) => arrays(path, old, new, found),
        // An object that is added or removed is reported value by value.
        (None, Some(Value::Object(new))) if !new.is_empty() => objects(path, &Map::new(), new, found),
        (Some(Value::Object(old)), None) if !old.is_empty() => objects(path, old, &Map::new(), found),
        (None, Some(Value::Array(new))) if !new.is_empty() => arrays(path, &[], new, found),
        (Some(Value::Array(old)), None) if !old.is_empty() => arrays(path, old, &[], found),
        (old, new) => {
            found.push(FieldChange { path: path.clone(), old: old.cloned(), new: new.cloned() });
        }
    }
}

fn objects(path: &Path, old: &Map<String, Value>, new: &Map<String, Value>, found: &mut Vec<FieldChange>) {
    let names: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    for name in names {
        if old.get(name) != new.get(name) {
            compare(&path.field(name), old.get(name), new.get(name), found);
        }
    }
}

fn arrays(path: &Path, old: &[Value], new: &[Value], found: &mut Vec<FieldChange>) {
    let Some(field) = naming_field(old, new) else {
        for at in 0..old.len().max(new.len()) {
            compare(&path.item(&at.to_string()), old.get(at), new.get(at), found);
        }
        return;
    };
    let known = |items: &[Value]| -> HashMap<String, usize> {
        items.iter().enumerate().filter_map(|(at, item)| Some((name_of(item, field)?, at))).collect()
    };
    let (known_old, known_new) = (known(old), known(new));
    let names = old.iter().chain(new).filter_map(|item| name_of(item, field)).enumerate();
    // The items of the old list first, then the new ones.
    let names = names.filter(|(at, name)| *at < old.len() || !known_old.contains_key(name));
    for (_, name) in names {
        let (old, new) = (known_old.get(&name).map(|at| &old[*at]), known_new.get(&name).map(|at| &new[*at]));
        compare(&path.item(&name), old, new, found);
    }
}

/// Returns the field that identifies the items of a list, if there is one.
fn naming_field(old: &[Value], new: &[Value]) -> Option<&'static str> {
    let tells_apart = |field: &str, items: &[Value]| {
        let mut seen = BTreeSet::new();
        items.iter().all(|item| name_of(item, field).is_some_and(|name| seen.insert(name)))
    };
    ["name", "type", "key", "uid", "containerPort", "port", "ip", "mountPath", "path"]
        .into_iter()
        .find(|field| tells_apart(field, old) && tells_apart(field, new))
}

fn name_of(item: &Value, field: &str) -> Option<String> {
    match item.get(field)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed_fields(old: Value, new: Value) -> Vec<String> {
        let object = |mut value: Value| {
            value["metadata"] = value["metadata"].take();
            if value["metadata"].is_null() {
                value["metadata"] = json!({});
            }
            serde_json::from_value(value).unwrap()
        };
        let show = |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), Value::to_string);
        let found = changes(&object(old), &object(new));
        found
            .iter()
            .map(|change| format!("{}: {} {}", change.path, show(&change.old), show(&change.new)))
            .collect()
    }

    #[test]
    fn values_are_compared_one_by_one() {
        let old = json!({"spec": {"replicas": 2, "paused": true}, "status": {"phase": "Pending"}});
        let new = json!({"spec": {"replicas": 3}, "status": {"phase": "Pending", "extra": {"a": [1]}}});
        let expected = ["spec.paused: true nothing", "spec.replicas: 2 3", "status.extra.a[0]: nothing 1"];
        assert_eq!(changed_fields(old, new), expected);
    }

    #[test]
    fn the_last_applied_configuration_of_a_secret_is_not_shown() {
        let applied = |text: &str, other: &str| json!({"metadata": {"annotations": {LAST_APPLIED: format!("{{\"data\":{text:?}}}"), "other": other}}});
        assert_eq!(changed_fields(applied("hunter2", "a"), applied("hunter3", "a")), [""; 0]);
        assert_eq!(
            changed_fields(json!({}), applied("hunter2", "a")),
            ["metadata.annotations.other: nothing \"a\""]
        );
    }

    #[test]
    fn items_are_known_by_name() {
        let old = json!({"status": {"conditions": [{"type": "Ready", "status": "False"}, {"type": "Up", "status": "True"}]}});
        let new = json!({"status": {"conditions": [{"type": "Up", "status": "True"}, {"type": "Ready", "status": "True"}]}});
        assert_eq!(changed_fields(old, new), ["status.conditions[Ready].status: \"False\" \"True\""]);
    }

    #[test]
    fn items_come_in_their_order_and_new_ones_last() {
        let items = |names: &[&str]| json!({"spec": {"ports": names.iter().map(|name| json!({"name": name, "at": names.len()})).collect::<Vec<_>>()}});
        let expected = [
            "spec.ports[c].at: 2 3",
            "spec.ports[a].at: 2 3",
            "spec.ports[b].at: nothing 3",
            "spec.ports[b].name: nothing \"b\"",
        ];
        assert_eq!(changed_fields(items(&["c", "a"]), items(&["b", "a", "c"])), expected);
    }

    #[test]
    fn many_items_are_compared_in_the_time_it_takes_to_look_at_each() {
        let items = |count: usize, value: u64| json!({"spec": {"ports": (0..count).map(|at| json!({"name": at.to_string(), "value": value})).collect::<Vec<_>>()}});
        let time = |count: usize| {
            let (old, new) = (items(count, 1), items(count, 2));
            let began = std::time::Instant::now();
            assert_eq!(changed_fields(old, new).len(), count);
            began.elapsed()
        };
        // A hundred times as many; each with each would be ten thousand times the time.
        let (few, many) = (time(400), time(40_000));
        assert!(many < 2_000 * few.max(std::time::Duration::from_millis(1)), "{few:?} {many:?}");
    }

    #[test]
    fn bookkeeping_of_the_server_is_skipped() {
        let old = json!({"metadata": {"resourceVersion": "1", "generation": 1, "labels": {"a.b/c": "d"}}});
        let new = json!({"metadata": {"resourceVersion": "2", "generation": 2, "labels": {"a.b/c": "e"},
                         "managedFields": [{"manager": "m"}]}});
        assert_eq!(changed_fields(old, new), ["metadata.labels[a.b/c]: \"d\" \"e\""]);
    }

    #[test]
    fn an_empty_object_is_a_value() {
        assert_eq!(changed_fields(json!({}), json!({"spec": {}})), ["spec: nothing {}"]);
    }
}
