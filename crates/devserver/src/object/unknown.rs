//! Finds the fields of an object that its kind does not define.

use crate::apply::unknown_fields as unknown_to_types;
use crate::object::normalize::types;
use crate::registry::Resource;
use crate::structural;
use serde_json::{Value, json};

/// Returns the paths of the fields that are dropped when an object is stored.
pub(crate) fn unknown_fields(resource: &Resource, object: &Value) -> Vec<String> {
    let (api_version, kind) = (resource.api_version(), &resource.kind);
    let Some(schema) = resource.schema.as_deref() else {
        return unknown_to_types(types(resource), &api_version, kind, object);
    };
    // The schema of a custom resource does not describe the metadata.
    let metadata = json!({ "metadata": object["metadata"] });
    let mut found = unknown_to_types(types(resource), &api_version, kind, &metadata);
    found.extend(structural::prune(schema, &mut object.clone()));
    found
}
