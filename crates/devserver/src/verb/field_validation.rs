//! Reports unknown and duplicate fields according to the parameter `fieldValidation`.

use crate::invalid::FieldError;
use crate::object::unknown_fields;
use crate::verb::{duplicate::duplicate_fields, error_response::ErrorResponse, request::Request};
use serde_json::Value;

/// The treatment of unknown and duplicate fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FieldValidation {
    /// The fields are dropped.
    Ignore,
    /// The fields are dropped, and the response has a warning for each.
    Warn,
    /// The request is refused.
    Strict,
}

impl FieldValidation {
    /// Reads the parameter of a request; `options` is the kind of its options.
    fn of(request: &Request, options: &str) -> Result<Self, ErrorResponse> {
        match request.parameter("fieldValidation").unwrap_or_default().as_str() {
            "" | "Warn" => Ok(Self::Warn),
            "Ignore" => Ok(Self::Ignore),
            "Strict" => Ok(Self::Strict),
            other => {
                let known = ["", "Ignore", "Strict", "Warn"];
                Err(ErrorResponse::options(
                    options,
                    &FieldError::not_supported("fieldValidation", other, &known),
                ))
            }
        }
    }
}

/// Adds a warning to the response for each unknown or duplicate field.
///
/// # Errors
/// The outer error is an invalid value of the parameter; the inner error is the message for a strict request
/// with unknown or duplicate fields.
pub(crate) fn check(
    request: &Request,
    object: &Value,
    options: &str,
) -> Result<Result<(), String>, ErrorResponse> {
    let validation = FieldValidation::of(request, options)?;
    let duplicates = match request.content_type.as_str() {
        _ if validation == FieldValidation::Ignore => return Ok(Ok(())),
        // Protobuf contains no field names.
        "application/vnd.kubernetes.protobuf" => return Ok(Ok(())),
        ""
        | "application/json"
        | "application/merge-patch+json"
        | "application/strategic-merge-patch+json" => duplicate_fields(&request.body),
        _ => Vec::new(),
    };
    let duplicates = duplicates.iter().map(|path| format!("duplicate field {path:?}"));
    let unknown = unknown_fields(&request.resource, object);
    let found: Vec<_> =
        duplicates.chain(unknown.iter().map(|path| format!("unknown field {path:?}"))).collect();
    if validation == FieldValidation::Strict && !found.is_empty() {
        return Ok(Err(format!("strict decoding error: {}", found.join(", "))));
    }
    found.into_iter().for_each(|warning| request.warnings.add(warning));
    Ok(Ok(()))
}
