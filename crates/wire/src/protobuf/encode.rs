//! Writes JSON as the protobuf that Go writes of the same object, byte by byte.

use super::{
    schema::Schema,
    table::{Field, Message, Shape, Value},
    writer::Writer,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value as Json};

/// Why a JSON value cannot be written as protobuf, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("object cannot be encoded at {path}: {wrong}")]
pub struct EncodeError {
    path: String,
    wrong: &'static str,
}

impl EncodeError {
    fn new(wrong: &'static str) -> Self {
        Self { path: String::new(), wrong }
    }

    fn within(mut self, name: &str) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{name}{dot}{}", self.path);
        self
    }

    /// The field that is wrong, `spec.containers[0].name` for one.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }
}

type Written = Result<(), EncodeError>;

impl Schema {
    /// Writes the JSON of an object of this kind as one protobuf message, without an envelope.
    ///
    /// What the kind does not have is left out, as a server does.
    ///
    /// # Errors
    /// [`EncodeError`] if a field is of another type.
    pub fn encode(self, object: &Json) -> Result<Vec<u8>, EncodeError> {
        let mut writer = Writer::default();
        fields(&mut writer, self.message(), map_of(object)?)?;
        Ok(writer.into_bytes())
    }
}

fn fields(writer: &mut Writer, message: &Message, object: &Map<String, Json>) -> Written {
    for (field, number) in message.fields.iter().zip(1..) {
        let json = object.get(field.name).filter(|json| !json.is_null());
        match (field.shape, json) {
            (Shape::Vacant, _) | (Shape::Maybe | Shape::Many | Shape::Map, None) => Ok(()),
            (Shape::Inline, _) => match field.value {
                Value::Message(inner) => writer.message(number, |writer| fields(writer, inner, object)),
                _ => Ok(()),
            },
            (Shape::One, None) => zero(writer, number, field.value),
            (Shape::One | Shape::Maybe, Some(json)) => value(writer, number, field.value, json),
            (Shape::Many, Some(json)) => elements(writer, number, field.value, json),
            (Shape::Map, Some(json)) => entries(writer, number, field, json),
        }
        .map_err(|error| error.within(field.name))?;
    }
    Ok(())
}

/// Writes what Go does of a field that is unset and no pointer.
fn zero(writer: &mut Writer, number: u64, value: Value) -> Written {
    match value {
        Value::Bool | Value::Int => writer.number(number, 0),
        Value::Double => writer.double(number, 0.0),
        Value::Text | Value::Time | Value::MicroTime | Value::Json => writer.field(number, &[]),
        Value::SchemaOrArray(_) | Value::SchemaOrTexts(_) => writer.field(number, &[]),
        // Slices.
        Value::Bytes | Value::Texts => {}
        Value::Quantity => return message_of_text(writer, number, "0"),
        Value::IntOrString => return int_or_string(writer, number, &Json::from(0)),
        Value::SchemaOrBool(_) => {
            return writer.message(number, |writer| {
                writer.number(1, 0);
                Ok(())
            });
        }
        Value::Message(message) => {
            return writer.message(number, |writer| fields(writer, message, &Map::new()));
        }
    }
    Ok(())
}

fn value(writer: &mut Writer, number: u64, value: Value, json: &Json) -> Written {
    match value {
        Value::Bool => writer.number(number, json.as_bool().ok_or(EncodeError::new("no boolean"))?.into()),
        Value::Int => writer.number(number, int_of(json)? as u64),
        Value::Double => writer.double(number, json.as_f64().ok_or(EncodeError::new("no number"))?),
        Value::Text => writer.field(number, text_of(json)?.as_bytes()),
        Value::Bytes => {
            let bytes = STANDARD.decode(text_of(json)?).map_err(|_| EncodeError::new("no base64"))?;
            writer.field(number, &bytes);
        }
        Value::Message(message) => {
            let object = map_of(json)?;
            writer.message(number, |writer| fields(writer, message, object))?;
        }
        Value::Texts => writer.message(number, |writer| elements(writer, 1, Value::Text, json))?,
        Value::Time | Value::MicroTime => time(writer, number, text_of(json)?)?,
        Value::Quantity => message_of_text(writer, number, &quantity_of(json)?)?,
        Value::IntOrString => int_or_string(writer, number, json)?,
        Value::Json => message_of_text(writer, number, &json.to_string())?,
        Value::SchemaOrArray(schema) => writer.message(number, |writer| match json {
            Json::Array(_) => elements(writer, 2, Value::Message(schema), json),
            _ => self::value(writer, 1, Value::Message(schema), json),
        })?,
        Value::SchemaOrTexts(schema) => writer.message(number, |writer| match json {
            Json::Array(_) => elements(writer, 2, Value::Text, json),
            _ => self::value(writer, 1, Value::Message(schema), json),
        })?,
        Value::SchemaOrBool(schema) => writer.message(number, |writer| {
            writer.number(1, json.as_bool().unwrap_or(true).into());
            if json.is_boolean() { Ok(()) } else { self::value(writer, 2, Value::Message(schema), json) }
        })?,
    }
    Ok(())
}

fn elements(writer: &mut Writer, number: u64, element: Value, json: &Json) -> Written {
    let elements = json.as_array().ok_or(EncodeError::new("no array"))?;
    for (index, json) in elements.iter().enumerate() {
        element_or_zero(writer, number, element, json)
            .map_err(|error| error.within(&format!("[{index}]")))?;
    }
    Ok(())
}

fn entries(writer: &mut Writer, number: u64, field: &Field, json: &Json) -> Written {
    let mut entries: Vec<_> = map_of(json)?.iter().collect();
    entries.sort_unstable_by_key(|(key, _)| *key);
    for (key, json) in entries {
        let written = writer.message(number, |writer| {
            writer.field(1, key.as_bytes());
            element_or_zero(writer, 2, field.value, json)
        });
        written.map_err(|error: EncodeError| error.within(key))?;
    }
    Ok(())
}

/// An element is there even if JSON says `null`.
fn element_or_zero(writer: &mut Writer, number: u64, element: Value, json: &Json) -> Written {
    if json.is_null() { zero(writer, number, element) } else { value(writer, number, element, json) }
}

fn message_of_text(writer: &mut Writer, number: u64, text: &str) -> Written {
    writer.message(number, |writer| {
        writer.field(1, text.as_bytes());
        Ok(())
    })
}

fn int_or_string(writer: &mut Writer, number: u64, json: &Json) -> Written {
    let (kind, int, text) = match json {
        Json::String(text) => (1, 0, text.as_str()),
        json => (0, int_of(json)? as u64, ""),
    };
    writer.message(number, |writer| {
        writer.number(1, kind);
        writer.number(2, int);
        writer.field(3, text.as_bytes());
        Ok(())
    })
}

fn time(writer: &mut Writer, number: u64, text: &str) -> Written {
    let time: jiff::Timestamp = text.parse().map_err(|_| EncodeError::new("no time"))?;
    // Nanoseconds count forward from the second, also before 1970.
    let nanos = time.as_nanosecond().rem_euclid(1_000_000_000) as u64;
    let seconds = time.as_nanosecond().div_euclid(1_000_000_000) as i64;
    writer.message(number, |writer| {
        writer.number(1, seconds as u64);
        writer.number(2, nanos);
        Ok(())
    })
}

fn quantity_of(json: &Json) -> Result<String, EncodeError> {
    match json {
        Json::Number(number) => Ok(number.to_string()),
        json => text_of(json).map(str::to_owned),
    }
}

fn map_of(json: &Json) -> Result<&Map<String, Json>, EncodeError> {
    json.as_object().ok_or(EncodeError::new("no object"))
}

fn text_of(json: &Json) -> Result<&str, EncodeError> {
    json.as_str().ok_or(EncodeError::new("no text"))
}

fn int_of(json: &Json) -> Result<i64, EncodeError> {
    json.as_i64().ok_or(EncodeError::new("no whole number"))
}
