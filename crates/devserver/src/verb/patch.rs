//! Patches an object.

use crate::invalid::FieldError;
use crate::object::{patch, scale};
use crate::verb::{
    api_response::ApiResponse,
    apply,
    checks::RequestType,
    cluster::Cluster,
    error_response::ErrorResponse,
    object_part::ObjectPart,
    request::Request,
    update::{Change, apply as store, current_converted, show},
};
use kube_core::response::reason;
use serde_json::Value;

/// Applies the patch in the body, and returns the stored object.
pub(crate) async fn patch(
    cluster: &Cluster,
    request: &Request,
    part: ObjectPart,
) -> Result<ApiResponse, ErrorResponse> {
    if request.content_type == "application/apply-patch+yaml" {
        return apply::apply(cluster, request, part).await;
    }
    let intent = request.intent("PatchOptions")?;
    if request.parameter("force").is_some() {
        let error = FieldError::forbidden("force", "may not be specified for non-apply patch");
        return Err(ErrorResponse::options("PatchOptions", &error));
    }
    let kind = Kind::of(&request.content_type)?;
    if matches!(kind, Kind::Strategic) && request.resource.is_custom() {
        return Err(refuse(&patch::PatchError::Unsupported));
    }
    loop {
        let (record, old) = current_converted(cluster, request).await?;
        // A patch of a missing object is not decoded.
        let body = serde_json::from_slice(&request.body);
        let body: Value =
            body.map_err(|error| ErrorResponse::bad_request(&format!("error decoding patch: {error}")))?;
        let side = match part {
            ObjectPart::Whole | ObjectPart::Status | ObjectPart::Binding | ObjectPart::Finalize => {
                old.clone()
            }
            ObjectPart::Scale => {
                scale::read(&request.resource, &old).ok_or_else(ErrorResponse::no_such_path)?
            }
        };
        let new = kind.apply(request, &side, &body)?;
        let change = Change { record, old, new, request_type: RequestType::Patched };
        if let Some(record) = store(cluster, request, part, intent, change).await? {
            return show(cluster, request, part, &record).await;
        }
    }
}

/// The types of patches.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Json,
    Merge,
    Strategic,
}

impl Kind {
    fn of(content_type: &str) -> Result<Self, ErrorResponse> {
        match content_type {
            "application/json-patch+json" => Ok(Self::Json),
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/strategic-merge-patch+json" => Ok(Self::Strategic),
            _ => Err(ErrorResponse::unsupported_media_type(
                "the body of the request was in an unknown format - accepted media types include: \
                 application/json-patch+json, application/merge-patch+json, \
                 application/strategic-merge-patch+json, application/apply-patch+yaml",
            )),
        }
    }

    fn apply(self, request: &Request, old: &Value, body: &Value) -> Result<Value, ErrorResponse> {
        let patched = match self {
            Self::Json => patch::json(old, body),
            Self::Merge => patch::merge(old, body),
            Self::Strategic => patch::strategic(&request.resource, old, body),
        };
        let patched = patched.map_err(|error| refuse(&error))?;
        // A strategic patch has the type of the object, regardless of its own `kind`.
        let is_other = |field: &&&str| patched.get(**field) != old.get(**field);
        if let (Self::Json | Self::Merge, Some(field)) = (self, ["apiVersion", "kind"].iter().find(is_other))
        {
            let message =
                format!(" \"\" is invalid: patch: Invalid value: {field} is not that of the object");
            return Err(ErrorResponse::new(422, reason::INVALID, &message));
        }
        Ok(patched)
    }
}

fn refuse(error: &patch::PatchError) -> ErrorResponse {
    let reason = match error.code() {
        413 => reason::REQUEST_ENTITY_TOO_LARGE,
        415 => reason::UNSUPPORTED_MEDIA_TYPE,
        422 => reason::INVALID,
        _ => reason::BAD_REQUEST,
    };
    ErrorResponse::new(error.code(), reason, &error.to_string())
}
