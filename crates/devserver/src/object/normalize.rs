//! The form in which the API server stores what clients send.

use crate::apply::built_in;
use crate::object::metadata;
use crate::registry::Resource;
use crate::structural;
use bytes::Bytes;
use kube_informer_wire::{EncodeError, Format, ManagedFields, Raw, Schema};
use serde_json::{Value, json};

/// The fields of the metadata of an object.
const METADATA: [&str; 15] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Rewrites an object as the Go types of its kind write it: without unknown fields, with the empty structs that are not
/// pointers. Custom resources get the defaults of the schema of their definition, and lose the fields that are not in it.
///
/// # Errors
/// Returns an error if a field of a built-in kind has the wrong type.
pub(crate) fn normalize(resource: &Resource, object: &mut Value) -> Result<(), EncodeError> {
    if resource.is_custom() {
        // They are stored as JSON, but their metadata have the types of all metadata.
        Schema::partial_object_metadata().encode(object)?;
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|name, _| METADATA.contains(&name.as_str()));
        }
        if object.get("metadata").is_some_and(Value::is_object) {
            metadata::drop_empty(object);
        }
        if let Some(schema) = resource.schema.as_deref() {
            structural::fill(schema, object);
            structural::prune(schema, object);
            structural::drop_nulls(Some(schema), object);
        }
        return Ok(());
    }
    let Some(schema) = Schema::of(&resource.api_version(), &resource.kind) else { return Ok(()) };
    let message = Bytes::from(schema.encode(object)?);
    let decoded = Raw::new(Format::Protobuf(schema), message).decode(ManagedFields::Keep);
    *object = decoded.expect("what was encoded decodes");
    resource.write_type(object);
    Ok(())
}

/// Converts a stored object to the version of a resource: without the fields that this version does not have, and with its defaults.
pub(crate) fn convert(resource: &Resource, object: &mut Value) {
    if let (Some(schema), Some(_)) = (resource.schema.as_deref(), &resource.storage_schema) {
        structural::fill(schema, object);
        structural::prune(schema, object);
    }
}

/// Returns an object in which nothing is set.
pub(crate) fn empty(resource: &Resource) -> Value {
    let mut object = json!({});
    resource.write_type(&mut object);
    if resource.is_custom() {
        return object;
    }
    if normalize(resource, &mut object).is_err() {
        debug_assert!(false, "an empty object has no field of another type");
    }
    object
}

/// Returns the merge schema of a resource.
pub(crate) fn types(resource: &Resource) -> &crate::apply::Schema {
    resource.types.as_deref().unwrap_or_else(|| built_in())
}
