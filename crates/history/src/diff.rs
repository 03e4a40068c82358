//! The differences between two versions of an object.

use serde_json::{Map, Value};
use std::{collections::BTreeSet, fmt};

/// A field that differs between two objects.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FieldChange {
    /// The path, such as `status.conditions[type=Ready].status`.
    pub path: String,
    /// The old value; `None` if the field was added.
    pub old: Option<Value>,
    /// The new value; `None` if the field was removed.
    pub new: Option<Value>,
}

/// The fields that identify the items of a list, as in the API: containers by name, conditions by type.
const IDENTITIES: [&str; 4] = ["name", "type", "uid", "key"];

/// Returns the differences between two objects, ordered by path.
///
/// Items of lists are matched by `name`, `type`, `uid` or `key` if all items have a different one, otherwise by position.
#[must_use]
pub fn diff(old: &Value, new: &Value) -> Vec<FieldChange> {
    let mut changes = Vec::new();
    compare("", Some(old), Some(new), &mut changes);
    changes
}

fn compare(path: &str, old: Option<&Value>, new: Option<&Value>, changes: &mut Vec<FieldChange>) {
    match (old, new) {
        (None, None) => {}
        (Some(old), Some(new)) if old == new => {}
        (Some(Value::Object(old)), Some(Value::Object(new))) => compare_fields(path, old, new, changes),
        (Some(Value::Array(old)), Some(Value::Array(new))) => compare_items(path, old, new, changes),
        _ => changes.push(FieldChange { path: path.to_owned(), old: old.cloned(), new: new.cloned() }),
    }
}

fn compare_fields(
    path: &str,
    old: &Map<String, Value>,
    new: &Map<String, Value>,
    changes: &mut Vec<FieldChange>,
) {
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for name in names {
        let path = field_path(path, name);
        compare(&path, old.get(name), new.get(name), changes);
    }
}

fn field_path(path: &str, name: &str) -> String {
    let is_plain = !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    match (path.is_empty(), is_plain) {
        (true, true) => name.to_owned(),
        (false, true) => format!("{path}.{name}"),
        (_, false) => format!("{path}[{name:?}]"),
    }
}

fn compare_items(path: &str, old: &[Value], new: &[Value], changes: &mut Vec<FieldChange>) {
    let identity = IDENTITIES.into_iter().find_map(|field| {
        let [old, new] = [identities(old, field)?, identities(new, field)?];
        Some((field, old, new))
    });
    let Some((field, old_names, new_names)) = identity else {
        for index in 0..old.len().max(new.len()) {
            compare(&format!("{path}[{index}]"), old.get(index), new.get(index), changes);
        }
        return;
    };
    for (item, name) in old.iter().zip(&old_names) {
        let other = new_names.iter().position(|other| other == name).map(|index| &new[index]);
        compare(&format!("{path}[{field}={name}]"), Some(item), other, changes);
    }
    for (item, name) in new.iter().zip(&new_names).filter(|(_, name)| !old_names.contains(name)) {
        compare(&format!("{path}[{field}={name}]"), None, Some(item), changes);
    }
}

/// Returns the values of a field of all items; `None` if one has none, or two have the same.
fn identities<'v>(items: &'v [Value], field: &str) -> Option<Vec<&'v str>> {
    let names: Vec<&str> = items.iter().map(|item| item.get(field)?.as_str()).collect::<Option<_>>()?;
    let distinct: BTreeSet<_> = names.iter().collect();
    (distinct.len() == names.len()).then_some(names)
}

impl fmt::Display for FieldChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, old, new } = self;
        match (old, new) {
            (None, Some(new)) => write!(f, "{path}: + {new}"),
            (Some(old), None) => write!(f, "{path}: - {old}"),
            (Some(old), Some(new)) => write!(f, "{path}: {old} -> {new}"),
            (None, None) => f.write_str(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn texts(old: &Value, new: &Value) -> Vec<String> {
        diff(old, new).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn items_are_matched_by_name_or_type() {
        let old = json!({"spec": {"containers": [{"name": "a", "image": "1"}, {"name": "b"}]},
            "status": {"conditions": [{"type": "Ready", "status": "False"}]}, "same": [1]});
        let new = json!({"spec": {"containers": [{"name": "c"}, {"name": "a", "image": "2"}]},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]}, "same": [1]});
        assert_eq!(
            texts(&old, &new),
            [
                r#"spec.containers[name=a].image: "1" -> "2""#,
                r#"spec.containers[name=b]: - {"name":"b"}"#,
                r#"spec.containers[name=c]: + {"name":"c"}"#,
                r#"status.conditions[type=Ready].status: "False" -> "True""#,
            ]
        );
    }

    #[test]
    fn other_items_are_matched_by_position() {
        assert_eq!(
            texts(&json!({"a/b": [1, 2]}), &json!({"a/b": [1, 3, 4]})),
            [r#"["a/b"][1]: 2 -> 3"#, r#"["a/b"][2]: + 4"#,]
        );
        assert_eq!(
            texts(&json!([{"name": "a"}, {"name": "a"}]), &json!([{"name": "a"}])),
            [r#"[1]: - {"name":"a"}"#]
        );
        assert_eq!(texts(&json!({"a": 1}), &json!({"a": 1})), [""; 0]);
    }
}
