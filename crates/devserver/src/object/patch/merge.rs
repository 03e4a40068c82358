//! JSON merge patch (RFC 7386).

use crate::object::patch::error::PatchError;
use serde_json::{Map, Value};

/// Lays a patch over an object: what it names is replaced, `null` removes, lists are replaced whole.
///
/// # Errors
/// If the patch is no object.
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
