//! Checks that a value matches a type.

use crate::apply::{
    key::item_element,
    schema::{List, Map, Relation, Scalar, Shape, Type},
};
use serde_json::Value;
use std::collections::BTreeSet;

/// A value that is not of its type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub(crate) struct TypeError {
    path: String,
    message: String,
}

/// Controls whether lists can have several items with the same key. Stored objects can, because their lists
/// can be older than the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Duplicates {
    Allowed,
    Refused,
}

/// Checks a value and everything in it.
///
/// # Errors
/// Names the first part that has another type.
pub(super) fn validate(ty: Type<'_>, value: &Value, duplicates: Duplicates) -> Result<(), TypeError> {
    let atom = ty.atom();
    match atom.shape(atom.shapes(Some(value))) {
        Shape::Scalar(scalar) => check_scalar(scalar, value),
        Shape::List(list) => check_list(ty, list, value, duplicates),
        Shape::Map(map) => check_map(ty, map, value, duplicates),
    }
}

fn check_scalar(scalar: Scalar, value: &Value) -> Result<(), TypeError> {
    let expected = match scalar {
        Scalar::Numeric if !value.is_number() => "numeric (int or float)",
        Scalar::String if !value.is_string() => "string",
        Scalar::Boolean if !value.is_boolean() => "boolean",
        Scalar::Untyped if value.is_object() || value.is_array() => "any scalar",
        Scalar::Numeric | Scalar::String | Scalar::Boolean | Scalar::Untyped => return Ok(()),
    };
    if value.is_null() { Ok(()) } else { Err(wrong(format!("expected {expected}, got {value}"))) }
}

fn check_list(ty: Type<'_>, list: &List, value: &Value, duplicates: Duplicates) -> Result<(), TypeError> {
    let values = match value {
        Value::Null => return Ok(()),
        Value::Array(values) => values,
        other => return Err(wrong(format!("expected list, got {other}"))),
    };
    let mut seen = BTreeSet::new();
    for (index, value) in values.iter().enumerate() {
        let step = match &list.relation {
            Relation::Atomic => format!("[{index}]"),
            Relation::Set | Relation::Keyed(_) => {
                let element = item_element(ty, list, value)
                    .map_err(|error| wrong(format!("element {index}: {error}")))?;
                let step = element.to_string();
                if !seen.insert(element) && duplicates == Duplicates::Refused {
                    return Err(wrong(format!("duplicate entries for key {step}")));
                }
                step
            }
        };
        validate(ty.at(list.element), value, duplicates).map_err(|error| error.below(&step))?;
    }
    Ok(())
}

fn check_map(ty: Type<'_>, map: &Map, value: &Value, duplicates: Duplicates) -> Result<(), TypeError> {
    let fields = match value {
        Value::Null => return Ok(()),
        Value::Object(fields) => fields,
        other => return Err(wrong(format!("expected map, got {other}"))),
    };
    for (name, value) in fields {
        let step = format!(".{name}");
        let Some(id) = map.fields.get(name).map(|field| field.ty).or(map.element) else {
            return Err(wrong("field not declared in schema".to_owned()).below(&step));
        };
        validate(ty.at(id), value, duplicates).map_err(|error| error.below(&step))?;
    }
    Ok(())
}

impl TypeError {
    fn below(mut self, step: &str) -> Self {
        self.path.insert_str(0, step);
        self
    }
}

fn wrong(message: String) -> TypeError {
    TypeError { path: String::new(), message }
}
