//! The `AdmissionReview` that a webhook receives, and the one with which it responds.

use crate::object::patch;
use crate::rbac::User;
use crate::registry::Resource;
use base64::{Engine, prelude::BASE64_STANDARD};
use serde::Deserialize;
use serde_json::{Value, json};

const KIND: &str = "AdmissionReview";
const JSON_PATCH: &str = "JSONPatch";

/// The versions of `AdmissionReview`. In `v1beta1`, a response need not have a uid and the type of its patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReviewVersion {
    V1,
    V1Beta1,
}

impl ReviewVersion {
    /// Returns the version with this name, if it is known.
    pub(super) fn parse(name: &str) -> Option<Self> {
        match name {
            "v1" => Some(Self::V1),
            "v1beta1" => Some(Self::V1Beta1),
            _ => None,
        }
    }

    fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "admission.k8s.io/v1",
            Self::V1Beta1 => "admission.k8s.io/v1beta1",
        }
    }
}

/// The operation of a request on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
}

impl Operation {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// The attributes of a request, as rules and reviews have them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attributes<'r> {
    pub(crate) operation: Operation,
    /// The resource in the version of the review.
    pub(crate) resource: &'r Resource,
    /// The resource in the version of the request.
    pub(crate) requested: &'r Resource,
    /// The subresource; empty for the object itself.
    pub(crate) subresource: &'r str,
    pub(crate) namespace: Option<&'r str>,
    pub(crate) name: &'r str,
    /// The new state; `None` for a deletion.
    pub(crate) object: Option<&'r Value>,
    /// The stored state; `None` for a new object.
    pub(crate) old: Option<&'r Value>,
    pub(crate) user: &'r User,
    /// The options of the request.
    pub(crate) options: &'r Value,
    pub(crate) dry_run: bool,
}

/// A request to a webhook.
#[derive(Debug)]
pub(crate) struct Review<'r> {
    pub(crate) uid: String,
    pub(crate) version: ReviewVersion,
    pub(crate) attributes: Attributes<'r>,
}

/// The decision of a webhook.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Response {
    #[serde(default)]
    uid: String,
    pub(crate) allowed: bool,
    /// The `Status` of a denied request.
    pub(crate) status: Option<Value>,
    patch: Option<String>,
    patch_type: Option<String>,
    #[serde(default)]
    pub(crate) warnings: Vec<String>,
}

impl Attributes<'_> {
    /// Returns the request as a review describes it, without its uid and the states of the object.
    pub(super) fn to_request(self) -> Value {
        let Attributes { operation, subresource, namespace, name, user, options, dry_run, .. } = self;
        let kind = |resource: &Resource| match subresource {
            "scale" => json!({"group": "autoscaling", "version": "v1", "kind": "Scale"}),
            _ => json!({"group": resource.group, "version": resource.version, "kind": resource.kind}),
        };
        let target = |resource: &Resource| json!({"group": resource.group, "version": resource.version, "resource": resource.plural});
        let mut request = json!({
            "kind": kind(self.resource),
            "resource": target(self.resource),
            "requestKind": kind(self.requested),
            "requestResource": target(self.requested),
            "operation": operation.as_str(),
            "userInfo": user.to_info(),
            "dryRun": dry_run,
            "options": options,
        });
        for (field, text) in [
            ("subResource", subresource),
            ("requestSubResource", subresource),
            ("name", name),
            ("namespace", namespace.unwrap_or_default()),
        ] {
            if !text.is_empty() {
                request[field] = text.into();
            }
        }
        request
    }
}

impl Review<'_> {
    pub(crate) fn to_json(&self) -> Value {
        let mut request = self.attributes.to_request();
        request["uid"] = self.uid.as_str().into();
        request["object"] = json!(self.attributes.object);
        request["oldObject"] = json!(self.attributes.old);
        json!({"apiVersion": self.version.api_version(), "kind": KIND, "request": request})
    }

    /// Reads the response of a webhook.
    ///
    /// # Errors
    /// The reason why it is not a valid response to this review.
    pub(crate) fn read(&self, review: &Value) -> Result<Response, String> {
        let (api_version, kind) = (text(review, "apiVersion"), text(review, "kind"));
        let expected = self.version.api_version();
        if (api_version, kind) != (expected, KIND) {
            return Err(format!(
                "expected webhook response of {expected}, Kind={KIND}, got {api_version}, Kind={kind}"
            ));
        }
        let response = review.get("response").ok_or("webhook response was absent")?;
        let mut response =
            Response::deserialize(response).map_err(|error| format!("invalid webhook response: {error}"))?;
        match self.version {
            ReviewVersion::V1 if response.uid != self.uid => {
                Err(format!("expected response.uid={:?}, got {:?}", self.uid, response.uid))
            }
            ReviewVersion::V1 => Ok(response),
            ReviewVersion::V1Beta1 => {
                response.patch_type.get_or_insert_with(|| JSON_PATCH.to_owned());
                Ok(response)
            }
        }
    }
}

impl Response {
    /// Applies the patch of the response to an object; `None` if the response has no patch.
    ///
    /// # Errors
    /// The reason why the patch cannot be applied.
    pub(crate) fn patched(&self, object: &Value) -> Result<Option<Value>, String> {
        let Some(encoded) = self.patch.as_deref().filter(|patch| !patch.is_empty()) else { return Ok(None) };
        match self.patch_type.as_deref() {
            Some(JSON_PATCH) => {}
            Some(other) => return Err(format!("unsupported patch type {other:?}")),
            None => return Err("webhook returned response.patch but not response.patchType".to_owned()),
        }
        let bytes = BASE64_STANDARD.decode(encoded).map_err(|error| format!("invalid base64: {error}"))?;
        let patch: Value = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        patch::json(object, &patch).map(Some).map_err(|error| error.to_string())
    }
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}
