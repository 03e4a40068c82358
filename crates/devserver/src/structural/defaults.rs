//! Fills in the defaults of a schema.

use crate::structural::schema::{Additional, Structural};
use serde_json::Value;

/// Fills in the defaults of fields that are missing, or null where null is not allowed.
pub(crate) fn fill(schema: &Structural, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, schema) in &schema.properties {
                let Some(default) = &schema.default else { continue };
                if fields.get(name).is_none_or(|value| is_forbidden_null(value, schema)) {
                    fields.insert(name.clone(), default.clone());
                }
            }
            for (name, value) in fields.iter_mut() {
                if let Some(schema) = schema.properties.get(name) {
                    fill(schema, value);
                } else if let Additional::Schema(schema) = &schema.additional {
                    fill_element(schema, value);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &schema.items {
                items.iter_mut().for_each(|item| fill_element(schema, item));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn fill_element(schema: &Structural, value: &mut Value) {
    if is_forbidden_null(value, schema) {
        *value = schema.default.clone().unwrap_or_default();
    }
    fill(schema, value);
}

/// Removes null values of fields that are neither nullable nor have a default.
pub(crate) fn drop_nulls(schema: Option<&Structural>, value: &mut Value) {
    match value {
        Value::Object(fields) => fields.retain(|name, value| {
            let schema = schema.and_then(|schema| schema.field(name));
            drop_nulls(schema, value);
            !schema.is_some_and(|schema| schema.default.is_none() && is_forbidden_null(value, schema))
        }),
        Value::Array(items) => {
            let schema = schema.and_then(|schema| schema.items.as_deref());
            items.iter_mut().for_each(|item| drop_nulls(schema, item));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_forbidden_null(value: &Value, schema: &Structural) -> bool {
    value.is_null() && !schema.nullable
}
