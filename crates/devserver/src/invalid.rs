//! What an answer with code 422 says about each field that breaks a rule.

use serde_json::Value;
use std::fmt;

/// A field of an object and the rule that its value breaks, in the words of the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldError {
    /// The path of the field, such as `metadata.name`.
    pub(crate) field: String,
    /// What kind of rule it is.
    pub(crate) reason: FieldReason,
    /// What the status says of it, without the field: `Invalid value: "A": must be lower case`.
    pub(crate) message: String,
}

/// The kinds of rules, each a `reason` among the causes of a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldReason {
    /// The field must be there and is not.
    Required,
    /// The value does not have the right form.
    Invalid,
    /// The value is none of those that are known.
    NotSupported,
    /// The value is fine and may not stand here.
    Forbidden,
    /// There is too much of it.
    TooLong,
}

impl FieldError {
    /// A field that must be there and is not.
    pub(crate) fn required(field: &str, detail: &str) -> Self {
        Self::new(FieldReason::Required, field, joined("Required value", detail))
    }

    /// A value that does not have the right form.
    pub(crate) fn invalid(field: &str, value: &Value, detail: &str) -> Self {
        Self::new(FieldReason::Invalid, field, joined(&format!("Invalid value: {value}"), detail))
    }

    /// A value that is none of those that are known.
    pub(crate) fn not_supported(field: &str, value: &str, known: &[&str]) -> Self {
        let known: Vec<_> = known.iter().map(|known| format!("{known:?}")).collect();
        let detail = format!("supported values: {}", known.join(", "));
        Self::new(FieldReason::NotSupported, field, joined(&format!("Unsupported value: {value:?}"), &detail))
    }

    /// A value that may not stand here.
    pub(crate) fn forbidden(field: &str, detail: &str) -> Self {
        Self::new(FieldReason::Forbidden, field, joined("Forbidden", detail))
    }

    /// A value of which there is too much.
    pub(crate) fn too_long(field: &str, most: usize) -> Self {
        Self::new(FieldReason::TooLong, field, format!("Too long: may not be more than {most} bytes"))
    }

    fn new(reason: FieldReason, field: &str, message: String) -> Self {
        Self { field: field.to_owned(), reason, message }
    }
}

impl FieldReason {
    /// The reason as it stands among the causes of a status.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
        }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

impl std::error::Error for FieldError {}

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
        ];
        for (error, text) in table {
            assert_eq!(error.to_string(), text);
        }
        assert_eq!(FieldReason::Invalid.as_str(), "FieldValueInvalid");
    }
}
