//! A serializer that visits only the field at a path, and passes on its values.

use crate::decode::{Pointer, element_index};
use serde::ser::{
    Error, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use std::fmt::Display;

/// Visits the field at a pointer. Other fields are not serialized.
pub(super) struct FieldSerializer<'s> {
    position: Position<'s>,
    emit: &'s mut dyn FnMut(&str),
}

/// The position of a value relative to the field.
#[derive(Clone, Copy)]
enum Position<'s> {
    /// The field is at this pointer in the value.
    Outside(Pointer<'s>),
    /// The value is the field.
    Field,
    /// The value is an element of the field, which is a list.
    Element,
    /// The value does not contain the field.
    Elsewhere,
}

/// A list or an object that contains the field.
pub(super) struct Members<'s> {
    serializer: FieldSerializer<'s>,
    /// The number of the next element.
    index: usize,
    /// The position of the value of the last key.
    next: Position<'s>,
}

/// Returns the text of a number in JSON.
pub(super) fn float_text(number: f64) -> String {
    serde_json::Number::from_f64(number).map_or_else(String::new, |number| number.to_string())
}

/// An error of a type that cannot be serialized.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct FieldError(String);

impl Error for FieldError {
    fn custom<T: Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

impl<'s> Position<'s> {
    fn of(pointer: Pointer<'s>) -> Self {
        if pointer.is_empty() { Self::Field } else { Self::Outside(pointer) }
    }

    /// Returns the position of a member with this name.
    fn member(self, name: &str) -> Self {
        match self {
            Self::Outside(pointer) => match pointer.split() {
                Some((token, rest)) if token == name => Self::of(rest),
                Some(_) | None => Self::Elsewhere,
            },
            Self::Field | Self::Element | Self::Elsewhere => Self::Elsewhere,
        }
    }

    /// Returns the position of an element.
    fn element(self, index: usize) -> Self {
        match self {
            Self::Outside(pointer) => match pointer.split() {
                Some((token, rest)) if element_index(&token) == Some(index) => Self::of(rest),
                Some(_) | None => Self::Elsewhere,
            },
            Self::Field => Self::Element,
            Self::Element | Self::Elsewhere => Self::Elsewhere,
        }
    }
}

impl<'s> FieldSerializer<'s> {
    pub(super) fn new(pointer: Pointer<'s>, emit: &'s mut dyn FnMut(&str)) -> Self {
        Self { position: Position::of(pointer), emit }
    }

    fn scalar(self, text: impl FnOnce() -> String) {
        if let Position::Field | Position::Element = self.position {
            self.text(&text());
        }
    }

    fn text(self, text: &str) {
        if let Position::Field | Position::Element = self.position
            && !text.is_empty()
        {
            (self.emit)(text);
        }
    }

    fn members(self) -> Members<'s> {
        Members { serializer: self, index: 0, next: Position::Elsewhere }
    }

    /// Visits the only member of an object, as which a variant with fields is serialized.
    fn variant(mut self, name: &str) -> Self {
        self.position = self.position.member(name);
        self
    }
}

impl Members<'_> {
    fn value<T: Serialize + ?Sized>(&mut self, position: Position<'_>, value: &T) -> Result<(), FieldError> {
        match position {
            Position::Elsewhere => Ok(()),
            position => value.serialize(FieldSerializer { position, emit: &mut *self.serializer.emit }),
        }
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), FieldError> {
        let position = self.serializer.position.element(self.index);
        self.index += 1;
        self.value(position, value)
    }

    fn member<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), FieldError> {
        let position = self.serializer.position.member(name);
        self.value(position, value)
    }
}

/// Implements a method for a type of number.
macro_rules! numbers {
    ($($method:ident: $type:ty),*) => {
        $(fn $method(self, number: $type) -> Result<(), FieldError> {
            self.scalar(|| number.to_string());
            Ok(())
        })*
    };
}

impl<'s> Serializer for FieldSerializer<'s> {
    type Ok = ();
    type Error = FieldError;
    type SerializeSeq = Members<'s>;
    type SerializeTuple = Members<'s>;
    type SerializeTupleStruct = Members<'s>;
    type SerializeTupleVariant = Members<'s>;
    type SerializeMap = Members<'s>;
    type SerializeStruct = Members<'s>;
    type SerializeStructVariant = Members<'s>;

    numbers! {
        serialize_bool: bool,
        serialize_i8: i8,
        serialize_i16: i16,
        serialize_i32: i32,
        serialize_i64: i64,
        serialize_u8: u8,
        serialize_u16: u16,
        serialize_u32: u32,
        serialize_u64: u64,
        serialize_char: char
    }

    fn serialize_f32(self, number: f32) -> Result<(), FieldError> {
        self.serialize_f64(number.into())
    }

    fn serialize_f64(self, number: f64) -> Result<(), FieldError> {
        self.scalar(|| float_text(number));
        Ok(())
    }

    fn serialize_str(self, text: &str) -> Result<(), FieldError> {
        self.text(text);
        Ok(())
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<(), FieldError> {
        self.scalar(|| value.to_string());
        Ok(())
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<(), FieldError> {
        Ok(())
    }

    fn serialize_none(self) -> Result<(), FieldError> {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), FieldError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), FieldError> {
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), FieldError> {
        Ok(())
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), FieldError> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), FieldError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), FieldError> {
        value.serialize(self.variant(variant))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Members<'s>, FieldError> {
        Ok(self.members())
    }

    fn serialize_tuple(self, _: usize) -> Result<Members<'s>, FieldError> {
        Ok(self.members())
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Members<'s>, FieldError> {
        Ok(self.members())
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Members<'s>, FieldError> {
        Ok(self.variant(variant).members())
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Members<'s>, FieldError> {
        Ok(self.members())
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Members<'s>, FieldError> {
        Ok(self.members())
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Members<'s>, FieldError> {
        Ok(self.variant(variant).members())
    }
}

/// Implements a trait whose values are the elements of a list.
macro_rules! elements {
    ($($trait:ident::$method:ident),*) => {
        $(impl $trait for Members<'_> {
            type Ok = ();
            type Error = FieldError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), FieldError> {
                self.element(value)
            }

            fn end(self) -> Result<(), FieldError> {
                Ok(())
            }
        })*
    };
}

elements! {
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
}

/// Implements a trait whose values are the fields of a struct.
macro_rules! fields {
    ($($trait:ident),*) => {
        $(impl $trait for Members<'_> {
            type Ok = ();
            type Error = FieldError;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), FieldError> {
                self.member(name, value)
            }

            fn end(self) -> Result<(), FieldError> {
                Ok(())
            }
        })*
    };
}

fields! { SerializeStruct, SerializeStructVariant }

impl SerializeMap for Members<'_> {
    type Ok = ();
    type Error = FieldError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), FieldError> {
        let position = self.serializer.position;
        // An empty text is not passed on.
        self.next = position.member("");
        let next = &mut self.next;
        key.serialize(FieldSerializer {
            position: Position::Field,
            emit: &mut |name| *next = position.member(name),
        })
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), FieldError> {
        self.value(self.next, value)
    }

    fn end(self) -> Result<(), FieldError> {
        Ok(())
    }
}
