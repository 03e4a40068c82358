//! Passes the length of a JSON list to its `Vec` before it is decoded.
//!
//! serde_json does not know how long a list is, so that a `Vec` grows with its elements and reserves space for four of them with the
//! first one. Elements of Kubernetes objects, such as containers, are large: a pod would take 18 % more memory.

use crate::json::list_lengths;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess,
    Visitor,
};
use serde_json::value::RawValue;
use std::{cell::Cell, fmt};

/// The lengths of all lists of a JSON text, in the order in which they begin.
pub(super) struct ListLengths {
    lengths: Vec<u32>,
    /// The list that is decoded next.
    next: Cell<usize>,
}

impl ListLengths {
    pub(super) fn of(text: &str) -> Self {
        Self { lengths: list_lengths(text.as_bytes()), next: Cell::new(0) }
    }

    /// Returns the length of the list that is decoded next.
    fn next(&self) -> Option<usize> {
        let next = self.next.get();
        self.next.set(next + 1);
        self.lengths.get(next).map(|length| *length as usize)
    }

    /// Skips the lists of a value that is not decoded.
    fn skip(&self, value: &RawValue) {
        self.next.set(self.next.get() + list_lengths(value.get().as_bytes()).len());
    }

    /// Stops returning lengths, because lists are skipped and the next one is unknown.
    fn stop(&self) {
        self.next.set(self.lengths.len());
    }

    /// Wraps a deserializer, a visitor, a seed or an access of serde.
    pub(super) fn wrap<T>(&self, inner: T) -> WithLengths<'_, T> {
        WithLengths { inner, lengths: self }
    }
}

/// A deserializer, visitor, seed or access of serde that knows the lengths of lists. So do all that it creates.
pub(super) struct WithLengths<'l, T> {
    inner: T,
    lengths: &'l ListLengths,
}

/// A list with its length.
struct List<'l, A> {
    elements: WithLengths<'l, A>,
    length: Option<usize>,
}

/// The name by which serde_json recognizes a `RawValue`.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

macro_rules! forward_deserializer {
    ($($method:ident($($argument:ident: $type:ty),*))*) => {
        $(fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$method($($argument,)* self.lengths.wrap(visitor))
        })*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for WithLengths<'_, D> {
    type Error = D::Error;

    forward_deserializer! {
        deserialize_any()
        deserialize_bool()
        deserialize_i8()
        deserialize_i16()
        deserialize_i32()
        deserialize_i64()
        deserialize_i128()
        deserialize_u8()
        deserialize_u16()
        deserialize_u32()
        deserialize_u64()
        deserialize_u128()
        deserialize_f32()
        deserialize_f64()
        deserialize_char()
        deserialize_str()
        deserialize_string()
        deserialize_bytes()
        deserialize_byte_buf()
        deserialize_option()
        deserialize_unit()
        deserialize_unit_struct(name: &'static str)
        deserialize_seq()
        deserialize_tuple(length: usize)
        deserialize_tuple_struct(name: &'static str, length: usize)
        deserialize_map()
        deserialize_struct(name: &'static str, fields: &'static [&'static str])
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
        deserialize_identifier()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        if name == RAW_VALUE {
            self.lengths.stop();
        }
        self.inner.deserialize_newtype_struct(name, self.lengths.wrap(visitor))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        // serde_json skips a raw value in the same way, and returns its text.
        let skipped = <&RawValue>::deserialize(self.inner)?;
        self.lengths.skip(skipped);
        visitor.visit_unit()
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

macro_rules! forward_visitor {
    ($($method:ident($type:ty))*) => {
        $(fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.inner.$method(value)
        })*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for WithLengths<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    forward_visitor! {
        visit_bool(bool)
        visit_i8(i8)
        visit_i16(i16)
        visit_i32(i32)
        visit_i64(i64)
        visit_i128(i128)
        visit_u8(u8)
        visit_u16(u16)
        visit_u32(u32)
        visit_u64(u64)
        visit_u128(u128)
        visit_f32(f32)
        visit_f64(f64)
        visit_char(char)
        visit_str(&str)
        visit_borrowed_str(&'de str)
        visit_string(String)
        visit_bytes(&[u8])
        visit_borrowed_bytes(&'de [u8])
        visit_byte_buf(Vec<u8>)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.inner.visit_some(self.lengths.wrap(deserializer))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.inner.visit_newtype_struct(self.lengths.wrap(deserializer))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<V::Value, A::Error> {
        let length = self.lengths.next();
        self.inner.visit_seq(List { elements: self.lengths.wrap(elements), length })
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<V::Value, A::Error> {
        self.inner.visit_map(self.lengths.wrap(members))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, variant: A) -> Result<V::Value, A::Error> {
        self.inner.visit_enum(self.lengths.wrap(variant))
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for WithLengths<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.inner.deserialize(self.lengths.wrap(deserializer))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for List<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let WithLengths { inner, lengths } = &mut self.elements;
        inner.next_element_seed(lengths.wrap(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.length
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for WithLengths<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.inner.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.inner.next_value_seed(self.lengths.wrap(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, 'l, A: EnumAccess<'de>> EnumAccess<'de> for WithLengths<'l, A> {
    type Error = A::Error;
    type Variant = WithLengths<'l, A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), A::Error> {
        let Self { inner, lengths } = self;
        let (value, variant) = inner.variant_seed(seed)?;
        Ok((value, lengths.wrap(variant)))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for WithLengths<'_, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        self.inner.newtype_variant_seed(self.lengths.wrap(seed))
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.inner.tuple_variant(length, self.lengths.wrap(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.inner.struct_variant(fields, self.lengths.wrap(visitor))
    }
}
