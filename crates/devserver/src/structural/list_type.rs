//! The invariants of lists that are sets or maps.

use crate::invalid::FieldError;
use crate::structural::schema::{Additional, ListType, Structural};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Returns an error for each item of a set that occurs twice, and each item of a map whose key occurs twice.
pub(crate) fn errors(schema: &Structural, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    visit(schema, object, "", &mut errors);
    errors
}

fn visit(schema: &Structural, value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(fields) => {
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
            match &schema.list_type {
                ListType::Atomic => {}
                ListType::Set => add_duplicates(items, path, errors),
                ListType::Map(keys) => add_duplicate_keys(keys, items, path, errors),
            }
            if let Some(schema) = &schema.items {
                for (index, item) in items.iter().enumerate() {
                    visit(schema, item, &format!("{path}[{index}]"), errors);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn add_duplicate_keys(keys: &[String], items: &[Value], path: &str, errors: &mut Vec<FieldError>) {
    if let Some((index, item)) =
        items.iter().enumerate().find(|(_, item)| !item.is_object() && !item.is_null())
    {
        let detail = "must be an object for an array of list-type map";
        errors.push(FieldError::invalid(&format!("{path}[{index}]"), item, detail));
        return;
    }
    let key_of = |item: &Value| {
        let fields = keys.iter().filter_map(|key| Some((key.clone(), item.get(key)?.clone())));
        Value::Object(fields.collect::<Map<_, _>>())
    };
    let found: Vec<_> = items.iter().map(key_of).collect();
    add_duplicates(&found, path, errors);
}

/// Adds an error for the second of several equal items.
fn add_duplicates(items: &[Value], path: &str, errors: &mut Vec<FieldError>) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (index, item) in items.iter().enumerate() {
        let times = seen.entry(item.to_string()).or_default();
        *times += 1;
        if *times == 2 {
            errors.push(FieldError::duplicate(&format!("{path}[{index}]"), item));
        }
    }
}
