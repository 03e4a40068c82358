//! Checks whether an object can be stored: its types, depth, size and metadata.

use crate::invalid::FieldError;
use crate::object::{
    DEEPEST, RuleScope, depth, new_metadata_errors, normalize, scale, try_fill_defaults,
    updated_metadata_errors,
};
use crate::registry::Resource;
use crate::structural::{self, Part};
use crate::validation;
use crate::verb::{
    error_response::ErrorResponse, field_validation, object_part::ObjectPart, request::Request, side_effects,
};
use kube_informer_wire::Schema;
use serde_json::Value;

/// The type of the request, on which the error for wrong types depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestType {
    /// A complete object.
    Sent,
    /// A patch.
    Patched,
    /// Server-side apply.
    Applied,
}

impl RequestType {
    /// Returns the kind of the options of this request.
    pub(crate) fn options(self) -> &'static str {
        match self {
            Self::Sent => "UpdateOptions",
            Self::Patched | Self::Applied => "PatchOptions",
        }
    }
}

/// The default size limit of a request of etcd.
const LARGEST: usize = 3 << 19;

/// Rewrites an object as it is stored: without unknown fields, with defaults.
pub(crate) fn normalized(
    request: &Request,
    object: &mut Value,
    request_type: RequestType,
    options: &str,
) -> Result<(), ErrorResponse> {
    let resource = &request.resource;
    check_depth(resource, object, request_type)?;
    // A configuration with unknown fields was refused before it was merged.
    if request_type != RequestType::Applied {
        let checked = field_validation::check(request, object, options)?;
        checked.map_err(|reason| wrong(resource, request_type, &reason))?;
    }
    normalize(resource, object).map_err(|error| wrong(resource, request_type, &error.to_string()))?;
    try_fill_defaults(resource, object).map_err(|error| wrong(resource, request_type, &error.to_string()))
}

fn check_depth(resource: &Resource, object: &Value, request_type: RequestType) -> Result<(), ErrorResponse> {
    if depth(object) > DEEPEST {
        return Err(wrong(resource, request_type, &format!("it is more than {DEEPEST} levels deep")));
    }
    Ok(())
}

/// A state of an object to store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State<'o> {
    /// The state before; `None` for a new object.
    pub(crate) old: Option<&'o Value>,
    /// The state itself.
    pub(crate) object: &'o Value,
    /// The type of the request.
    pub(crate) request_type: RequestType,
    /// The part of the object that it changes.
    pub(crate) part: ObjectPart,
}

/// Checks the kind of a custom resource. Objects of built-in kinds are refused when they are decoded.
pub(crate) fn check_kind(resource: &Resource, name: &str, object: &Value) -> Result<(), ErrorResponse> {
    let kind = object.get("kind").and_then(Value::as_str).filter(|kind| *kind != resource.kind);
    let Some(kind) = kind.filter(|_| resource.is_custom()) else { return Ok(()) };
    let detail = format!("must be {}", resource.kind);
    let error = FieldError::invalid("kind", &kind.into(), &detail);
    // kube-apiserver has the kind of the object in the details.
    Err(ErrorResponse::invalid_fields(&resource.group, kind, name, &[error]))
}

/// Checks an object with this name before it is stored. `errors` are those that were found before; all errors are reported together.
pub(crate) fn check(
    resource: &Resource,
    name: &str,
    state: State<'_>,
    mut errors: Vec<FieldError>,
) -> Result<(), ErrorResponse> {
    let State { object, request_type, .. } = state;
    check_depth(resource, object, request_type)?;
    let own = Schema::of(&resource.api_version(), &resource.kind).filter(|_| !resource.is_custom());
    let message = own.unwrap_or(Schema::partial_object_metadata()).encode(object);
    let message = message.map_err(|error| wrong(resource, request_type, &error.to_string()))?;
    errors.extend(match (state.old, state.part) {
        (None, _) => new_metadata_errors(resource, name, object),
        (Some(_), ObjectPart::Whole) => updated_metadata_errors(resource, object, RuleScope::Object),
        (Some(_), _) => updated_metadata_errors(resource, object, RuleScope::Part),
    });
    errors.extend(custom_errors(resource, state));
    if matches!(state.part, ObjectPart::Whole | ObjectPart::Scale) {
        errors.extend(validation::errors(resource, state.old, object));
    }
    if state.part == ObjectPart::Whole {
        errors.extend(side_effects::errors(resource, object));
    }
    if !errors.is_empty() {
        return Err(ErrorResponse::invalid(resource, name, &errors));
    }
    // Custom resources are stored as JSON.
    let size = if own.is_some() { message.len() } else { object.to_string().len() };
    match size > LARGEST {
        true => Err(ErrorResponse::unexplained("etcdserver: request is too large")),
        false => Ok(()),
    }
}

/// Returns the violations of the schema of a custom resource.
fn custom_errors(resource: &Resource, state: State<'_>) -> Vec<FieldError> {
    let Some(schema) = resource.schema.as_deref() else { return Vec::new() };
    let part = match state.part {
        ObjectPart::Status => Part::Status,
        ObjectPart::Whole | ObjectPart::Scale | ObjectPart::Binding | ObjectPart::Finalize => Part::Object,
    };
    let mut errors = structural::errors(schema, state.old, state.object, part);
    errors.extend(scale::errors(resource, state.object, part));
    errors
}

fn wrong(resource: &Resource, request_type: RequestType, why: &str) -> ErrorResponse {
    let kind = &resource.kind;
    match request_type {
        RequestType::Sent => ErrorResponse::bad_request(&format!(
            "{kind} in version {:?} cannot be handled as a {kind}: {why}",
            resource.version
        )),
        RequestType::Applied => {
            ErrorResponse::unexplained(&format!("failed to convert new object to {kind}: {why}"))
        }
        RequestType::Patched => {
            ErrorResponse::invalid_fields("", "", "", &[FieldError::invalid_omitted("patch", why)])
        }
    }
}
