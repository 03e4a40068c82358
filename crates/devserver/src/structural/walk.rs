//! Visits the values of an object together with their schemas.

use crate::structural::schema::{Additional, Structural};
use serde_json::Value;

/// A value, its schema, and its path within the object.
#[derive(Clone, Copy)]
pub(super) struct Visited<'a> {
    pub(super) schema: &'a Structural,
    pub(super) value: &'a Value,
    pub(super) path: &'a str,
}

/// Visits an object and each value in it that has a schema. A value is visited before those that it contains.
pub(super) fn walk(schema: &Structural, object: &Value, visit: &mut dyn FnMut(Visited<'_>)) {
    walk_below(Visited { schema, value: object, path: "" }, visit);
}

fn walk_below(visited: Visited<'_>, visit: &mut dyn FnMut(Visited<'_>)) {
    visit(visited);
    let Visited { schema, value, path } = visited;
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if let Some(schema) = schema.properties.get(name) {
                    let dot = if path.is_empty() { "" } else { "." };
                    walk_below(Visited { schema, value, path: &format!("{path}{dot}{name}") }, visit);
                } else if let Additional::Schema(schema) = &schema.additional {
                    walk_below(Visited { schema, value, path: &format!("{path}[{name}]") }, visit);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &schema.items {
                for (index, value) in items.iter().enumerate() {
                    walk_below(Visited { schema, value, path: &format!("{path}[{index}]") }, visit);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
