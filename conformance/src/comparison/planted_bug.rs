//! Bugs that are planted in one of the servers on purpose, to test that the comparison finds them.

use super::Request;
use serde_json::{Value, json};

/// A bug between the comparison and a server, with the same effect as one in the server: it changes requests before the server receives
/// them, or responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlantedBug {
    /// An apply without `force` overwrites fields of other managers.
    ConflictsIgnored,
    /// An apply with `force` is refused as one without.
    ForceIgnored,
    /// All managers are one.
    ManagersMerged,
    /// The preconditions of a deletion are not checked.
    PreconditionsIgnored,
    /// An update with an outdated version replaces the object.
    VersionIgnored,
    /// `null` in a merge patch does not remove a field.
    NullKept,
    /// A strategic merge patch replaces lists, as a merge patch does.
    ListsReplaced,
    /// The operation `test` of a JSON patch always succeeds.
    TestIgnored,
    /// Invalid labels are dropped instead of refused.
    InvalidLabelsDropped,
    /// An update keeps the annotations that it should remove.
    AnnotationsKept,
    /// Only the first invalid field is reported.
    OneCause,
    /// An object that is created by an apply is returned with the code 200.
    CreatedAsOk,
    /// A failed precondition has the reason `AlreadyExists`.
    WrongReason,
    /// The generation stays at 1.
    GenerationFixed,
    /// A default is missing in containers.
    DefaultMissing,
}

impl PlantedBug {
    /// All bugs.
    pub const ALL: [Self; 15] = [
        Self::ConflictsIgnored,
        Self::ForceIgnored,
        Self::ManagersMerged,
        Self::PreconditionsIgnored,
        Self::VersionIgnored,
        Self::NullKept,
        Self::ListsReplaced,
        Self::TestIgnored,
        Self::InvalidLabelsDropped,
        Self::AnnotationsKept,
        Self::OneCause,
        Self::CreatedAsOk,
        Self::WrongReason,
        Self::GenerationFixed,
        Self::DefaultMissing,
    ];

    /// Changes a request. `current` is the object that it is for.
    pub(super) fn change_request(self, request: &mut Request, current: Option<&Value>) {
        let Ok(mut body) = serde_json::from_str::<Value>(&request.body) else { return };
        let media = request.media.split('/').next_back().unwrap_or_default();
        match (self, request.method, media) {
            (Self::ConflictsIgnored, "PATCH", "apply-patch+yaml")
                if request.path.contains("fieldManager") =>
            {
                request.path.push_str("&force=true");
            }
            (Self::ForceIgnored, "PATCH", "apply-patch+yaml") => {
                request.path = request.path.replace("force=true", "force=false");
            }
            (Self::ManagersMerged, _, _) => {
                for manager in ["green", "blue"] {
                    request.path =
                        request.path.replace(&format!("fieldManager={manager}"), "fieldManager=red");
                }
            }
            (Self::PreconditionsIgnored, "DELETE", _) => body = json!({}),
            (Self::VersionIgnored, "PUT", _) => {
                if let Some(current) = current
                    && body.pointer("/metadata/resourceVersion").is_some()
                {
                    body["metadata"]["resourceVersion"] = current["metadata"]["resourceVersion"].clone();
                }
            }
            (Self::NullKept, "PATCH", "merge-patch+json") => remove_nulls(&mut body),
            (Self::ListsReplaced, "PATCH", "strategic-merge-patch+json") => {
                request.media = "application/merge-patch+json";
            }
            (Self::TestIgnored, "PATCH", "json-patch+json") => {
                if let Some(operations) = body.as_array_mut() {
                    operations.retain(|operation| operation["op"] != "test");
                }
            }
            (Self::InvalidLabelsDropped, _, _) => {
                if let Some(labels) = body.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
                    labels.retain(|key, _| !key.starts_with('-'));
                }
            }
            (Self::AnnotationsKept, "PUT", _) => {
                let kept = current.and_then(|current| current.pointer("/metadata/annotations"));
                if let (Some(kept), true) = (kept, body["metadata"].get("annotations") == Some(&json!({}))) {
                    body["metadata"]["annotations"] = kept.clone();
                }
            }
            _ => return,
        }
        request.body = body.to_string();
    }

    /// Changes the response to a request.
    pub(super) fn change_answer(self, request: &Request, code: &mut u16, answer: &mut Value) {
        match self {
            Self::OneCause => {
                if let Some(Value::Array(causes)) = answer.pointer_mut("/details/causes") {
                    causes.truncate(1);
                }
            }
            Self::CreatedAsOk if request.method == "PATCH" && *code == 201 => *code = 200,
            Self::WrongReason if request.method == "DELETE" && *code == 409 => {
                answer["reason"] = "AlreadyExists".into();
            }
            Self::GenerationFixed => {
                if let Some(generation) = answer.pointer_mut("/metadata/generation") {
                    *generation = 1.into();
                }
            }
            Self::DefaultMissing => {
                for path in ["/spec/containers/0", "/spec/template/spec/containers/0"] {
                    if let Some(container) = answer.pointer_mut(path).and_then(Value::as_object_mut) {
                        container.remove("terminationMessagePolicy");
                    }
                }
            }
            _ => {}
        }
    }
}

/// Removes the fields of a merge patch that are `null`.
fn remove_nulls(patch: &mut Value) {
    if let Some(fields) = patch.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
        fields.values_mut().for_each(remove_nulls);
    }
}
