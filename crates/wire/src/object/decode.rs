//! Decodes one object, and says which object and which of its fields when it cannot.

use super::{
    error::ObjectError,
    identity::Identity,
    raw::{Format, ManagedFields, Raw},
};
use crate::{
    decode::{self, from_json, from_protobuf},
    protobuf::{Object, Reader, Schema, Skip},
};
use serde::de::DeserializeOwned;

/// Decodes an object from its JSON.
///
/// What the type does not read is passed over, and may be malformed inside.
///
/// # Errors
/// [`ObjectError`] names the object, as far as it tells its name, and the field.
pub fn decode_object<K: DeserializeOwned>(json: &[u8]) -> Result<K, ObjectError> {
    decode_json(json, ManagedFields::Keep)
}

/// Decodes an object from its JSON, with or without its managed fields.
pub(crate) fn decode_json<K: DeserializeOwned>(
    json: &[u8],
    managed_fields: ManagedFields,
) -> Result<K, ObjectError> {
    let skip = match managed_fields {
        ManagedFields::Keep => Skip::Nothing,
        ManagedFields::Drop => Skip::InObject,
    };
    from_json(json, skip).map_err(|error| failed(Identity::of_json(json), error))
}

impl Raw {
    /// Decodes the object.
    ///
    /// The value is the same from both encodings. Two things are not in protobuf and cannot be had from it: the kinds of
    /// objects within objects, and the difference between an empty list and none.
    ///
    /// # Errors
    /// [`ObjectError`] names the object, as far as it tells its name, and the field.
    pub fn decode<K: DeserializeOwned>(&self, managed_fields: ManagedFields) -> Result<K, ObjectError> {
        let object = match self.format() {
            Format::Json => return decode_json(self.bytes(), managed_fields),
            Format::Protobuf(schema) => self.object(schema).with_types(schema),
            Format::ProtobufItem(schema) => self.object(schema),
        };
        let object = match managed_fields {
            ManagedFields::Keep => object,
            ManagedFields::Drop => object.without_managed_fields(),
        };
        from_protobuf(object).map_err(|error| failed(Identity::of_protobuf(self.bytes()), error))
    }

    fn object(&self, schema: Schema) -> Object<'_> {
        Object::of(schema, Reader::new(self.bytes()))
    }
}

#[cold]
fn failed(identity: Option<Identity<'_>>, error: decode::Error) -> ObjectError {
    ObjectError::new(identity, error.path(), error.into())
}
