//! Describes a change by the states before and after it: a summary, the fields, the manager and the owner.

use super::{
    change::Verb,
    mask::{mask, mask_both},
    source::KindInfo,
};
use crate::change::description;
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

/// Returns the controlling owner of an object as `Kind/name`, or else its first owner.
pub(super) fn owner(state: &Value) -> Option<String> {
    let owners = state.pointer("/metadata/ownerReferences")?.as_array()?;
    let controls = |owner: &&Value| owner.get("controller").and_then(Value::as_bool) == Some(true);
    let owner = owners.iter().find(controls).or(owners.first())?;
    Some(format!("{}/{}", owner.get("kind")?.as_str()?, owner.get("name")?.as_str()?))
}

/// Returns the resourceVersion of an object.
pub(super) fn version(state: &Value) -> Option<Box<str>> {
    state.pointer("/metadata/resourceVersion")?.as_str().map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let owner_of = |references: Value| owner(&json!({"metadata": {"ownerReferences": references}}));
        let (a, b) =
            (json!({"kind": "A", "name": "a"}), json!({"kind": "B", "name": "b", "controller": true}));
        assert_eq!(owner_of(json!([a, b])).as_deref(), Some("B/b"));
        assert_eq!(owner_of(json!([a])).as_deref(), Some("A/a"));
        assert_eq!(owner_of(json!([])), None);
    }
}
