//! Removes the fields of a custom resource that its schema does not define.

use crate::structural::schema::{Additional, Structural};
use serde_json::Value;

/// The fields that every object has, independent of its schema.
const OBJECT_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Removes unknown fields of an object, and returns their paths in alphabetical order.
pub(crate) fn prune(schema: &Structural, object: &mut Value) -> Vec<String> {
    let mut pruner = Pruner { path: Vec::new(), removed: Vec::new() };
    pruner.fields(Some(schema), object, Location::Root);
    pruner.removed.sort();
    pruner.removed
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Location {
    Root,
    Inside,
}

struct Pruner {
    path: Vec<String>,
    removed: Vec<String>,
}

impl Pruner {
    fn value(&mut self, schema: Option<&Structural>, value: &mut Value) {
        self.fields(schema, value, Location::Inside);
    }

    fn fields(&mut self, schema: Option<&Structural>, value: &mut Value, location: Location) {
        match value {
            Value::Object(fields) => {
                let names: Vec<_> = fields.keys().cloned().collect();
                for name in names {
                    let is_object =
                        location == Location::Root || schema.is_some_and(|schema| schema.is_embedded);
                    if is_object && OBJECT_FIELDS.contains(&name.as_str()) {
                        continue;
                    }
                    if !keeps(schema, &name) {
                        fields.remove(&name);
                        self.removed.push(self.path_of(&name));
                        continue;
                    }
                    let preserves = schema.is_some_and(|schema| schema.preserves_unknown);
                    let field = schema.and_then(|schema| schema.field(&name));
                    // A preserved field without a schema is not pruned.
                    if field.is_none() && preserves {
                        continue;
                    }
                    if let Some(value) = fields.get_mut(&name) {
                        self.path.push(if self.path.is_empty() { name } else { format!(".{name}") });
                        self.value(field, value);
                        self.path.pop();
                    }
                }
            }
            Value::Array(items) => {
                let preserves = schema.is_some_and(|schema| schema.preserves_unknown);
                let item_schema = schema.and_then(|schema| schema.items.as_deref());
                if item_schema.is_none() && preserves {
                    return;
                }
                for (index, item) in items.iter_mut().enumerate() {
                    self.path.push(format!("[{index}]"));
                    self.value(item_schema, item);
                    self.path.pop();
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn path_of(&self, name: &str) -> String {
        let dot = if self.path.is_empty() { "" } else { "." };
        format!("{}{dot}{name}", self.path.concat())
    }
}

/// Returns true if a field is known, or unknown fields are preserved.
fn keeps(schema: Option<&Structural>, name: &str) -> bool {
    schema.is_some_and(|schema| {
        schema.preserves_unknown
            || schema.properties.contains_key(name)
            || schema.additional != Additional::Unspecified
    })
}
