//! Changes a part of an object.

use crate::invalid::FieldError;
use crate::object::{patch, scale};
use crate::verb::{
    answer::Answer,
    apply,
    aspect::Aspect,
    cluster::Cluster,
    refusal::Refusal,
    request::Request,
    sound::Way,
    update::{Change, apply as store, current, show},
};
use kube_core::response::reason;
use serde_json::Value;

/// Changes what the body says, and answers with what became of the object.
pub(crate) fn patch(cluster: &Cluster, request: &Request, aspect: Aspect) -> Result<Answer, Refusal> {
    if request.content_type == "application/apply-patch+yaml" {
        return apply::apply(cluster, request, aspect);
    }
    let intent = request.intent("PatchOptions")?;
    if request.parameter("force").is_some() {
        let error = FieldError::forbidden("force", "may not be specified for non-apply patch");
        return Err(Refusal::options("PatchOptions", &error));
    }
    let kind = Kind::of(&request.content_type)?;
    let body = serde_json::from_slice(&request.body);
    let body: Value =
        body.map_err(|error| Refusal::bad_request(&format!("error decoding patch: {error}")))?;
    loop {
        let (record, old) = current(cluster, request)?;
        let side = match aspect {
            Aspect::Whole | Aspect::Status | Aspect::Binding | Aspect::Finalize => old.clone(),
            Aspect::Scale => scale::read(&request.resource, &old).ok_or_else(Refusal::no_such_path)?,
        };
        let new = kind.apply(request, &side, &body)?;
        let change = Change { record, old, new, way: Way::Patched };
        if let Some(record) = store(cluster, request, (aspect, intent), change)? {
            return Ok(show(request, aspect, &record));
        }
    }
}

/// The languages of patches.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Json,
    Merge,
    Strategic,
}

impl Kind {
    fn of(content_type: &str) -> Result<Self, Refusal> {
        match content_type {
            "application/json-patch+json" => Ok(Self::Json),
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/strategic-merge-patch+json" => Ok(Self::Strategic),
            _ => Err(Refusal::unsupported_media_type(
                "the body of the request was in an unknown format - accepted media types include: \
                 application/json-patch+json, application/merge-patch+json, \
                 application/strategic-merge-patch+json, application/apply-patch+yaml",
            )),
        }
    }

    fn apply(self, request: &Request, old: &Value, body: &Value) -> Result<Value, Refusal> {
        let patched = match self {
            Self::Json => patch::json(old, body),
            Self::Merge => patch::merge(old, body),
            Self::Strategic => patch::strategic(&request.resource, old, body),
        };
        let patched = patched.map_err(|error| refuse(&error))?;
        // A strategic patch is of the type of the object, whatever it says.
        let is_other = |field: &&&str| patched.get(**field) != old.get(**field);
        if let (Self::Json | Self::Merge, Some(field)) = (self, ["apiVersion", "kind"].iter().find(is_other))
        {
            let message =
                format!(" \"\" is invalid: patch: Invalid value: {field} is not that of the object");
            return Err(Refusal::new(422, reason::INVALID, &message));
        }
        Ok(patched)
    }
}

fn refuse(error: &patch::PatchError) -> Refusal {
    let reason = match error.code() {
        413 => reason::REQUEST_ENTITY_TOO_LARGE,
        415 => reason::UNSUPPORTED_MEDIA_TYPE,
        422 => reason::INVALID,
        _ => reason::BAD_REQUEST,
    };
    Refusal::new(error.code(), reason, &error.to_string())
}
