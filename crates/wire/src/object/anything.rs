//! Any value, looked at and not kept.

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use std::fmt;

/// Any JSON, as deep and as large as a `Value` may be.
pub(super) struct Anything;

/// Looks at any JSON; a text is put here, if there is a place for it.
pub(super) struct Look<'t>(pub(super) Option<&'t mut Option<String>>);

impl<'de> Deserialize<'de> for Anything {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Look(None).deserialize(deserializer)
    }
}

impl<'de> DeserializeSeed<'de> for Look<'_> {
    type Value = Anything;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Anything, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Look<'_> {
    type Value = Anything;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Anything, E> {
        Ok(Anything)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Anything, E> {
        Ok(Anything)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Anything, E> {
        Ok(Anything)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Anything, E> {
        Ok(Anything)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Anything, E> {
        if let Some(place) = self.0 {
            *place = Some(text.to_owned());
        }
        Ok(Anything)
    }

    fn visit_unit<E>(self) -> Result<Anything, E> {
        Ok(Anything)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Anything, A::Error> {
        while elements.next_element::<Anything>()?.is_some() {}
        Ok(Anything)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Anything, A::Error> {
        while members.next_entry::<IgnoredAny, Anything>()?.is_some() {}
        Ok(Anything)
    }
}
