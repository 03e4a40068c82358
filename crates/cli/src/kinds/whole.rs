//! An object with everything that says what it is.

use super::kind::Kind;
use kube_core::DynamicObject;
use serde_json::{Value, json};

/// The object as kubectl prints it: with its kind, which lists leave out, and without `managedFields`.
pub(crate) fn whole(kind: &Kind, object: &DynamicObject) -> Value {
    let mut metadata = json!(object.metadata);
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.remove("managedFields");
    }
    let mut whole = json!({"apiVersion": kind.api_version(), "kind": kind.kind, "metadata": metadata});
    if let (Some(whole), Some(data)) = (whole.as_object_mut(), object.data.as_object()) {
        whole.extend(data.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    whole
}
