//! The directives of a strategic merge patch.

use crate::object::patch::error::PatchError;
use serde_json::{Map, Value};
use std::collections::HashSet;

/// The value of `$patch` in a map of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Directive {
    /// Merge the patch into the map.
    Merge,
    /// Replace the map by the patch.
    Replace,
    /// Delete the map.
    Delete,
}

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
const ELEMENT_ORDER: &str = "$setElementOrder/";

/// Removes `$patch` from a map of a patch, and returns its value; the default is to merge.
///
/// # Errors
/// Returns an error if the value is unknown.
pub(super) fn take_directive(patch: &mut Map<String, Value>) -> Result<Directive, PatchError> {
    let Some(found) = patch.remove(PATCH) else { return Ok(Directive::Merge) };
    match found.as_str() {
        Some("merge") => Ok(Directive::Merge),
        Some("replace") => Ok(Directive::Replace),
        Some("delete") => Ok(Directive::Delete),
        _ => Err(PatchError::Unprocessable(format!("unknown patch type [{found}] in map"))),
    }
}

/// Removes the fields of an object that the patch does not list in `$retainKeys`, if it has that directive.
///
/// # Errors
/// Returns an error if `$retainKeys` is not a list, or if the patch changes a field that is not in it.
pub(super) fn retain_keys(
    object: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
) -> Result<(), PatchError> {
    let Some(found) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let malformed = || PatchError::Malformed("invalid patch format of retainKeys".to_owned());
    let kept: HashSet<_> = found.as_array().ok_or_else(malformed)?.iter().filter_map(Value::as_str).collect();
    let is_kept = |name: &str| kept.contains(name);
    if patch.iter().any(|(name, value)| !value.is_null() && !is_directive(name) && !is_kept(name)) {
        return Err(malformed());
    }
    object.retain(|name, _| is_kept(name));
    Ok(())
}

/// Removes the `$deleteFromPrimitiveList` directives, and returns for each the name of its list and the
/// values to delete.
pub(super) fn take_deletions(
    patch: &mut Map<String, Value>,
) -> Result<Vec<(String, Vec<Value>)>, PatchError> {
    take_lists(patch, DELETE_FROM, "invalid patch format of primitive list")
}

/// Removes the `$setElementOrder` directives, and returns for each the name of its list and the order.
pub(super) fn take_orders(patch: &mut Map<String, Value>) -> Result<Vec<(String, Vec<Value>)>, PatchError> {
    take_lists(patch, ELEMENT_ORDER, "invalid patch format of setElementOrder list")
}

fn take_lists(
    patch: &mut Map<String, Value>,
    prefix: &str,
    wrong: &str,
) -> Result<Vec<(String, Vec<Value>)>, PatchError> {
    let names: Vec<_> = patch.keys().filter(|name| name.starts_with(prefix)).cloned().collect();
    let take = |name: String| match patch.remove(&name) {
        Some(Value::Array(items)) => Ok((name[prefix.len()..].to_owned(), items)),
        _ => Err(PatchError::Malformed(wrong.to_owned())),
    };
    names.into_iter().map(take).collect()
}

/// Removes directives and nulls from a value of a patch that is not merged with an existing value.
pub(super) fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(PATCH) => None,
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(name, value)| !is_directive(name) && !value.is_null());
            Some(Value::Object(
                kept.filter_map(|(name, value)| Some((name, without_directives(value)?))).collect(),
            ))
        }
        Value::Array(items) => Some(Value::Array(items.into_iter().filter_map(without_directives).collect())),
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => Some(plain),
    }
}

fn is_directive(name: &str) -> bool {
    name == RETAIN_KEYS || name.starts_with(DELETE_FROM) || name.starts_with(ELEMENT_ORDER)
}
