//! Decodes one object, and says which object and which of its fields when it cannot.

use super::{
    error::ObjectError,
    identity::Identity,
    json,
    raw::{Format, ManagedFields, Raw},
};
use crate::protobuf::{Object, Reader, Schema};
use serde::de::DeserializeOwned;

/// Decodes an object from its JSON.
///
/// # Errors
/// [`ObjectError`] names the object, as far as it tells its name, and the field.
pub fn decode_object<K: DeserializeOwned>(json: &[u8]) -> Result<K, ObjectError> {
    // The error path decodes twice, so that the usual one need not keep track of where it is; and text once checked
    // as a whole is cheaper to read than bytes.
    let decoded = std::str::from_utf8(json).ok().and_then(|text| serde_json::from_str(text).ok());
    decoded.map_or_else(|| decode_tracked(json), Ok)
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
        match (self.format(), managed_fields) {
            (Format::Json, ManagedFields::Keep) => decode_object(self.bytes()),
            (Format::Json, ManagedFields::Drop) => {
                let stripped = json::without_managed_fields(self.bytes());
                decode_object(stripped.as_deref().unwrap_or(self.bytes()))
            }
            (Format::Protobuf(schema), _) => {
                self.decode_protobuf(schema, managed_fields, |object| object.with_types(schema))
            }
            (Format::ProtobufItem(schema), _) => {
                self.decode_protobuf(schema, managed_fields, |object| object)
            }
        }
    }

    fn decode_protobuf<'a, K: DeserializeOwned>(
        &'a self,
        schema: Schema,
        managed_fields: ManagedFields,
        prepare: impl Fn(Object<'a>) -> Object<'a>,
    ) -> Result<K, ObjectError> {
        let object = prepare(Object::of(schema, Reader::new(self.bytes())));
        let object = match managed_fields {
            ManagedFields::Keep => object,
            ManagedFields::Drop => object.without_managed_fields(),
        };
        K::deserialize(object).map_err(|error| {
            let path = error.path();
            ObjectError::new(Identity::of_protobuf(self.bytes()), path, error.into())
        })
    }
}

/// Decodes an object once more, keeping track of the path.
pub(crate) fn decode_tracked<K: DeserializeOwned>(json: &[u8]) -> Result<K, ObjectError> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let failed =
        |path, cause: serde_json::Error| ObjectError::new(Identity::of_json(json), path, cause.into());
    let object = serde_path_to_error::deserialize(&mut deserializer)
        .map_err(|error| failed(error.path().to_string(), error.into_inner()))?;
    deserializer.end().map_err(|cause| failed("its end".to_owned(), cause))?;
    Ok(object)
}
