//! Encodes JSON as protobuf, with the same bytes as Go.

use super::{
    borrowed::Json,
    schema::Schema,
    table::{Field, Message, Shape, Value},
    writer::Writer,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use std::borrow::Cow;

/// A JSON value that cannot be encoded as protobuf.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("object cannot be encoded at {path}: {message}")]
pub struct EncodeError {
    path: String,
    message: &'static str,
}

impl EncodeError {
    fn new(message: &'static str) -> Self {
        Self { path: String::new(), message }
    }

    fn in_field(mut self, name: &str) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{name}{dot}{}", self.path);
        self
    }

    /// Returns the path to the invalid field, such as `spec.containers[0].name`.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }
}

type EncodeResult = Result<(), EncodeError>;

/// The fields of a JSON object.
type Fields<'a> = [(Cow<'a, str>, Json<'a>)];

impl Schema {
    /// Encodes an object of this kind as one protobuf message, without an envelope. Unknown fields are ignored.
    ///
    /// # Errors
    /// [`EncodeError`] if a field has another type.
    pub fn encode(self, object: &serde_json::Value) -> Result<Vec<u8>, EncodeError> {
        self.encode_tree(&object.into())
    }

    /// Encodes an object in JSON text, in half of the time of parsing it to a value first.
    ///
    /// # Errors
    /// [`EncodeError`] if the text is not valid JSON, or a field has another type.
    pub fn encode_json(self, object: &str) -> Result<Vec<u8>, EncodeError> {
        self.encode_tree(&serde_json::from_str(object).map_err(|_| EncodeError::new("invalid JSON"))?)
    }

    fn encode_tree(self, object: &Json<'_>) -> Result<Vec<u8>, EncodeError> {
        let mut writer = Writer::default();
        fields(&mut writer, self.message(), object_of(object)?)?;
        Ok(writer.into_bytes())
    }
}

fn fields(writer: &mut Writer, message: &Message, object: &Fields<'_>) -> EncodeResult {
    for (field, number) in message.fields.iter().zip(1..) {
        let json = Json::field(object, field.name).filter(|json| !is_null(json));
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
        .map_err(|error| error.in_field(field.name))?;
    }
    Ok(())
}

/// Writes an unset field that is not a pointer in Go.
fn zero(writer: &mut Writer, number: u64, value: Value) -> EncodeResult {
    match value {
        Value::Bool | Value::Int => writer.number(number, 0),
        Value::Double => writer.double(number, 0.0),
        Value::Text | Value::Time | Value::MicroTime | Value::Json => writer.field(number, &[]),
        Value::SchemaOrArray(_) | Value::SchemaOrTexts(_) => writer.field(number, &[]),
        // Slices.
        Value::Bytes | Value::Texts => {}
        Value::Quantity => return message_of_text(writer, number, "0"),
        Value::IntOrString => return int_or_string(writer, number, &Json::Number(0.into())),
        Value::SchemaOrBool(_) => {
            return writer.message(number, |writer| {
                writer.number(1, 0);
                Ok(())
            });
        }
        Value::Message(message) => {
            return writer.message(number, |writer| fields(writer, message, &[]));
        }
    }
    Ok(())
}

fn value(writer: &mut Writer, number: u64, value: Value, json: &Json<'_>) -> EncodeResult {
    match value {
        Value::Bool => {
            writer.number(number, bool_of(json).ok_or(EncodeError::new("expected a boolean"))?.into())
        }
        Value::Int => writer.number(number, int_of(json)? as u64),
        Value::Double => writer.double(number, double_of(json)?),
        Value::Text => writer.field(number, text_of(json)?.as_bytes()),
        Value::Bytes => {
            let bytes = STANDARD.decode(text_of(json)?).map_err(|_| EncodeError::new("invalid base64"))?;
            writer.field(number, &bytes);
        }
        Value::Message(message) => {
            let object = object_of(json)?;
            writer.message(number, |writer| fields(writer, message, object))?;
        }
        Value::Texts => writer.message(number, |writer| elements(writer, 1, Value::Text, json))?,
        Value::Time | Value::MicroTime => time(writer, number, text_of(json)?)?,
        Value::Quantity => message_of_text(writer, number, &quantity_of(json)?)?,
        Value::IntOrString => int_or_string(writer, number, json)?,
        Value::Json => message_of_text(writer, number, &to_text(json)?)?,
        Value::SchemaOrArray(schema) => writer.message(number, |writer| match json {
            Json::Array(_) => elements(writer, 2, Value::Message(schema), json),
            _ => self::value(writer, 1, Value::Message(schema), json),
        })?,
        Value::SchemaOrTexts(schema) => writer.message(number, |writer| match json {
            Json::Array(_) => elements(writer, 2, Value::Text, json),
            _ => self::value(writer, 1, Value::Message(schema), json),
        })?,
        Value::SchemaOrBool(schema) => writer.message(number, |writer| {
            writer.number(1, bool_of(json).unwrap_or(true).into());
            if bool_of(json).is_some() {
                Ok(())
            } else {
                self::value(writer, 2, Value::Message(schema), json)
            }
        })?,
    }
    Ok(())
}

fn elements(writer: &mut Writer, number: u64, element: Value, json: &Json<'_>) -> EncodeResult {
    let Json::Array(elements) = json else { return Err(EncodeError::new("expected an array")) };
    for (index, json) in elements.iter().enumerate() {
        element_or_zero(writer, number, element, json)
            .map_err(|error| error.in_field(&format!("[{index}]")))?;
    }
    Ok(())
}

fn entries(writer: &mut Writer, number: u64, field: &Field, json: &Json<'_>) -> EncodeResult {
    let mut entries: Vec<_> = object_of(json)?.iter().collect();
    // The last of duplicate names counts.
    entries.sort_by(|one, other| one.0.cmp(&other.0));
    let is_last = |&(index, entry): &(usize, &&(Cow<'_, str>, _))| {
        entries.get(index + 1).is_none_or(|next| next.0 != entry.0)
    };
    for (_, (key, json)) in entries.iter().enumerate().filter(is_last) {
        let written = writer.message(number, |writer| {
            writer.field(1, key.as_bytes());
            element_or_zero(writer, 2, field.value, json)
        });
        written.map_err(|error: EncodeError| error.in_field(key))?;
    }
    Ok(())
}

/// Writes an element, which exists even if it is `null` in JSON.
fn element_or_zero(writer: &mut Writer, number: u64, element: Value, json: &Json<'_>) -> EncodeResult {
    if is_null(json) { zero(writer, number, element) } else { value(writer, number, element, json) }
}

fn message_of_text(writer: &mut Writer, number: u64, text: &str) -> EncodeResult {
    writer.message(number, |writer| {
        writer.field(1, text.as_bytes());
        Ok(())
    })
}

fn int_or_string(writer: &mut Writer, number: u64, json: &Json<'_>) -> EncodeResult {
    let (kind, int, text) = match json {
        Json::Text(text) => (1, 0, &**text),
        json => (0, int_of(json)? as u64, ""),
    };
    writer.message(number, |writer| {
        writer.number(1, kind);
        writer.number(2, int);
        writer.field(3, text.as_bytes());
        Ok(())
    })
}

fn time(writer: &mut Writer, number: u64, text: &str) -> EncodeResult {
    let time: jiff::Timestamp = text.parse().map_err(|_| EncodeError::new("invalid time"))?;
    // Nanoseconds count forward from the second, also before 1970.
    let nanos = time.as_nanosecond().rem_euclid(1_000_000_000) as u64;
    let seconds = time.as_nanosecond().div_euclid(1_000_000_000) as i64;
    writer.message(number, |writer| {
        writer.number(1, seconds as u64);
        writer.number(2, nanos);
        Ok(())
    })
}

fn quantity_of<'a>(json: &'a Json<'a>) -> Result<Cow<'a, str>, EncodeError> {
    match json {
        Json::Number(number) => Ok(number.to_string().into()),
        json => text_of(json).map(Cow::Borrowed),
    }
}

fn to_text(json: &Json<'_>) -> Result<String, EncodeError> {
    serde_json::to_string(json).map_err(|_| EncodeError::new("invalid JSON"))
}

fn object_of<'a>(json: &'a Json<'a>) -> Result<&'a Fields<'a>, EncodeError> {
    if let Json::Object(fields) = json { Ok(fields) } else { Err(EncodeError::new("expected an object")) }
}

fn text_of<'a>(json: &'a Json<'_>) -> Result<&'a str, EncodeError> {
    if let Json::Text(text) = json { Ok(text) } else { Err(EncodeError::new("expected a string")) }
}

fn bool_of(json: &Json<'_>) -> Option<bool> {
    if let Json::Bool(bool) = json { Some(*bool) } else { None }
}

fn double_of(json: &Json<'_>) -> Result<f64, EncodeError> {
    let Json::Number(number) = json else { return Err(EncodeError::new("expected a number")) };
    number.as_f64().ok_or(EncodeError::new("expected a number"))
}

fn int_of(json: &Json<'_>) -> Result<i64, EncodeError> {
    let Json::Number(number) = json else { return Err(EncodeError::new("expected an integer")) };
    number.as_i64().ok_or(EncodeError::new("expected an integer"))
}

fn is_null(json: &Json<'_>) -> bool {
    matches!(json, Json::Null)
}
