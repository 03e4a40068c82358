//! The values of a field, read from bytes or from a Rust value, without the rest of the object.

use super::{
    field_path::FieldPath,
    field_serializer::{FieldSerializer, float_text},
    lazy::Lazy,
    raw::Raw,
};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use std::fmt;

/// Reads the values of a field. Implemented by every type that can be serialized, by [`Lazy`] and by [`Raw`].
///
/// The value of a text is the text, unless it is empty. Numbers and booleans have the value that they have in JSON. A list
/// has the values of its elements. Other fields have none.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_informer_wire::{FieldValues, Format, ManagedFields, Raw};
///
/// let json = r#"{"metadata":{"finalizers":["a","b"]},"spec":{"containers":[],"nodeName":"c","priority":7}}"#;
/// let raw = Raw::new(Format::Json, json.into());
/// let pod: Pod = raw.decode(ManagedFields::Keep)?;
/// for (path, expected) in [
///     ("/spec/nodeName", vec!["c"]),
///     ("/spec/priority", vec!["7"]),
///     ("/metadata/finalizers", vec!["a", "b"]),
///     ("/metadata/finalizers/1", vec!["b"]),
///     ("/spec", vec![]),
/// ] {
///     let path = path.parse()?;
///     let mut values = Vec::new();
///     pod.field_values(&path, &mut |value| values.push(value.to_owned()));
///     assert_eq!(values, expected);
///     values.clear();
///     raw.field_values(&path, &mut |value| values.push(value.to_owned()));
///     assert_eq!(values, expected);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait FieldValues {
    /// Calls `emit` with each value of the field at `path`. Does not call it if the field is absent or cannot be read.
    fn field_values(&self, path: &FieldPath, emit: &mut dyn FnMut(&str));
}

impl<K: Serialize> FieldValues for K {
    fn field_values(&self, path: &FieldPath, emit: &mut dyn FnMut(&str)) {
        // A type that cannot be serialized has no values.
        let _ = self.serialize(FieldSerializer::new(path.pointer(), emit));
    }
}

impl<K> FieldValues for Lazy<K> {
    fn field_values(&self, path: &FieldPath, emit: &mut dyn FnMut(&str)) {
        self.raw().field_values(path, emit);
    }
}

/// Reads the field without decoding the object.
impl FieldValues for Raw {
    fn field_values(&self, path: &FieldPath, emit: &mut dyn FnMut(&str)) {
        if let Ok(Some(Values(values))) = self.read_at(path.pointer()) {
            values.iter().filter(|value| !value.is_empty()).for_each(|value| emit(value));
        }
    }
}

/// The values of a scalar, or of the scalars in a list.
struct Values(Vec<String>);

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut values = Vec::new();
        Part::Field.read(deserializer, &mut values)?;
        Ok(Self(values))
    }
}

/// The part of a field that is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Field,
    /// An element of a list, in which lists have no values.
    Element,
}

struct ValueVisitor<'v> {
    part: Part,
    values: &'v mut Vec<String>,
}

impl Part {
    fn read<'de, D: Deserializer<'de>>(
        self,
        deserializer: D,
        values: &mut Vec<String>,
    ) -> Result<(), D::Error> {
        deserializer.deserialize_any(ValueVisitor { part: self, values })
    }
}

impl<'de> DeserializeSeed<'de> for ValueVisitor<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.part.read(deserializer, self.values)
    }
}

impl<'de> Visitor<'de> for ValueVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<(), E> {
        self.values.push(text.to_owned());
        Ok(())
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<(), E> {
        self.values.push(text);
        Ok(())
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<(), E> {
        self.visit_string(value.to_string())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<(), E> {
        self.visit_string(number.to_string())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<(), E> {
        self.visit_string(number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<(), E> {
        self.visit_string(float_text(number))
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_none<E: de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        match self.part {
            Part::Field => {
                while elements
                    .next_element_seed(ValueVisitor { part: Part::Element, values: self.values })?
                    .is_some()
                {}
            }
            Part::Element => while elements.next_element::<IgnoredAny>()?.is_some() {},
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

#[cfg(test)]
mod tests;
