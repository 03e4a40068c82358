//! Messages that are not objects in JSON.

use super::{
    error::ProtobufError,
    reader::{Reader, Tag, Wire},
    table::{Message, Value},
    time::{Precision, TimeText},
};

/// The JSON form of such a message.
#[derive(Debug)]
pub(crate) enum Form<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Text(&'a str),
    Time(TimeText),
    /// JSON text.
    Json(&'a [u8]),
    /// The consecutive fields with this tag; the first tag has been read.
    List(Reader<'a>, Tag, Value),
    EmptyList,
    Object(Reader<'a>, &'static Message),
}

impl<'a> Form<'a> {
    /// Reads the message of a value.
    pub(crate) fn read(value: Value, reader: Reader<'a>) -> Result<Self, ProtobufError> {
        match value {
            Value::Time | Value::MicroTime if reader.is_empty() => Ok(Self::Null),
            Value::Time => TimeText::read(reader, Precision::Seconds).map(Self::Time),
            Value::MicroTime => TimeText::read(reader, Precision::Micros).map(Self::Time),
            Value::Quantity => {
                let text = reader.find(1, Wire::Length)?.map(|mut reader| reader.text()).transpose()?;
                Ok(Self::Text(text.unwrap_or("0")))
            }
            Value::Json => {
                match reader.find(1, Wire::Length)?.map(|mut reader| reader.bytes()).transpose()? {
                    None | Some([]) => Ok(Self::Null),
                    Some(json) => Ok(Self::Json(json)),
                }
            }
            Value::IntOrString => int_or_string(reader),
            Value::Texts => list(reader, 1, Value::Text).map(|list| list.unwrap_or(Self::EmptyList)),
            Value::SchemaOrArray(schema) => match list(reader, 2, Value::Message(schema))? {
                Some(list) => Ok(list),
                None => object(reader, 1, schema).map(|schema| schema.unwrap_or(Self::Null)),
            },
            Value::SchemaOrTexts(schema) => match list(reader, 2, Value::Text)? {
                Some(list) => Ok(list),
                None => object(reader, 1, schema).map(|schema| schema.unwrap_or(Self::Null)),
            },
            Value::SchemaOrBool(schema) => match object(reader, 2, schema)? {
                Some(schema) => Ok(schema),
                None => {
                    let allows =
                        reader.find(1, Wire::Varint)?.map(|mut reader| reader.varint()).transpose()?;
                    Ok(Self::Bool(allows.unwrap_or(0) != 0))
                }
            },
            Value::Message(message) => Ok(Self::Object(reader, message)),
            Value::Bool | Value::Int | Value::Double | Value::Text | Value::Bytes => Ok(Self::Null),
        }
    }

    /// Whether the message of a value is `null` in JSON.
    pub(super) fn is_null(value: Value, reader: Reader<'_>) -> Result<bool, ProtobufError> {
        match value {
            Value::Time | Value::MicroTime => Ok(reader.is_empty()),
            _ => Ok(matches!(Form::read(value, reader)?, Form::Null | Form::Json(b"null"))),
        }
    }
}

fn list(reader: Reader<'_>, number: u32, value: Value) -> Result<Option<Form<'_>>, ProtobufError> {
    let tag = Tag { number, wire: Wire::Length };
    Ok(reader.find(number, Wire::Length)?.map(|reader| Form::List(reader, tag, value)))
}

fn object<'a>(
    reader: Reader<'a>,
    number: u32,
    message: &'static Message,
) -> Result<Option<Form<'a>>, ProtobufError> {
    let found = reader.find(number, Wire::Length)?.map(|mut reader| reader.message()).transpose()?;
    Ok(found.map(|reader| Form::Object(reader, message)))
}

fn int_or_string(mut reader: Reader<'_>) -> Result<Form<'_>, ProtobufError> {
    let mut is_text = false;
    let mut number = 0;
    let mut text = "";
    while let Some(tag) = reader.tag()? {
        match tag {
            Tag { number: 1, wire: Wire::Varint } => is_text = reader.varint()? == 1,
            Tag { number: 2, wire: Wire::Varint } => number = reader.varint()? as i64,
            Tag { number: 3, wire: Wire::Length } => text = reader.text()?,
            Tag { wire, .. } => reader.skip(wire)?,
        }
    }
    Ok(if is_text { Form::Text(text) } else { Form::Int(number) })
}
