//! The causes of a response with code 422.

use serde_json::Value;
use std::fmt;

/// An invalid field, with the message of kube-apiserver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldError {
    /// The path of the field, such as `metadata.name`.
    pub(crate) field: String,
    /// The type of the error.
    pub(crate) reason: FieldReason,
    /// The message without the field: `Invalid value: "A": must be lower case`.
    pub(crate) message: String,
}

/// The types of errors, each a `reason` in the causes of a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldReason {
    /// The field is required.
    Required,
    /// The value is invalid.
    Invalid,
    /// The value is not supported.
    NotSupported,
    /// The field is forbidden here.
    Forbidden,
    /// The value is too long.
    TooLong,
    /// There are too many values.
    TooMany,
    /// The value has another type than in the schema.
    TypeInvalid,
    /// The value is a duplicate.
    Duplicate,
    /// The value names something that does not exist.
    NotFound,
}

impl FieldError {
    /// Returns the error of a required field.
    pub(crate) fn required(field: &str, detail: &str) -> Self {
        Self::new(FieldReason::Required, field, joined("Required value", detail))
    }

    /// Returns the error of an invalid value.
    pub(crate) fn invalid(field: &str, value: &Value, detail: &str) -> Self {
        Self::new(FieldReason::Invalid, field, joined(&format!("Invalid value: {}", Shown(value)), detail))
    }

    /// Returns the error of a value that is too large to be part of the message.
    pub(crate) fn invalid_omitted(field: &str, detail: &str) -> Self {
        Self::new(FieldReason::Invalid, field, joined("Invalid value", detail))
    }

    /// Returns the error of a value whose type differs from that of the schema.
    pub(crate) fn type_invalid(field: &str, value: &Value, detail: &str) -> Self {
        Self { reason: FieldReason::TypeInvalid, ..Self::invalid(field, value, detail) }
    }

    /// Returns the error of a value that occurs twice.
    pub(crate) fn duplicate(field: &str, value: &Value) -> Self {
        Self::new(FieldReason::Duplicate, field, format!("Duplicate value: {}", Shown(value)))
    }

    /// Returns the error of a value that names something that does not exist.
    pub(crate) fn not_found(field: &str, value: &Value) -> Self {
        Self::new(FieldReason::NotFound, field, format!("Not found: {}", Shown(value)))
    }

    /// Returns the error of a list or a map with too many entries.
    pub(crate) fn too_many(field: &str, found: usize, most: u64) -> Self {
        let items = if most == 1 { "item" } else { "items" };
        Self::new(FieldReason::TooMany, field, format!("Too many: {found}: must have at most {most} {items}"))
    }

    /// Returns the error of a value that is not supported.
    pub(crate) fn not_supported(field: &str, value: &str, known: &[&str]) -> Self {
        Self::value_not_supported(field, &value.into(), known)
    }

    /// Returns the error of a value of any type that is not in the list of supported values.
    pub(crate) fn value_not_supported(field: &str, value: &Value, known: &[&str]) -> Self {
        let known: Vec<_> = known.iter().map(|known| format!("{known:?}")).collect();
        let detail = format!("supported values: {}", known.join(", "));
        let message = joined(&format!("Unsupported value: {}", Shown(value)), &detail);
        Self::new(FieldReason::NotSupported, field, message)
    }

    /// Returns the error of a forbidden field.
    pub(crate) fn forbidden(field: &str, detail: &str) -> Self {
        Self::new(FieldReason::Forbidden, field, joined("Forbidden", detail))
    }

    /// Returns the error of a value that is too long.
    pub(crate) fn too_long(field: &str, most: usize) -> Self {
        let bytes = if most == 1 { "byte" } else { "bytes" };
        Self::new(FieldReason::TooLong, field, format!("Too long: may not be more than {most} {bytes}"))
    }

    fn new(reason: FieldReason, field: &str, message: String) -> Self {
        Self { field: field.to_owned(), reason, message }
    }
}

impl FieldReason {
    /// Returns the reason in a cause of a status.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::Duplicate => "FieldValueDuplicate",
            Self::NotFound => "FieldValueNotFound",
        }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

impl std::error::Error for FieldError {}

/// A value as messages show it: numbers as Go writes them, the rest as JSON.
struct Shown<'a>(&'a Value);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Number(number) if number.is_f64() => {
                f.write_str(&go_float(number.as_f64().unwrap_or_default()))
            }
            value => write!(f, "{value}"),
        }
    }
}

/// Writes a number as Go's `%v` does: without a fraction if it is an integer, with an exponent if it is long.
pub(crate) fn go_float(number: f64) -> String {
    let size = number.abs();
    if size != 0.0 && !(1e-4..1e21).contains(&size) {
        let text = format!("{number:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = match exponent.strip_prefix('-') {
            Some(exponent) => ('-', exponent),
            None => ('+', exponent),
        };
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    format!("{number}")
}

fn joined(what: &str, detail: &str) -> String {
    if detail.is_empty() { what.to_owned() } else { format!("{what}: {detail}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn speaks_as_the_server_does() {
        let table = [
            (FieldError::required("spec.group", ""), "spec.group: Required value"),
            (
                FieldError::required("metadata.name", "name or generateName is required"),
                "metadata.name: Required value: name or generateName is required",
            ),
            (FieldError::invalid("a", &json!("B"), "no"), "a: Invalid value: \"B\": no"),
            (FieldError::invalid("a", &json!(-1), "no"), "a: Invalid value: -1: no"),
            (
                FieldError::not_supported("scope", "X", &["A", "B"]),
                "scope: Unsupported value: \"X\": supported values: \"A\", \"B\"",
            ),
            (FieldError::forbidden("spec", "is fixed"), "spec: Forbidden: is fixed"),
            (FieldError::invalid("a", &json!(2.0), "no"), "a: Invalid value: 2: no"),
            (FieldError::invalid("a", &json!(1e30), "no"), "a: Invalid value: 1e+30: no"),
            (FieldError::invalid("a", &json!(0.00001), "no"), "a: Invalid value: 1e-05: no"),
            (FieldError::too_many("a", 3, 1), "a: Too many: 3: must have at most 1 item"),
            (FieldError::duplicate("a[1]", &json!({"k": 1})), "a[1]: Duplicate value: {\"k\":1}"),
        ];
        for (error, text) in table {
            assert_eq!(error.to_string(), text);
        }
        assert_eq!(FieldReason::Invalid.as_str(), "FieldValueInvalid");
    }
}
