//! The form in which the API server stores what clients send.

use crate::apply::{built_in, prune};
use crate::registry::Resource;
use bytes::Bytes;
use kube_informer_wire::{EncodeError, Format, ManagedFields, Raw, Schema};
use serde_json::{Value, json};

/// Rewrites an object as the Go types of its kind write it: without unknown fields, with the empty structs that are not
/// pointers. Custom resources lose the fields that are not in the schema of their definition.
///
/// # Errors
/// If a field of a built-in kind has another type.
pub(crate) fn normalize(resource: &Resource, object: &mut Value) -> Result<(), EncodeError> {
    if let Some(types) = &resource.types {
        prune(types, &resource.api_version(), &resource.kind, object);
        return Ok(());
    }
    let Some(schema) = Schema::of(&resource.api_version(), &resource.kind) else { return Ok(()) };
    let message = Bytes::from(schema.encode(object)?);
    let decoded = Raw::new(Format::Protobuf(schema), message).decode(ManagedFields::Keep);
    *object = decoded.expect("what was encoded decodes");
    resource.write_type(object);
    Ok(())
}

/// Returns an object in which nothing is set.
pub(crate) fn empty(resource: &Resource) -> Value {
    let mut object = json!({});
    resource.write_type(&mut object);
    if normalize(resource, &mut object).is_err() {
        debug_assert!(false, "an empty object has no field of another type");
    }
    object
}

/// Returns the merge schema of a resource.
pub(crate) fn types(resource: &Resource) -> &crate::apply::Schema {
    resource.types.as_deref().unwrap_or_else(|| built_in())
}
