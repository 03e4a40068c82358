//! JSON merge patch (RFC 7386).

use crate::object::patch::error::PatchError;
use serde_json::{Map, Value};

/// Applies a patch to an object: fields are replaced, `null` removes a field, and lists are replaced as one
/// value.
///
/// # Errors
/// Returns an error if the patch is not an object.
pub(crate) fn merge(object: &Value, patch: &Value) -> Result<Value, PatchError> {
    if !patch.is_object() {
        return Err(PatchError::Malformed("a merge patch must be a JSON object".to_owned()));
    }
    let mut merged = object.clone();
    lay(&mut merged, patch);
    Ok(merged)
}

fn lay(target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(fields) = target else { return };
    for (name, change) in changes {
        if change.is_null() {
            fields.remove(name);
        } else {
            lay(fields.entry(name.as_str()).or_insert(Value::Null), change);
        }
    }
}
