//! Values without anything inside, and what every value that is there has in common.

use super::error::ProtobufError as Error;
use serde::{
    Deserializer,
    de::{DeserializeSeed, SeqAccess, Visitor},
    forward_to_deserialize_any,
};
use serde_json::de::{Deserializer as JsonDeserializer, StrRead};

/// The methods of a deserializer whose value is there, and has one form.
macro_rules! present {
    () => {
        fn deserialize_option<V: serde::de::Visitor<'de>>(
            self,
            visitor: V,
        ) -> Result<V::Value, Self::Error> {
            visitor.visit_some(self)
        }

        fn deserialize_newtype_struct<V: serde::de::Visitor<'de>>(
            self,
            _: &'static str,
            visitor: V,
        ) -> Result<V::Value, Self::Error> {
            visitor.visit_newtype_struct(self)
        }

        // The run has been skipped when it was counted.
        fn deserialize_ignored_any<V: serde::de::Visitor<'de>>(
            self,
            visitor: V,
        ) -> Result<V::Value, Self::Error> {
            visitor.visit_unit()
        }

        serde::forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq
            tuple tuple_struct map struct enum identifier
        }
    };
}
pub(super) use present;

/// A `null`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Null;

impl<'de> Deserializer<'de> for Null {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_none()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct enum identifier ignored_any
    }
}

/// The elements of an empty list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nothing;

impl<'de> SeqAccess<'de> for Nothing {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, _: T) -> Result<Option<T::Value>, Error> {
        Ok(None)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(0)
    }
}

/// Gives a number as the JSON decoder does, which takes a sign for the difference of the types.
#[inline]
pub(super) fn visit_int<'de, V: Visitor<'de>>(value: i64, visitor: V) -> Result<V::Value, Error> {
    match u64::try_from(value) {
        Ok(value) => visitor.visit_u64(value),
        Err(_) => visitor.visit_i64(value),
    }
}

/// Gives a number as the JSON decoder does: Go writes no fraction where there is none.
pub(super) fn visit_double<'de, V: Visitor<'de>>(value: f64, visitor: V) -> Result<V::Value, Error> {
    const BEYOND: f64 = (1_u128 << 64) as f64;
    let is_whole = value.fract() == 0.0 && (value != 0.0 || value.is_sign_positive());
    match value {
        0.0..BEYOND if is_whole => visitor.visit_u64(value as u64),
        _ if is_whole && value < 0.0 && value >= i64::MIN as f64 => visitor.visit_i64(value as i64),
        _ => visitor.visit_f64(value),
    }
}

/// Reads JSON to its end.
pub(super) fn json<'de, T>(
    json: &'de [u8],
    read: impl FnOnce(&mut JsonDeserializer<StrRead<'de>>) -> Result<T, serde_json::Error>,
) -> Result<T, Error> {
    let text = std::str::from_utf8(json).map_err(<Error as serde::de::Error>::custom)?;
    let mut deserializer = JsonDeserializer::from_str(text);
    let value = read(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}
