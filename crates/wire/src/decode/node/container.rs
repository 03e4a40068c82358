//! The objects, maps and lists of protobuf, as serde iterates over them.

use super::Node;
use crate::decode::{error::ValueError, name::Name};
use crate::protobuf::{Elements, Entries, MessageFields};
use serde::{
    Deserializer,
    de::{DeserializeSeed, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor},
};

/// An object, a map or a list, and the current position in it.
#[derive(Debug)]
pub(in crate::decode) enum Container<'de> {
    Message(MessageFields<'de>),
    Entries(Entries<'de>),
    Elements(Elements<'de>),
    EmptyList,
    /// A field that holds JSON text: an object or an array.
    Json(&'de str),
}

/// The next member or element of a container. Unlike a `Result`, it is returned in registers.
#[derive(Debug)]
pub(in crate::decode) enum Step {
    Next,
    End,
    Failed(ValueError),
}

impl<'de> Container<'de> {
    /// True for a list.
    #[inline]
    pub(in crate::decode) fn is_list(&self) -> bool {
        match self {
            Self::Message(_) | Self::Entries(_) => false,
            Self::Elements(_) | Self::EmptyList => true,
            Self::Json(text) => text.trim_ascii_start().starts_with('['),
        }
    }

    /// Moves to the next member.
    #[inline(never)]
    pub(in crate::decode) fn next_member(&mut self) -> Step {
        match self {
            Self::Message(fields) => fields.advance().into(),
            _ => self.next_entry(),
        }
    }

    #[inline(never)]
    fn next_entry(&mut self) -> Step {
        match self {
            Self::Entries(entries) => entries.advance().into(),
            Self::Message(_) | Self::Elements(_) | Self::EmptyList | Self::Json(_) => Step::End,
        }
    }

    /// Moves to the next element.
    #[inline(never)]
    pub(in crate::decode) fn next_element(&mut self) -> Step {
        match self {
            Self::Elements(elements) => elements.advance().into(),
            Self::Message(_) | Self::Entries(_) | Self::EmptyList | Self::Json(_) => Step::End,
        }
    }

    /// Returns the name of the current member.
    #[inline]
    pub(in crate::decode) fn name(&self) -> &str {
        match self {
            Self::Message(fields) => fields.name(),
            Self::Entries(entries) => entries.key(),
            Self::Elements(_) | Self::EmptyList | Self::Json(_) => "",
        }
    }

    /// Returns the current member or element.
    #[inline]
    pub(in crate::decode) fn value(&mut self) -> Node<'_, 'de> {
        match self {
            Self::Message(fields) => Node(fields.value()),
            Self::Entries(entries) => Node(entries.value()),
            Self::Elements(elements) => Node(elements.value()),
            Self::EmptyList | Self::Json(_) => unreachable!("there is no current value"),
        }
    }

    /// Returns the number of remaining members or elements, if it is known.
    fn remaining(&self) -> Option<usize> {
        match self {
            Self::Message(_) | Self::EmptyList | Self::Json(_) => None,
            Self::Entries(entries) => Some(entries.remaining()),
            Self::Elements(elements) => Some(elements.remaining()),
        }
    }

    /// Adds the current member to the path of an error.
    #[cold]
    #[inline(never)]
    pub(in crate::decode) fn error_in_member(&self, error: ValueError) -> ValueError {
        error.in_field(self.name())
    }

    /// Adds the current element to the path of an error.
    #[cold]
    #[inline(never)]
    pub(in crate::decode) fn error_in_element(&self, error: ValueError) -> ValueError {
        error.in_element(match self {
            Self::Elements(elements) => elements.index(),
            Self::Message(_) | Self::Entries(_) | Self::EmptyList | Self::Json(_) => 0,
        })
    }
}

impl<E: Into<ValueError>> From<Result<bool, E>> for Step {
    #[inline]
    fn from(result: Result<bool, E>) -> Self {
        match result {
            Ok(true) => Self::Next,
            Ok(false) => Self::End,
            Err(error) => Self::Failed(error.into()),
        }
    }
}

/// The members of an object.
pub(in crate::decode) struct MemberAccess<'c, 'de>(pub(in crate::decode) &'c mut Container<'de>);

impl<'de> MapAccess<'de> for MemberAccess<'_, 'de> {
    type Error = ValueError;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ValueError> {
        match self.0.next_member() {
            Step::Next => seed.deserialize(Name(self.0.name())).map(Some),
            Step::End => Ok(None),
            Step::Failed(error) => Err(error),
        }
    }

    #[inline(never)]
    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, ValueError> {
        // The error is not borrowed, so that small values stay in registers.
        match seed.deserialize(self.0.value()) {
            Ok(value) => Ok(value),
            Err(error) => Err(self.0.error_in_member(error)),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.remaining()
    }
}

/// The elements of a list.
pub(in crate::decode) struct ElementAccess<'c, 'de>(pub(in crate::decode) &'c mut Container<'de>);

impl<'de> SeqAccess<'de> for ElementAccess<'_, 'de> {
    type Error = ValueError;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ValueError> {
        match self.0.next_element() {
            Step::Next => {}
            Step::End => return Ok(None),
            Step::Failed(error) => return Err(error),
        }
        match seed.deserialize(self.0.value()) {
            Ok(element) => Ok(Some(element)),
            Err(error) => Err(self.0.error_in_element(error)),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.remaining()
    }
}

/// A variant that is the only member of an object.
pub(in crate::decode) struct Variant<'c, 'de>(pub(in crate::decode) &'c mut Container<'de>);

impl<'c, 'de> EnumAccess<'de> for Variant<'c, 'de> {
    type Error = ValueError;
    type Variant = Node<'c, 'de>;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Node<'c, 'de>), ValueError> {
        let name = seed.deserialize(Name(self.0.name()))?;
        Ok((name, self.0.value()))
    }
}

impl<'de> VariantAccess<'de> for Node<'_, 'de> {
    type Error = ValueError;

    fn unit_variant(self) -> Result<(), ValueError> {
        serde::Deserialize::deserialize(self)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, ValueError> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, ValueError> {
        self.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        self.deserialize_struct("", fields, visitor)
    }
}
