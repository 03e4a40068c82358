//! Reports unknown and duplicate fields, as the parameter `fieldValidation` asks.

use crate::invalid::FieldError;
use crate::object::unknown_fields;
use crate::verb::{duplicate::duplicate_fields, error_response::ErrorResponse, request::Request};
use serde_json::Value;

/// What happens to fields that an object cannot have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FieldValidation {
    /// They are dropped.
    Ignore,
    /// They are dropped, and the response has a warning for each.
    Warn,
    /// The request is refused.
    Strict,
}

impl FieldValidation {
    /// Reads the parameter of a request with options of this kind.
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

/// Adds a warning to the response for each field that is unknown or occurs twice.
///
/// # Errors
/// The reason, if the client wants the request to be refused; the inner error is a value of the parameter that is not known.
pub(crate) fn check(
    request: &Request,
    object: &Value,
    options: &str,
) -> Result<Result<(), String>, ErrorResponse> {
    let validation = FieldValidation::of(request, options)?;
    let duplicates = match request.content_type.as_str() {
        _ if validation == FieldValidation::Ignore => return Ok(Ok(())),
        // Protobuf has no names of fields.
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
