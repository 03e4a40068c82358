//! Deserializes the names of members and variants, which are text even if a type expects a number.

use super::error::ValueError;
use serde::{
    Deserializer,
    de::{Visitor, value::StrDeserializer},
    forward_to_deserialize_any,
};

/// The name of a member or variant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name<'a>(pub(super) &'a str);

/// Visits the number that the name spells, or the name if it is not a number.
macro_rules! numbers {
    ($($method:ident $visit:ident;)*) => { $(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
            match self.0.parse() {
                Ok(number) => visitor.$visit(number),
                Err(_) => visitor.visit_str(self.0),
            }
        }
    )* };
}

impl<'de> Deserializer<'de> for Name<'_> {
    type Error = ValueError;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_str(self.0)
    }

    numbers! {
        deserialize_bool visit_bool;
        deserialize_i8 visit_i64;
        deserialize_i16 visit_i64;
        deserialize_i32 visit_i64;
        deserialize_i64 visit_i64;
        deserialize_i128 visit_i128;
        deserialize_u8 visit_u64;
        deserialize_u16 visit_u64;
        deserialize_u32 visit_u64;
        deserialize_u64 visit_u64;
        deserialize_u128 visit_u128;
        deserialize_f32 visit_f64;
        deserialize_f64 visit_f64;
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        visitor.visit_enum(StrDeserializer::new(self.0))
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
