//! Describes a change by the states before and after it: a summary, the fields, the manager and the owner.

use super::{
    change::Verb,
    mask::{mask, mask_both},
    source::KindInfo,
};
use crate::change::{description, updated};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube_core::{DynamicObject, TypeMeta};
use kube_informer::Event;
use serde_json::Value;
use std::sync::Arc;

/// Fields that change with every write, and would hide the ones that matter.
const BOOKKEEPING: [&str; 3] = ["resourceVersion", "managedFields", "generation"];

/// The description of a change.
#[derive(Debug)]
pub(super) struct Description {
    /// A summary, such as `phase Pending -> Running`.
    pub(super) words: String,
    /// The changed fields of an update.
    pub(super) fields: Vec<kube_history::FieldChange>,
}

/// Describes a change. `old` is ignored for an added object, and `new` for a deleted one. Values of Secrets are masked.
pub(super) fn describe(kind: &KindInfo, verb: Verb, mut old: Value, mut new: Value) -> Description {
    if kind.is_secret {
        mask_both(&mut old, &mut new);
    }
    let fields = match verb {
        Verb::Updated => changed_fields(&mut old, &mut new),
        Verb::Added | Verb::Deleted => Vec::new(),
    };
    let event = match verb {
        Verb::Added => dynamic(new).and_then(|new| Event::create(new).ok()),
        Verb::Updated => dynamic(old).zip(dynamic(new)).and_then(|(old, new)| Event::update(old, new).ok()),
        Verb::Deleted => dynamic(old).and_then(|old| Event::create(old).ok()),
    };
    Description { words: event.as_ref().map(description).unwrap_or_default(), fields }
}

/// Describes an update by the parts of both states that differ. Values of Secrets are masked.
pub(super) fn describe_parts(kind: &KindInfo, mut old: Value, mut new: Value) -> Description {
    if kind.is_secret {
        mask_both(&mut old, &mut new);
    }
    let fields = changed_fields(&mut old, &mut new);
    let words = dynamic(old).zip(dynamic(new)).map(|(old, new)| updated(&old, &new));
    Description { words: words.unwrap_or_default(), fields }
}

/// Returns whether the description of an update needs fields that did not change: an Event is always shown completely.
pub(super) fn needs_full_states(kind: &KindInfo) -> bool {
    kind.kind == "Event"
}

/// Returns the changed fields between two states, without those that change with every write.
pub(super) fn field_changes(
    kind: &KindInfo,
    mut old: Value,
    mut new: Value,
) -> Vec<kube_history::FieldChange> {
    if kind.is_secret {
        mask_both(&mut old, &mut new);
    }
    changed_fields(&mut old, &mut new)
}

/// Compares two states without the fields that change with every write, which are removed for this time.
fn changed_fields(old: &mut Value, new: &mut Value) -> Vec<kube_history::FieldChange> {
    let hidden = [&mut *old, &mut *new].map(take_bookkeeping);
    let fields = kube_history::diff(old, new);
    [old, new].into_iter().zip(hidden).for_each(|(state, hidden)| restore(state, hidden));
    fields
}

/// Removes the fields of the metadata that change with every write.
fn take_bookkeeping(state: &mut Value) -> Vec<(String, Value)> {
    let metadata = state.get_mut("metadata").and_then(Value::as_object_mut);
    metadata.map_or_else(Vec::new, |metadata| {
        BOOKKEEPING.iter().filter_map(|name| metadata.remove_entry(*name)).collect()
    })
}

/// Adds fields to the metadata.
fn restore(state: &mut Value, fields: Vec<(String, Value)>) {
    if let Some(metadata) = state.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.extend(fields);
    }
}

/// Converts a state to an object, without its managed fields.
///
/// `Deserialize` of `DynamicObject` would copy the state twice, because its data is flattened.
fn dynamic(state: Value) -> Option<Arc<DynamicObject>> {
    let Value::Object(mut data) = state else { return None };
    let types = match (data.remove("apiVersion"), data.remove("kind")) {
        (Some(Value::String(api_version)), Some(Value::String(kind))) => Some(TypeMeta { api_version, kind }),
        _ => None,
    };
    let mut metadata = data.remove("metadata")?;
    metadata.as_object_mut()?.remove("managedFields");
    let metadata = serde_json::from_value(metadata).ok()?;
    Some(Arc::new(DynamicObject { types, metadata, data: Value::Object(data) }))
}

/// Returns the summary of a state, as the command prints it.
pub(super) fn summary(kind: &KindInfo, mut state: Value) -> String {
    if kind.is_secret {
        mask(&mut state);
    }
    dynamic(state).map(|object| crate::change::summary(&object)).unwrap_or_default()
}

/// Returns the field manager with the newest entry in `metadata.managedFields`.
///
/// Times have a resolution of one second. If several entries have the newest time, it is the last one that is new or has gained fields.
pub(super) fn manager(old: Option<&Value>, new: &Value) -> Option<String> {
    let entries = entries(new);
    let newest = entries.iter().map(|entry| text(entry, "time")).max()?;
    let known = old.map(self::entries).unwrap_or_default();
    let has_gained = |entry: &&&Value| {
        let same = known.iter().find(|known| {
            ["manager", "operation", "subresource"].iter().all(|name| text(known, name) == text(entry, name))
        });
        same.is_none_or(|known| text(known, "time") != newest || fields_of(entry) > fields_of(known))
    };
    let candidates = || entries.iter().filter(|entry| text(entry, "time") == newest);
    let chosen = candidates().rfind(has_gained).or_else(|| candidates().next_back())?;
    Some(text(chosen, "manager").to_owned()).filter(|manager| !manager.is_empty())
}

fn entries(state: &Value) -> Vec<&Value> {
    let entries = state.pointer("/metadata/managedFields").and_then(Value::as_array);
    entries.into_iter().flatten().collect()
}

fn text<'v>(entry: &'v Value, name: &str) -> &'v str {
    entry.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the number of fields of an entry.
fn fields_of(entry: &Value) -> usize {
    fn count(fields: &Value) -> usize {
        fields.as_object().map_or(0, |fields| fields.values().map(|inner| 1 + count(inner)).sum())
    }
    entry.get("fieldsV1").map_or(0, count)
}

/// Returns all owners of an object as `Kind/name`, the one that counts first: the controlling owner, or else the first one.
pub(super) fn owners(state: &Value) -> Vec<String> {
    let references = state.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    let references = references.into_iter().flatten().filter_map(|reference| {
        let name = format!("{}/{}", reference.get("kind")?.as_str()?, reference.get("name")?.as_str()?);
        Some((reference.get("controller").and_then(Value::as_bool), name))
    });
    controlling_first(references.collect())
}

/// Returns all owners of an object as [`owners`] does, from its decoded references.
pub(super) fn owners_of(references: &[OwnerReference]) -> Vec<String> {
    let name = |owner: &OwnerReference| (owner.controller, format!("{}/{}", owner.kind, owner.name));
    controlling_first(references.iter().map(name).collect())
}

fn controlling_first(mut owners: Vec<(Option<bool>, String)>) -> Vec<String> {
    // The order of the others stays the same.
    owners.sort_by_key(|(controls, _)| *controls != Some(true));
    owners.into_iter().map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::{parts::changed_parts, undo::Undo};
    use kube_informer_wire::{Format, ManagedFields, Raw, Schema};
    use serde_json::json;

    fn kind(name: &str) -> KindInfo {
        let is_secret = super::super::source::is_secret(&[name]);
        KindInfo { resource: name.to_lowercase(), kind: name.to_owned(), is_secret }
    }

    #[test]
    fn the_manager_is_the_one_with_the_newest_or_new_entry() {
        let entry = |manager: &str, second: u32| json!({"manager": manager, "operation": "Update", "time": format!("2026-01-02T00:00:0{second}Z"), "fieldsV1": {}});
        let state = |entries: &[Value]| json!({"metadata": {"managedFields": entries}});
        assert_eq!(manager(None, &json!({})), None);
        let both = state(&[entry("kubelet", 2), entry("kubectl", 1)]);
        assert_eq!(manager(None, &both).as_deref(), Some("kubelet"));
        let same = state(&[entry("a", 2), entry("b", 2)]);
        assert_eq!(manager(Some(&state(&[entry("b", 2)])), &same).as_deref(), Some("a"));
        assert_eq!(manager(Some(&state(&[entry("a", 2)])), &same).as_deref(), Some("b"));
        let owning = |manager: &str, fields: Value| json!({"manager": manager, "time": "2026-01-02T00:00:02Z", "fieldsV1": fields});
        let before = state(&[owning("a", json!({})), owning("b", json!({"f:x": {}}))]);
        let after = state(&[owning("a", json!({"f:x": {}})), owning("b", json!({}))]);
        assert_eq!(manager(Some(&before), &after).as_deref(), Some("a"));
        assert_eq!(manager(Some(&after), &before).as_deref(), Some("b"));
    }

    #[test]
    fn bookkeeping_is_not_a_change() {
        let old = json!({"metadata": {"name": "a", "resourceVersion": "1", "generation": 1}, "spec": {"replicas": 1}});
        let new = json!({"metadata": {"name": "a", "resourceVersion": "2", "generation": 2}, "spec": {"replicas": 2}});
        let found = field_changes(&kind("Deployment"), old, new);
        assert_eq!(found.iter().map(|change| change.path.as_str()).collect::<Vec<_>>(), ["spec.replicas"]);
    }

    #[test]
    fn words_and_fields_of_a_secret_have_no_values() {
        let state =
            |password: &str| json!({"metadata": {"name": "db", "uid": "1"}, "data": {"password": password}});
        let text = describe(&kind("Secret"), Verb::Updated, state("hunter2"), state("hunter3")).words;
        let fields = field_changes(&kind("Secret"), state("hunter2"), state("hunter3"));
        assert_eq!(fields.len(), 1);
        assert!(!format!("{text}{}", fields[0]).contains("hunter"), "{text} {}", fields[0]);
    }

    #[test]
    fn the_controlling_owner_counts_first() {
        let owners_of_json =
            |references: Value| owners(&json!({"metadata": {"ownerReferences": references}}));
        let owner =
            |name: &str| json!({"apiVersion": "v1", "kind": name.to_uppercase(), "name": name, "uid": "1"});
        let (a, mut b, c) = (owner("a"), owner("b"), owner("c"));
        b["controller"] = true.into();
        for (references, expected) in [
            (json!([a, c, b]), vec!["B/b", "A/a", "C/c"]),
            (json!([c, a]), vec!["C/c", "A/a"]),
            (json!([]), vec![]),
        ] {
            assert_eq!(owners_of_json(references.clone()), expected);
            let decoded: Vec<OwnerReference> = serde_json::from_value(references).unwrap();
            assert_eq!(owners_of(&decoded), expected);
        }
        assert!(owners(&json!({})).is_empty());
    }

    /// Pods that change in any field, encoded as JSON and as protobuf.
    #[test]
    fn an_update_has_the_same_description_from_its_differing_parts() {
        let lines = include_str!("../../../wire/benches/pods.jsonl").lines().take(12);
        let pods: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
        let pod = kind("Pod");
        let schema = Schema::of("v1", "Pod").unwrap();
        for (round, pair) in pods.windows(2).enumerate() {
            let (old, mut new) = (pair[0].clone(), pair[0].clone());
            let field = ["spec", "status"][round % 2];
            new[field] = pair[1][field].clone();
            new["metadata"]["labels"] = pair[1]["metadata"]["labels"].clone();
            new["metadata"]["managedFields"] = pair[1]["metadata"]["managedFields"].clone();
            new["metadata"]["resourceVersion"] = "77".into();
            let json = |state: &Value| Raw::new(Format::Json, state.to_string().into());
            let protobuf =
                |state: &Value| Raw::new(Format::Protobuf(schema), schema.encode(state).unwrap().into());
            for states in [[json(&old), json(&new)], [protobuf(&old), protobuf(&new)]] {
                let [old, new] =
                    states.each_ref().map(|state| state.decode::<Value>(ManagedFields::Keep).unwrap());
                let expected = describe(&pod, Verb::Updated, old.clone(), new.clone());
                let parts = changed_parts(&states[0], &states[1], ManagedFields::Keep).unwrap();
                let [part_of_old, part_of_new] = parts;
                assert_eq!(manager(Some(&part_of_old), &part_of_new), manager(Some(&old), &new));
                let undo = Undo::between(&part_of_old, &part_of_new);
                assert_eq!(undo.apply(Some(new)).unwrap(), old);
                let found = describe_parts(&pod, part_of_old, part_of_new);
                assert_eq!(found.words, expected.words);
                assert!(!expected.fields.is_empty());
                assert_eq!(found.fields, expected.fields);
            }
        }
    }
}
