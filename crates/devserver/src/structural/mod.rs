//! The schemas of custom resources: validation, defaults and pruning as kube-apiserver does them.

mod format;

mod escape;

mod rule;

mod schema;

mod undefined;

mod prune;

mod defaults;

mod validate;

mod walk;

mod list_type;

mod embedded;

mod evaluate;

mod definition;

#[cfg(test)]
mod tests;

pub(crate) use defaults::{drop_nulls, fill};
pub(crate) use definition::schema_errors;
pub(crate) use escape::RESERVED;
pub(crate) use prune::prune;
pub(crate) use schema::Structural;

use crate::invalid::{FieldError, FieldReason};
use serde_json::Value;

/// The part of an object that is written, which determines the part of the schema that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The object without its subresources.
    Object,
    /// Its status.
    Status,
}

/// Returns every rule of a schema that an object breaks. `old` is the state before an update: values that have not changed and were
/// invalid already stay allowed.
pub(crate) fn errors(schema: &Structural, old: Option<&Value>, new: &Value, part: Part) -> Vec<FieldError> {
    let mut errors = match part {
        Part::Object => validate::validate(schema, old, new, ""),
        Part::Status => match (schema.properties.get("status"), new.get("status")) {
            (Some(schema), Some(new)) => {
                validate::validate(schema, old.and_then(|old| old.get("status")), new, "status")
            }
            _ => Vec::new(),
        },
    };
    if part == Part::Object {
        errors.extend(embedded::errors(schema, new));
    }
    if old.is_none_or(|old| list_type::errors(schema, old).is_empty()) {
        errors.extend(list_type::errors(schema, new));
    }
    if evaluate::has_rules(schema) {
        match errors.iter().any(is_blocking) {
            true => errors.push(FieldError::invalid("<nil>", &Value::Null, NOT_EVALUATED)),
            false => errors.extend(evaluate::errors(schema, old, new, "")),
        }
    }
    errors
}

const NOT_EVALUATED: &str = "some validation rules were not checked because the object was invalid; correct the existing errors to \
    complete validation";

/// Returns whether errors keep rules from being evaluated, because an object has not the form that rules rely on.
fn is_blocking(error: &FieldError) -> bool {
    match error.reason {
        FieldReason::NotSupported
        | FieldReason::Required
        | FieldReason::TooLong
        | FieldReason::TooMany
        | FieldReason::TypeInvalid => true,
        FieldReason::Invalid | FieldReason::Forbidden | FieldReason::Duplicate | FieldReason::NotFound => {
            false
        }
    }
}
