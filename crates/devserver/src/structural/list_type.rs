//! The invariants of lists that are sets or maps.

use crate::invalid::FieldError;
use crate::structural::{
    schema::{ListType, Structural},
    walk::{Visited, walk},
};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Returns an error for each item of a set that occurs twice, and each item of a map whose key occurs twice.
pub(crate) fn errors(schema: &Structural, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(schema, object, &mut |Visited { schema, value, path }| match (&schema.list_type, value) {
        (ListType::Set, Value::Array(items)) => add_duplicates(items, path, &mut errors),
        (ListType::Map(keys), Value::Array(items)) => add_duplicate_keys(keys, items, path, &mut errors),
        _ => {}
    });
    errors
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
