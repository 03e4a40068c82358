//! Adds the type to an object of a list.

use super::kind::Kind;
use kube_core::DynamicObject;
use serde_json::{Value, json};

/// Returns the object as kubectl prints it: with its kind, which lists do not contain, and without `managedFields`.
pub(crate) fn whole(kind: &Kind, object: &DynamicObject) -> Value {
    let mut whole = json!({"apiVersion": kind.api_version(), "kind": kind.kind, "metadata": object.metadata});
    if let (Some(whole), Some(data)) = (whole.as_object_mut(), object.data.as_object()) {
        whole.extend(data.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    if let Some(metadata) = whole["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    whole
}
