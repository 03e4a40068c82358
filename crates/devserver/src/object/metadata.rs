//! Reads and writes the metadata of an object of any shape.

use serde_json::{Map, Value};

/// Returns the name, or `""`.
pub(crate) fn name(object: &Value) -> &str {
    text(object, "name")
}

/// Returns the namespace, or `""`.
pub(crate) fn namespace(object: &Value) -> &str {
    text(object, "namespace")
}

/// Returns a text of the metadata, or `""`.
pub(crate) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object
        .get("metadata")
        .and_then(|metadata| metadata.get(field))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Returns a number of the metadata, or 0.
pub(crate) fn number(object: &Value, field: &str) -> i64 {
    object
        .get("metadata")
        .and_then(|metadata| metadata.get(field))
        .and_then(Value::as_i64)
        .unwrap_or_default()
}

/// Returns the finalizers.
pub(crate) fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    let found = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    found.into_iter().flatten().filter_map(Value::as_str)
}

/// Returns true if the object is being deleted.
pub(crate) fn is_deleting(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null())
}

/// Returns the fields of an object. Another value is replaced by an empty object.
pub(crate) fn fields(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut().expect("it was made one")
}

/// Returns the metadata of an object, which are created if they are missing.
pub(crate) fn of(object: &mut Value) -> &mut Map<String, Value> {
    fields(fields(object).entry("metadata").or_insert(Value::Null))
}

/// Removes empty maps and lists, as kube-apiserver does.
pub(crate) fn drop_empty(object: &mut Value) {
    for field in ["labels", "annotations", "finalizers", "ownerReferences"] {
        let is_empty = match of(object).get(field) {
            None => false,
            Some(Value::Null) => true,
            Some(Value::Object(map)) => map.is_empty(),
            Some(Value::Array(list)) => list.is_empty(),
            Some(_) => false,
        };
        if is_empty {
            of(object).remove(field);
        }
    }
}

/// Copies a field from another map, or removes it if it is absent there.
pub(crate) fn keep(field: &str, from: Option<&Value>, to: &mut Map<String, Value>) {
    match from {
        Some(value) => drop(to.insert(field.to_owned(), value.clone())),
        None => drop(to.remove(field)),
    }
}
