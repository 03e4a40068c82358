//! What serde is given to go through an object, a list or a variant.

use super::{
    error::Error,
    name::Name,
    within::{Node, Step, Within},
};
use serde::{
    Deserializer,
    de::{DeserializeSeed, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor},
};

/// The members of an object.
pub(super) struct Members<'w, 'de>(pub(super) &'w mut Within<'de>);

impl<'de> MapAccess<'de> for Members<'_, 'de> {
    type Error = Error;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        match self.0.next_member() {
            Step::Next => seed.deserialize(Name(&self.0.name())).map(Some),
            Step::End => Ok(None),
            Step::Failed(error) => Err(error),
        }
    }

    #[inline(never)]
    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        // The error is not lent, so that what is small stays in registers.
        match seed.deserialize(self.0.value()) {
            Ok(value) => Ok(value),
            Err(error) => Err(self.0.blame_member(error)),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.left()
    }
}

/// The elements of a list.
pub(super) struct Elements<'w, 'de>(pub(super) &'w mut Within<'de>);

impl<'de> SeqAccess<'de> for Elements<'_, 'de> {
    type Error = Error;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        match self.0.next_element() {
            Step::Next => {}
            Step::End => return Ok(None),
            Step::Failed(error) => return Err(error),
        }
        match seed.deserialize(self.0.value()) {
            Ok(element) => Ok(Some(element)),
            Err(error) => Err(self.0.blame_element(error)),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.left()
    }
}

/// A variant that is the only member of an object, and what is in it.
pub(super) struct Variant<'w, 'de>(pub(super) &'w mut Within<'de>);

impl<'w, 'de> EnumAccess<'de> for Variant<'w, 'de> {
    type Error = Error;
    type Variant = Node<'w, 'de>;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Node<'w, 'de>), Error> {
        let name = seed.deserialize(Name(&self.0.name()))?;
        Ok((name, self.0.value()))
    }
}

impl<'de> VariantAccess<'de> for Node<'_, 'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        serde::Deserialize::deserialize(self)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_struct("", fields, visitor)
    }
}
