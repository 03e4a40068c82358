//! A reference to a value in protobuf.

use super::{
    error::{Cause, ProtobufError},
    forms::Form,
    reader::{Reader, Tag},
    schema::Schema,
    table::{Field, Message, Shape, Value},
};

/// The maximum nesting of messages. Only schemas come close to it.
const MAX_DEPTH: u8 = 100;

/// A value that has not been read, followed by the rest of its message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ValueRef<'de> {
    pub(crate) reader: Reader<'de>,
    pub(crate) next: Next<'de>,
    /// The fields of the value that are skipped.
    pub(crate) skip: Skip,
    /// The number of messages that the value is in.
    pub(crate) depth: u8,
}

/// The kind of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next<'de> {
    Null,
    /// Text that is not in the message itself.
    Text(&'de str),
    /// A top-level object of this kind, with or without `apiVersion` and `kind`.
    Object(Schema, bool),
    /// A field whose tag has been read.
    Field(&'static Field, Tag),
    /// An element of a list or a value of a map.
    Element(Value),
}

/// A message that is an object in JSON.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object<'de> {
    pub(super) reader: Reader<'de>,
    pub(super) message: &'static Message,
    /// The schema for `apiVersion` and `kind`, if the object has them in JSON.
    pub(super) types: Option<Schema>,
    pub(super) skip: Skip,
    pub(super) depth: u8,
}

impl<'de> Object<'de> {
    /// Creates the object that is the value `parent`.
    #[inline]
    pub(crate) fn inside(
        parent: &ValueRef<'de>,
        reader: Reader<'de>,
        message: &'static Message,
    ) -> Result<Self, ProtobufError> {
        match parent.depth {
            MAX_DEPTH.. => Err(reader.error(Cause::TooDeep(MAX_DEPTH))),
            depth => Ok(Self { reader, message, types: None, skip: parent.skip, depth: depth + 1 }),
        }
    }
}

/// The managed fields to skip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Skip {
    Nothing,
    /// Those in the metadata of the value.
    InObject,
    /// Those in the value.
    InMetadata,
}

impl<'de> ValueRef<'de> {
    /// Creates a value outside of any message.
    pub(crate) fn of(next: Next<'de>) -> Self {
        Self { reader: Reader::new(&[]), next, skip: Skip::Nothing, depth: 0 }
    }

    /// Creates a top-level object of this kind without `apiVersion` and `kind`.
    pub(crate) fn of_object(schema: Schema, reader: Reader<'de>) -> Self {
        Self { reader, next: Next::Object(schema, false), skip: Skip::Nothing, depth: 0 }
    }

    /// Adds `apiVersion` and `kind` to the object.
    pub(crate) fn with_types(mut self) -> Self {
        if let Next::Object(_, has_types) = &mut self.next {
            *has_types = true;
        }
        self
    }

    /// Skips the managed fields of the object.
    pub(crate) fn without_managed_fields(mut self) -> Self {
        self.skip = Skip::InObject;
        self
    }

    /// Returns the top-level object of this kind that the value is.
    pub(crate) fn object(&self, schema: Schema, has_types: bool) -> Object<'de> {
        let (message, types) = (schema.message(), has_types.then_some(schema));
        Object { reader: self.reader, message, types, skip: self.skip, depth: self.depth }
    }

    /// Whether the value may be null in JSON.
    #[inline]
    pub(crate) fn may_be_null(&self) -> bool {
        !matches!(self.next, Next::Field(Field { is_nullable: false, .. }, _))
    }

    /// Skips the value if it is null in JSON.
    pub(crate) fn take_null(&mut self) -> Result<bool, ProtobufError> {
        match self.next {
            Next::Field(Field { is_nullable: false, .. }, _) => Ok(false),
            Next::Field(field, _) => self.take_null_form(field.value),
            Next::Element(value) => Ok(value.is_nullable() && self.take_null_form(value)?),
            Next::Text(_) | Next::Object(..) => Ok(false),
            Next::Null => Ok(true),
        }
    }

    fn take_null_form(&mut self, value: Value) -> Result<bool, ProtobufError> {
        let mut ahead = self.reader;
        let is_null = Form::is_null(value, ahead.message()?)?;
        if is_null {
            self.reader = ahead;
        }
        Ok(is_null)
    }

    /// Reads the value if it is valid text.
    #[inline]
    pub(crate) fn take_text(&mut self) -> Option<&'de str> {
        match self.next {
            Next::Field(Field { value: Value::Text, shape: Shape::One | Shape::Maybe, .. }, _)
            | Next::Element(Value::Text) => self.reader.take_text(),
            Next::Field(Field { value: Value::Quantity, shape: Shape::One | Shape::Maybe, .. }, _)
            | Next::Element(Value::Quantity) => self.reader.take_text_inside(),
            Next::Text(text) => Some(text),
            Next::Field(..) | Next::Element(_) | Next::Object(..) | Next::Null => None,
        }
    }

    /// Returns the type of the message that the value is; `None` if it is not an object in JSON.
    #[inline]
    pub(crate) fn message(&self) -> Option<&'static Message> {
        match self.next {
            Next::Field(
                &Field { value: Value::Message(message), shape: Shape::One | Shape::Maybe, .. },
                _,
            )
            | Next::Element(Value::Message(message)) => Some(message),
            Next::Field(..) | Next::Element(_) | Next::Object(..) | Next::Text(_) | Next::Null => None,
        }
    }

    /// Whether the value is an integer.
    #[inline]
    pub(crate) fn is_integer(&self) -> bool {
        matches!(
            self.next,
            Next::Field(Field { value: Value::Int, shape: Shape::One | Shape::Maybe, .. }, _)
                | Next::Element(Value::Int)
        )
    }

    /// Reads the value if it holds JSON text other than null.
    pub(crate) fn take_json(&mut self) -> Result<Option<&'de [u8]>, ProtobufError> {
        let (Next::Field(Field { value: Value::Json, shape: Shape::One | Shape::Maybe, .. }, _)
        | Next::Element(Value::Json)) = self.next
        else {
            return Ok(None);
        };
        let mut ahead = self.reader;
        let Form::Json(json) = Form::read(Value::Json, ahead.message()?)? else { return Ok(None) };
        self.reader = ahead;
        Ok(Some(json))
    }

    /// Skips the value.
    pub(crate) fn skip_value(&mut self) -> Result<(), ProtobufError> {
        match self.next {
            Next::Null | Next::Text(_) | Next::Object(..) => Ok(()),
            Next::Field(Field { shape: Shape::Many | Shape::Map, .. }, tag) => {
                self.reader.skip_repeated(tag).map(drop)
            }
            Next::Field(_, tag) => self.reader.skip(tag.wire),
            Next::Element(value) => self.reader.skip(value.wire()),
        }
    }
}
