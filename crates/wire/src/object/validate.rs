//! Checks the managed fields of an object, without building the value.

use super::{
    error::ObjectError,
    raw::{ManagedFields, Raw},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use std::fmt;

impl Raw {
    /// Checks the managed fields of the object, which [`ManagedFields::Drop`] skips.
    ///
    /// An object that can be decoded without its managed fields, and passes this check, can be decoded with them. Both
    /// together take half the time of that, since no tree is built.
    ///
    /// # Errors
    /// [`ObjectError`] with the key of the object, as far as it can be read, and the path to the invalid field.
    pub fn validate_managed_fields(&self) -> Result<(), ObjectError> {
        self.decode::<ManagedFieldsOnly>(ManagedFields::Keep).map(drop)
    }
}

/// Any JSON value, checked as strictly as `serde_json::Value` and discarded.
pub(super) struct IgnoredValue;

/// Reads any JSON value; stores it in the option if it is text.
pub(super) struct IgnoredValueVisitor<'t>(pub(super) Option<&'t mut Option<String>>);

impl<'de> Deserialize<'de> for IgnoredValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredValueVisitor(None).deserialize(deserializer)
    }
}

impl<'de> DeserializeSeed<'de> for IgnoredValueVisitor<'_> {
    type Value = IgnoredValue;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<IgnoredValue, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for IgnoredValueVisitor<'_> {
    type Value = IgnoredValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<IgnoredValue, E> {
        Ok(IgnoredValue)
    }

    fn visit_i64<E>(self, _: i64) -> Result<IgnoredValue, E> {
        Ok(IgnoredValue)
    }

    fn visit_u64<E>(self, _: u64) -> Result<IgnoredValue, E> {
        Ok(IgnoredValue)
    }

    fn visit_f64<E>(self, _: f64) -> Result<IgnoredValue, E> {
        Ok(IgnoredValue)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<IgnoredValue, E> {
        if let Some(found) = self.0 {
            *found = Some(text.to_owned());
        }
        Ok(IgnoredValue)
    }

    fn visit_unit<E>(self) -> Result<IgnoredValue, E> {
        Ok(IgnoredValue)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<IgnoredValue, A::Error> {
        while elements.next_element::<IgnoredValue>()?.is_some() {}
        Ok(IgnoredValue)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<IgnoredValue, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredValue>()?.is_some() {}
        Ok(IgnoredValue)
    }
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "the values are discarded")]
struct ManagedFieldsOnly {
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "the values are discarded")]
struct Metadata {
    managed_fields: Option<Vec<Entry>>,
}

/// The fields of `ManagedFieldsEntry`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "the values are discarded")]
struct Entry {
    api_version: Option<IgnoredText>,
    fields_type: Option<IgnoredText>,
    #[serde(rename = "fieldsV1")]
    fields_v1: Option<FieldsV1>,
    manager: Option<IgnoredText>,
    operation: Option<IgnoredText>,
    subresource: Option<IgnoredText>,
    time: Option<Time>,
}

struct IgnoredText;

impl<'de> Deserialize<'de> for IgnoredText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_string(IgnoredTextVisitor)
    }
}

struct IgnoredTextVisitor;

impl Visitor<'_> for IgnoredTextVisitor {
    type Value = IgnoredText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E>(self, _: &str) -> Result<IgnoredText, E> {
        Ok(IgnoredText)
    }
}

/// Any JSON in a newtype, which is how protobuf stores it.
#[derive(Deserialize)]
struct FieldsV1(IgnoredValue);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, Schema};
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::{Value, json};

    /// Compares the check with decoding, in both encodings if the object has both.
    fn compare(managed_fields: &Value) -> bool {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "managedFields": managed_fields}});
        let schema = Schema::of("v1", "ConfigMap").unwrap();
        let json = Raw::new(Format::Json, object.to_string().into());
        let protobuf =
            schema.encode(&object).ok().map(|bytes| Raw::new(Format::ProtobufItem(schema), bytes.into()));
        let results = [Some(json), protobuf].into_iter().flatten().map(|raw| {
            assert!(raw.decode::<ConfigMap>(ManagedFields::Drop).is_ok());
            let is_decoded = raw.decode::<ConfigMap>(ManagedFields::Keep).is_ok();
            assert_eq!(raw.validate_managed_fields().is_ok(), is_decoded, "{managed_fields}");
            is_decoded
        });
        results.last().unwrap()
    }

    fn nested(depth: usize) -> Value {
        (0..depth).fold(json!({}), |inside, _| json!({"f:a": inside}))
    }

    #[test]
    fn decodable_managed_fields_pass() {
        let entry = json!({
            "manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "subresource": "status",
            "time": "2026-01-02T03:04:05Z", "fieldsV1": {"f:data": {".": {}, "f:a": [1, -1, 1.5, "x", null, true]}},
        });
        assert!(compare(&json!([entry, {}])));
        assert!(compare(&json!(null)));
        assert!(compare(&json!([])));
        assert!(compare(&json!([{"fieldsV1": nested(100)}])));
    }

    #[test]
    fn undecodable_managed_fields_fail() {
        for name in ["manager", "operation", "apiVersion", "fieldsType", "subresource", "time"] {
            for value in [json!(1), json!({}), json!([]), json!(true)] {
                assert!(!compare(&json!([{ name: value }])), "{name}: {value}");
            }
        }
        for wrong in [
            json!({}),
            json!(7),
            json!([7]),
            json!([{"time": "yesterday"}]),
            json!([{"fieldsV1": nested(130)}]),
        ] {
            assert!(!compare(&wrong), "{wrong}");
        }
    }

    #[test]
    fn the_maximum_depth_is_that_of_decoding() {
        let outcomes: Vec<_> =
            (110..135).map(|depth| compare(&json!([{"fieldsV1": nested(depth)}]))).collect();
        assert!(outcomes[0] && !outcomes[24]);
    }
}
