//! Objects of other kinds inside custom resources: `x-kubernetes-embedded-resource`.

use crate::invalid::FieldError;
use crate::structural::schema::{Additional, Structural};
use serde_json::Value;

/// Returns the errors in the types of embedded objects.
pub(crate) fn errors(schema: &Structural, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    visit(schema, object, "", &mut errors);
    errors
}

fn visit(schema: &Structural, value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(fields) => {
            if schema.is_embedded {
                check_type(value, path, errors);
            }
            for (name, value) in fields {
                if let Some(schema) = schema.properties.get(name) {
                    let dot = if path.is_empty() { "" } else { "." };
                    visit(schema, value, &format!("{path}{dot}{name}"), errors);
                } else if let Additional::Schema(schema) = &schema.additional {
                    visit(schema, value, &format!("{path}[{name}]"), errors);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &schema.items {
                for (index, item) in items.iter().enumerate() {
                    visit(schema, item, &format!("{path}[{index}]"), errors);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
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
