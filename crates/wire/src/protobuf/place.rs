//! Where a value stands in protobuf, and what it is.

use super::{
    error::{Cause, ProtobufError},
    forms::Form,
    reader::{Reader, Tag},
    schema::Schema,
    table::{Field, Message, Shape, Value},
};

/// No Kubernetes object is nested this deep but for schemas, and the JSON decoder takes no more either.
const MAX_DEPTH: u8 = 100;

/// A value that is to be read, and what follows it in its message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'de> {
    pub(crate) reader: Reader<'de>,
    pub(crate) next: Next<'de>,
    /// What is passed over inside of the value.
    pub(crate) skip: Skip,
    /// How many messages it is in.
    pub(crate) depth: u8,
}

/// What a value is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next<'de> {
    Null,
    /// A text that is not in the message itself.
    Text(&'de str),
    /// An object of this kind that is in no message, and whether it says so.
    Object(Schema, bool),
    /// A field, whose tag has been read.
    Field(&'static Field, Tag),
    /// An element of a list, or what stands under a key of a map.
    Element(Value),
}

/// A message that is an object in JSON.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object<'de> {
    pub(super) reader: Reader<'de>,
    pub(super) message: &'static Message,
    /// Whose version and kind it tells, which are not in the message itself.
    pub(super) types: Option<Schema>,
    pub(super) skip: Skip,
    pub(super) depth: u8,
}

impl<'de> Object<'de> {
    /// One that is the value at this place.
    #[inline]
    pub(crate) fn inside(
        place: &Place<'de>,
        reader: Reader<'de>,
        message: &'static Message,
    ) -> Result<Self, ProtobufError> {
        match place.depth {
            MAX_DEPTH.. => Err(reader.error(Cause::Deep(MAX_DEPTH))),
            depth => Ok(Self { reader, message, types: None, skip: place.skip, depth: depth + 1 }),
        }
    }
}

/// Where the managed fields are that are passed over as if they were not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Skip {
    Nothing,
    /// In the metadata of what is read.
    InObject,
    /// In what is read.
    InMetadata,
}

impl<'de> Place<'de> {
    /// A value that is in no message.
    pub(crate) fn of(next: Next<'de>) -> Self {
        Self { reader: Reader::new(&[]), next, skip: Skip::Nothing, depth: 0 }
    }

    /// An object of this kind that does not say so.
    pub(crate) fn of_object(schema: Schema, reader: Reader<'de>) -> Self {
        Self { reader, next: Next::Object(schema, false), skip: Skip::Nothing, depth: 0 }
    }

    /// The object with its version and kind.
    pub(crate) fn with_types(mut self) -> Self {
        if let Next::Object(_, has_types) = &mut self.next {
            *has_types = true;
        }
        self
    }

    /// The object as if it had no managed fields.
    pub(crate) fn without_managed_fields(mut self) -> Self {
        self.skip = Skip::InObject;
        self
    }

    /// The object of this kind that is here, and in no message.
    pub(crate) fn object(&self, schema: Schema, has_types: bool) -> Object<'de> {
        let (message, types) = (schema.message(), has_types.then_some(schema));
        Object { reader: self.reader, message, types, skip: self.skip, depth: self.depth }
    }

    /// Whether the value may be null, as few can.
    #[inline]
    pub(crate) fn may_be_null(&self) -> bool {
        !matches!(self.next, Next::Field(Field { is_nullable: false, .. }, _))
    }

    /// Takes a value that may be null, if it is.
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

    /// Takes a value that is a text. One that is wrong is left where it is.
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

    /// The sort of message that the value is, if it is an object.
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

    /// Takes a value that is JSON itself, if it is and is not null.
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

    /// Passes over the value.
    pub(crate) fn pass(&mut self) -> Result<(), ProtobufError> {
        match self.next {
            Next::Null | Next::Text(_) | Next::Object(..) => Ok(()),
            Next::Field(Field { shape: Shape::Many | Shape::Map, .. }, tag) => {
                self.reader.skip_run(tag).map(drop)
            }
            Next::Field(_, tag) => self.reader.skip(tag.wire),
            Next::Element(value) => self.reader.skip(value.wire()),
        }
    }
}
