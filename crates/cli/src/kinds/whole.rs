//! An object with everything that says what it is.

use super::kind::Kind;
use kube_core::DynamicObject;
use serde_json::{Value, json};

/// The object as kubectl prints it: with its kind, which lists leave out. Its `managedFields` were never decoded.
pub(crate) fn whole(kind: &Kind, object: &DynamicObject) -> Value {
    let mut whole = json!({"apiVersion": kind.api_version(), "kind": kind.kind, "metadata": object.metadata});
    if let (Some(whole), Some(data)) = (whole.as_object_mut(), object.data.as_object()) {
        whole.extend(data.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    whole
}
