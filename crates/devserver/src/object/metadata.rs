//! The metadata of an object, read and written without trust in its shape.

use serde_json::{Map, Value};

/// The name, or `""`.
pub(crate) fn name(object: &Value) -> &str {
    text(object, "name")
}

/// The namespace, or `""`.
pub(crate) fn namespace(object: &Value) -> &str {
    text(object, "namespace")
}

/// A text among the metadata, or `""` where there is none.
pub(crate) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object
        .get("metadata")
        .and_then(|metadata| metadata.get(field))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// A number among the metadata, or 0 where there is none.
pub(crate) fn number(object: &Value, field: &str) -> i64 {
    object
        .get("metadata")
        .and_then(|metadata| metadata.get(field))
        .and_then(Value::as_i64)
        .unwrap_or_default()
}

/// The finalizers that keep the object from going.
pub(crate) fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    let found = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    found.into_iter().flatten().filter_map(Value::as_str)
}

/// Whether the object is marked as being deleted.
pub(crate) fn is_deleting(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null())
}

/// The fields of an object; what is no object becomes an empty one first.
pub(crate) fn fields(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut().expect("it was made one")
}

/// The metadata of an object, made where there is none.
pub(crate) fn of(object: &mut Value) -> &mut Map<String, Value> {
    fields(fields(object).entry("metadata").or_insert(Value::Null))
}

/// Leaves out maps and lists that hold nothing, as the API server does.
pub(crate) fn drop_empty(object: &mut Value) {
    for field in ["labels", "annotations", "finalizers", "ownerReferences"] {
        let is_empty = match of(object).get(field) {
            None => false,
            Some(Value::Object(map)) => map.is_empty(),
            Some(Value::Array(list)) => list.is_empty(),
            Some(_) => false,
        };
        if is_empty {
            of(object).remove(field);
        }
    }
}

/// Makes a field of one map the same as in another, absence included.
pub(crate) fn keep(field: &str, from: Option<&Value>, to: &mut Map<String, Value>) {
    match from {
        Some(value) => drop(to.insert(field.to_owned(), value.clone())),
        None => drop(to.remove(field)),
    }
}
