//! Finds the bytes of the fields of an object, without decoding them.

use super::{
    error::ProtobufError,
    message_fields::MessageFields,
    reader::Reader,
    schema::Schema,
    value_ref::{Next, Object, ValueRef},
};

/// Returns the top-level fields of an object and their bytes, by their names in JSON.
pub(crate) fn field_bytes(
    schema: Schema,
    object: &[u8],
) -> Result<Vec<(&'static str, &[u8])>, ProtobufError> {
    let object = ValueRef::of_object(schema, Reader::new(object)).object(schema, false);
    fields(MessageFields::new(object))
}

/// Returns the fields of the metadata of an object and their bytes, by their names in JSON. Empty if it has no metadata.
pub(crate) fn metadata_field_bytes(
    schema: Schema,
    object: &[u8],
) -> Result<Vec<(&'static str, &[u8])>, ProtobufError> {
    let object = ValueRef::of_object(schema, Reader::new(object)).object(schema, false);
    let mut fields_of_object = MessageFields::new(object);
    while fields_of_object.advance()? {
        let is_metadata = fields_of_object.name() == "metadata";
        let value = fields_of_object.value();
        match value.message().filter(|_| is_metadata && matches!(value.next, Next::Field(..))) {
            Some(message) => {
                let inside = value.reader.message()?;
                return fields(MessageFields::new(Object::inside(value, inside, message)?));
            }
            None => value.skip_value()?,
        }
    }
    Ok(Vec::new())
}

fn fields(mut fields: MessageFields<'_>) -> Result<Vec<(&'static str, &[u8])>, ProtobufError> {
    let mut found = Vec::new();
    while fields.advance()? {
        let name = fields.name();
        let value = fields.value();
        let before = value.reader.rest();
        value.skip_value()?;
        found.push((name, &before[..before.len() - value.reader.rest().len()]));
    }
    Ok(found)
}
