//! Hands an object over as it was sent, beside what is decoded of it.

use super::{error::Error, within::Node};
use crate::protobuf::{Next, Skip};
use serde::{
    Deserialize, Deserializer,
    de::{
        DeserializeSeed, Error as _, IntoDeserializer, SeqAccess, Visitor, value::BorrowedBytesDeserializer,
    },
    forward_to_deserialize_any,
};
use std::fmt;

/// The name under which a type asks for it, as if it were a newtype. It then gets a sequence: the object without its managed
/// fields, the [number](Sent::number) of its form, and its bytes.
pub(crate) const AS_SENT: &str = "$kube_informer_wire::as_sent";

/// How an object was sent, as a number that serde can carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Which kind of protobuf it is, by its number, and whether it says so; nothing if it is JSON.
    pub(crate) protobuf: Option<(usize, bool)>,
    /// Whether it is to be as if it had no managed fields.
    pub(crate) is_stripped: bool,
}

impl Sent {
    fn number(self) -> u64 {
        let form = self.protobuf.map_or(0, |(kind, has_types)| 1 + 2 * kind as u64 + u64::from(has_types));
        2 * form + u64::from(self.is_stripped)
    }

    pub(crate) fn of_number(number: u64) -> Self {
        let protobuf = (number / 2).checked_sub(1).map(|form| ((form / 2) as usize, form % 2 == 1));
        Self { protobuf, is_stripped: number % 2 == 1 }
    }
}

/// The sequence.
struct Parts<'n, 'de> {
    object: Option<Node<'n, 'de>>,
    sent: Option<Sent>,
    bytes: Option<&'de [u8]>,
}

impl<'de> Node<'_, 'de> {
    /// Gives the object as it was sent.
    #[inline(never)]
    pub(super) fn give_as_sent<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Self::Json(text) => {
                if text.reader.peek() != Some(b'{') {
                    return Err(Node::Json(text).token()?.instead_of(&visitor));
                }
                let mut inside = *text;
                let bytes = text.reader.take_value()?.as_bytes();
                let sent = Sent { protobuf: None, is_stripped: inside.skip == Skip::InObject };
                inside.skip = Skip::InObject;
                visitor.visit_seq(Parts::new(Node::Json(&mut inside), sent, bytes))
            }
            Self::Protobuf(place) => {
                let Next::Object(schema, has_types) = place.next else {
                    return Err(Error::custom("what is within an object cannot be kept as it was sent"));
                };
                let is_stripped = place.skip == Skip::InObject;
                let sent = Sent { protobuf: Some((schema.number(), has_types)), is_stripped };
                let (bytes, mut inside) = (place.reader.rest(), place.without_managed_fields());
                visitor.visit_seq(Parts::new(Node::Protobuf(&mut inside), sent, bytes))
            }
        }
    }
}

impl<'n, 'de> Parts<'n, 'de> {
    fn new(object: Node<'n, 'de>, sent: Sent, bytes: &'de [u8]) -> Self {
        Self { object: Some(object), sent: Some(sent), bytes: Some(bytes) }
    }
}

impl<'de> SeqAccess<'de> for Parts<'_, 'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        if let Some(object) = self.object.take() {
            return seed.deserialize(object).map(Some);
        }
        if let Some(sent) = self.sent.take() {
            return seed.deserialize(sent.number().into_deserializer()).map(Some);
        }
        let Some(bytes) = self.bytes.take() else { return Ok(None) };
        seed.deserialize(BorrowedBytesDeserializer::new(bytes)).map(Some)
    }
}

/// Whether a type asks for its objects as they were sent.
pub(super) fn is_asked_for_by<'de, T: Deserialize<'de>>() -> bool {
    matches!(T::deserialize(Question), Err(Answer::AsSent))
}

/// Has nothing, and hears what it is asked for.
struct Question;

/// What it was asked for.
#[derive(Debug, thiserror::Error)]
enum Answer {
    #[error("an object as it was sent")]
    AsSent,
    #[error("something else")]
    Other,
}

impl serde::de::Error for Answer {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::Other
    }
}

impl<'de> Deserializer<'de> for Question {
    type Error = Answer;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Answer> {
        Err(Answer::Other)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: V,
    ) -> Result<V::Value, Answer> {
        Err(if name == AS_SENT { Answer::AsSent } else { Answer::Other })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq tuple
        tuple_struct map struct enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_asked_for_what_it_wants() {
        assert!(is_asked_for_by::<crate::Lazy<()>>());
        assert!(!is_asked_for_by::<serde_json::Value>());
        assert!(!is_asked_for_by::<k8s_openapi::api::core::v1::Pod>());
        assert!(!is_asked_for_by::<k8s_openapi::apimachinery::pkg::apis::meta::v1::Time>());
        assert!(!is_asked_for_by::<()>());
    }

    #[test]
    fn every_form_has_a_number_of_its_own() {
        let kinds = [None, Some((0, false)), Some((0, true)), Some((7, false)), Some((700, true))];
        for (protobuf, is_stripped) in kinds.iter().flat_map(|kind| [(*kind, false), (*kind, true)]) {
            let sent = Sent { protobuf, is_stripped };
            assert_eq!(Sent::of_number(sent.number()), sent);
        }
    }
}
