//! Reads fields of objects of any kind.

use crate::safe::clean;
use serde_json::Value;

/// Returns a string field without unsafe characters; `None` if it is missing or empty.
pub(super) fn text(data: &Value, pointer: &str) -> Option<String> {
    data.pointer(pointer)?.as_str().filter(|text| !text.is_empty()).map(clean)
}

/// Returns an unsigned number; `None` if the field is missing or holds something else.
pub(super) fn number(data: &Value, pointer: &str) -> Option<u64> {
    data.pointer(pointer)?.as_u64()
}

/// Returns the items of a list; empty if there is none.
pub(super) fn items<'d>(data: &'d Value, pointer: &str) -> &'d [Value] {
    data.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns the condition of this type.
pub(super) fn condition<'d>(data: &'d Value, name: &str) -> Option<&'d Value> {
    items(data, "/status/conditions").iter().find(|condition| condition["type"] == name)
}
