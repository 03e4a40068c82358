//! How a protobuf message of the Kubernetes API becomes JSON: what the generated tables are made of.

use super::reader::Wire;

/// A kind of object.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) api_version: &'static str,
    pub(super) name: &'static str,
    pub(super) message: &'static Message,
}

/// A protobuf message.
#[derive(Debug)]
pub(crate) struct Message {
    /// The Go type, as `k8s.io/api/core/v1.Pod`.
    pub(super) name: &'static str,
    /// The field with number 1, and so on; vacant where there is none.
    pub(super) fields: &'static [Field],
    /// A bit for each number whose field JSON calls `null` where protobuf has nothing.
    pub(super) nulls: u64,
}

/// A field of a message.
#[derive(Debug)]
pub(crate) struct Field {
    /// Its name in JSON.
    pub(super) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) value: Value,
    /// How it is written.
    pub(super) wire: Wire,
    /// The same as its tag has it, and what no tag has if it is vacant.
    wire_bits: u8,
    /// Whether JSON leaves out the zero value, which protobuf writes.
    pub(super) is_omitted: bool,
    /// Whether JSON says `null` where protobuf has nothing.
    pub(super) is_null: bool,
    /// Whether JSON may say `null` for what protobuf has.
    pub(super) is_nullable: bool,
}

/// How often a field is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// No field has this number.
    Vacant,
    /// Always written to protobuf, also when zero: no pointer in Go.
    One,
    /// Written to protobuf if it is set: a pointer in Go.
    Maybe,
    /// A list.
    Many,
    /// A map from text.
    Map,
    /// A message whose fields stand in the JSON as if they were those of the message around it.
    Inline,
}

/// What a field, an element of a list or a value of a map is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    Bool,
    /// 32 or 64 bits, signed.
    Int,
    Double,
    Text,
    /// Text in base64 in JSON.
    Bytes,
    /// A message that is an object in JSON.
    Message(&'static Message),
    /// A message of texts that is an array in JSON.
    Texts,
    /// Seconds, as text in JSON; null if the message is empty.
    Time,
    /// The same with microseconds.
    MicroTime,
    /// A message of one text.
    Quantity,
    IntOrString,
    /// A message of one byte string that is JSON itself; null if it is empty.
    Json,
    SchemaOrArray(&'static Message),
    SchemaOrBool(&'static Message),
    SchemaOrTexts(&'static Message),
}

impl Message {
    /// The field with this number.
    pub(super) fn field(&self, number: u32) -> Option<&'static Field> {
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        self.fields.get(index).filter(|field| field.shape != Shape::Vacant)
    }

    /// The field that stands behind this tag, if it is one that is known and written as it should be.
    #[inline]
    pub(super) fn field_behind(&self, tag: u64) -> Option<&'static Field> {
        let field = self.fields.get((tag >> 3).wrapping_sub(1) as usize)?;
        (u64::from(field.wire_bits) == tag & 7).then_some(field)
    }
}

impl Value {
    /// Whether JSON may say `null` for its message.
    pub(super) const fn is_nullable(self) -> bool {
        match self {
            Self::Time | Self::MicroTime | Self::Json => true,
            Self::SchemaOrArray(_) | Self::SchemaOrTexts(_) => true,
            Self::Bool | Self::Int | Self::Double | Self::Text | Self::Bytes => false,
            Self::Message(_) | Self::Texts | Self::Quantity => false,
            Self::IntOrString | Self::SchemaOrBool(_) => false,
        }
    }

    /// How it is written.
    #[inline]
    pub(crate) const fn wire(self) -> Wire {
        match self {
            Self::Bool | Self::Int => Wire::Varint,
            Self::Double => Wire::Fixed64,
            Self::Text
            | Self::Bytes
            | Self::Message(_)
            | Self::Texts
            | Self::Time
            | Self::MicroTime
            | Self::Quantity
            | Self::IntOrString
            | Self::Json
            | Self::SchemaOrArray(_)
            | Self::SchemaOrBool(_)
            | Self::SchemaOrTexts(_) => Wire::Length,
        }
    }
}

impl Field {
    /// JSON leaves it out if it is zero.
    pub(super) const fn omitted(mut self) -> Self {
        self.is_omitted = true;
        self
    }

    /// JSON says `null` if it is not there.
    pub(super) const fn null(mut self) -> Self {
        self.is_null = true;
        self
    }

    const fn new(name: &'static str, shape: Shape, value: Value) -> Self {
        let is_nullable = !matches!(shape, Shape::Many | Shape::Map) && value.is_nullable();
        let wire = value.wire();
        let wire_bits = if matches!(shape, Shape::Vacant) { u8::MAX } else { wire as u8 };
        Self { name, shape, value, wire, wire_bits, is_omitted: false, is_null: false, is_nullable }
    }
}

pub(super) const fn kind(api_version: &'static str, name: &'static str, message: &'static Message) -> Kind {
    Kind { api_version, name, message }
}

pub(super) const fn message(name: &'static str, fields: &'static [Field]) -> Message {
    let (mut nulls, mut index) = (0, 0);
    while index < fields.len() {
        nulls |= (fields[index].is_null as u64) << (index + 1);
        index += 1;
    }
    Message { name, fields, nulls }
}

pub(super) const fn vacant() -> Field {
    Field::new("", Shape::Vacant, Value::Bool)
}

pub(super) const fn one(name: &'static str, value: Value) -> Field {
    Field::new(name, Shape::One, value)
}

pub(super) const fn maybe(name: &'static str, value: Value) -> Field {
    Field::new(name, Shape::Maybe, value)
}

pub(super) const fn many(name: &'static str, value: Value) -> Field {
    Field::new(name, Shape::Many, value)
}

pub(super) const fn map(name: &'static str, value: Value) -> Field {
    Field::new(name, Shape::Map, value)
}

pub(super) const fn inline(message: &'static Message) -> Field {
    Field::new("", Shape::Inline, Value::Message(message))
}
