//! Objects of other kinds inside custom resources: `x-kubernetes-embedded-resource`.

use crate::invalid::FieldError;
use crate::structural::{schema::Structural, walk::walk};
use serde_json::Value;

/// Returns the errors in the types of embedded objects.
pub(crate) fn errors(schema: &Structural, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(schema, object, &mut |visited| {
        if visited.schema.is_embedded && visited.value.is_object() {
            check_type(visited.value, visited.path, &mut errors);
        }
    });
    errors
}

fn check_type(object: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for name in ["apiVersion", "kind"] {
        let field = format!("{path}.{name}");
        match object.get(name) {
            None => errors.push(FieldError::required(&field, "")),
            Some(Value::String(text)) if text.is_empty() => {
                errors.push(FieldError::invalid(&field, &"".into(), "must not be empty"));
            }
            Some(Value::String(_)) => {}
            Some(other) => errors.push(FieldError::invalid(&field, other, "must be a string")),
        }
    }
    if let Some(metadata) =
        object.get("metadata").filter(|metadata| !metadata.is_object() && !metadata.is_null())
    {
        errors.push(FieldError::invalid(&format!("{path}.metadata"), metadata, "must be an object"));
    }
}
