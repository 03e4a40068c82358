//! Finds the fields of an object that its type does not define.

use crate::apply::schema::{Schema, Shape, Type};
use serde_json::Value;

/// Returns the paths of the unknown fields of an object of a kind, such as `spec.containers[0].colour`.
pub(crate) fn unknown_fields(schema: &Schema, api_version: &str, kind: &str, object: &Value) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(ty) = schema.kind(api_version, kind) {
        visit(ty, object, "", &mut found);
    }
    found
}

fn visit(ty: Type<'_>, value: &Value, path: &str, found: &mut Vec<String>) {
    let atom = ty.atom();
    match (atom.shape(atom.shapes(Some(value))), value) {
        (Shape::List(list), Value::Array(items)) => {
            for (index, item) in items.iter().enumerate() {
                visit(ty.at(list.element), item, &format!("{path}[{index}]"), found);
            }
        }
        (Shape::Map(map), Value::Object(fields)) => {
            for (name, value) in fields {
                let dot = if path.is_empty() { "" } else { "." };
                let path = format!("{path}{dot}{name}");
                match map.fields.get(name).map(|field| field.ty).or(map.element) {
                    Some(id) => visit(ty.at(id), value, &path, found),
                    None => found.push(path),
                }
            }
        }
        // A value of the wrong type is reported by another check.
        (Shape::Scalar(_) | Shape::List(_) | Shape::Map(_), _) => {}
    }
}
