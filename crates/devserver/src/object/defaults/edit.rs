//! Reads and sets the fields of a struct that is not validated yet.

use crate::object::metadata;
use serde_json::{Map, Value};

/// Sets a field that is absent, null or an empty string.
pub(super) fn set(fields: &mut Map<String, Value>, name: &str, value: impl Into<Value>) {
    if is_unset(fields, name) {
        fields.insert(name.to_owned(), value.into());
    }
}

pub(super) fn is_unset(fields: &Map<String, Value>, name: &str) -> bool {
    match fields.get(name) {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(_) => false,
    }
}

/// Returns true if a list or map is absent or empty.
pub(super) fn is_empty(fields: &Map<String, Value>, name: &str) -> bool {
    match fields.get(name) {
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Object(fields)) => fields.is_empty(),
        _ => true,
    }
}

/// Returns the fields of a struct; `None` if it is absent.
pub(super) fn part<'f>(fields: &'f mut Map<String, Value>, name: &str) -> Option<&'f mut Map<String, Value>> {
    fields.get_mut(name).and_then(Value::as_object_mut)
}

/// Returns the fields of a struct, which is created if it is absent.
pub(super) fn made<'f>(fields: &'f mut Map<String, Value>, name: &str) -> &'f mut Map<String, Value> {
    metadata::fields(fields.entry(name).or_insert(Value::Null))
}

/// Returns the items of a list that are structs.
pub(super) fn items<'f>(
    fields: &'f mut Map<String, Value>,
    name: &str,
) -> impl Iterator<Item = &'f mut Map<String, Value>> {
    fields.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}

pub(super) fn text<'f>(fields: &'f Map<String, Value>, name: &str) -> &'f str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}
