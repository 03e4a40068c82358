//! Values of expressions that have no schema.

use super::program::{map, text_key};
use cel::Value as CelValue;
use serde_json::Value;
use std::sync::Arc;

/// Returns JSON as expressions see it: with the types that it shows, and with all fields.
pub(crate) fn from_json(value: &Value) -> CelValue {
    match value {
        Value::Null => CelValue::Null,
        Value::Bool(value) => CelValue::Bool(*value),
        Value::Number(number) => match number.as_i64() {
            Some(number) => CelValue::Int(number),
            None => CelValue::Float(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => CelValue::from(text.as_str()),
        Value::Array(items) => CelValue::List(Arc::new(items.iter().map(from_json).collect())),
        Value::Object(fields) => {
            map(fields.iter().map(|(name, value)| (text_key(name), from_json(value))).collect())
        }
    }
}
