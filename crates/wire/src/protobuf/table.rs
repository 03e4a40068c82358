//! The types of the generated tables, which map protobuf messages to JSON.

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
    /// The fields from number 1 on; vacant for unused numbers.
    pub(super) fields: &'static [Field],
    /// A bit for each number whose field is `null` in JSON if it is absent.
    pub(super) nulls: u64,
}

/// A field of a message.
#[derive(Debug)]
pub(crate) struct Field {
    /// Its name in JSON.
    pub(super) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) value: Value,
    /// Its wire type.
    pub(super) wire: Wire,
    /// The wire type in its tag; an impossible value if it is vacant.
    wire_bits: u8,
    /// Whether JSON omits the zero value, which protobuf writes.
    pub(super) is_omitted: bool,
    /// True if an absent field is `null` in JSON.
    pub(super) is_null: bool,
    /// True if a present field may be `null` in JSON.
    pub(super) is_nullable: bool,
}

/// The cardinality of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// An unused number.
    Vacant,
    /// Always written to protobuf: not a pointer in Go.
    One,
    /// Written to protobuf if it is set: a pointer in Go.
    Maybe,
    /// A list.
    Many,
    /// A map with text as keys.
    Map,
    /// A message whose fields are those of the outer message in JSON.
    Inline,
}

/// The type of a field, an element of a list or a value of a map.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    Bool,
    /// 32 or 64 bits, signed.
    Int,
    Double,
    Text,
    /// Base64 text in JSON.
    Bytes,
    /// A message that is an object in JSON.
    Message(&'static Message),
    /// A message that is an array of text in JSON.
    Texts,
    /// A time in seconds; null if the message is empty.
    Time,
    /// A time in microseconds.
    MicroTime,
    /// A message of one text.
    Quantity,
    IntOrString,
    /// A message that holds JSON text; null if it is empty.
    Json,
    SchemaOrArray(&'static Message),
    SchemaOrBool(&'static Message),
    SchemaOrTexts(&'static Message),
}

impl Message {
    /// Returns the field with this number.
    pub(super) fn field(&self, number: u32) -> Option<&'static Field> {
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        self.fields.get(index).filter(|field| field.shape != Shape::Vacant)
    }

    /// Returns the field with this tag; `None` if it is unknown or has another wire type.
    #[inline]
    pub(super) fn field_with_tag(&self, tag: u64) -> Option<&'static Field> {
        let field = self.fields.get((tag >> 3).wrapping_sub(1) as usize)?;
        (u64::from(field.wire_bits) == tag & 7).then_some(field)
    }
}

impl Value {
    /// True if the message may be `null` in JSON.
    pub(super) const fn is_nullable(self) -> bool {
        match self {
            Self::Time | Self::MicroTime | Self::Json => true,
            Self::SchemaOrArray(_) | Self::SchemaOrTexts(_) => true,
            Self::Bool | Self::Int | Self::Double | Self::Text | Self::Bytes => false,
            Self::Message(_) | Self::Texts | Self::Quantity => false,
            Self::IntOrString | Self::SchemaOrBool(_) => false,
        }
    }

    /// Returns its wire type.
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
    /// JSON omits it if it is zero.
    pub(super) const fn omitted(mut self) -> Self {
        self.is_omitted = true;
        self
    }

    /// It is `null` in JSON if it is absent.
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
