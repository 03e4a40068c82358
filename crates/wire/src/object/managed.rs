//! Whether managed fields can be decoded, found out without making anything of them.

use super::{
    anything::Anything,
    error::ObjectError,
    raw::{ManagedFields, Raw},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::{Deserialize, Deserializer, de::Visitor};
use std::fmt;

impl Raw {
    /// Looks through the managed fields of the object, which [`ManagedFields::Drop`] passes over. An object that can be decoded
    /// without them, and of which this says nothing, can be decoded with them; and the two together take half the time, since
    /// no tree is built.
    ///
    /// # Errors
    /// [`ObjectError`] names the object, as far as it tells its name, and the field.
    pub fn check_managed_fields(&self) -> Result<(), ObjectError> {
        self.decode::<Object>(ManagedFields::Keep).map(drop)
    }
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "what is read is not kept")]
struct Object {
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "what is read is not kept")]
struct Metadata {
    managed_fields: Option<Vec<Entry>>,
}

/// The fields of `ManagedFieldsEntry`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "what is read is not kept")]
struct Entry {
    api_version: Option<Text>,
    fields_type: Option<Text>,
    #[serde(rename = "fieldsV1")]
    fields_v1: Option<Fields>,
    manager: Option<Text>,
    operation: Option<Text>,
    subresource: Option<Text>,
    time: Option<Time>,
}

/// A text.
struct Text;

/// `FieldsV1`, which holds any JSON.
struct Fields;

struct TextVisitor;
struct FieldsVisitor;

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_string(TextVisitor)
    }
}

impl Visitor<'_> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E>(self, _: &str) -> Result<Text, E> {
        Ok(Text)
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // By the name of the type, which in protobuf holds its JSON.
        deserializer.deserialize_newtype_struct("FieldsV1", FieldsVisitor)
    }
}

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FieldsV1")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Fields, D::Error> {
        Anything::deserialize(deserializer).map(|_| Fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, Schema};
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::{Value, json};

    /// Holds what the check says against what decoding says, in both encodings where there are two.
    fn compare(managed_fields: &Value) -> bool {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "managedFields": managed_fields}});
        let schema = Schema::of("v1", "ConfigMap").unwrap();
        let json = Raw::new(Format::Json, object.to_string().into());
        let protobuf =
            schema.encode(&object).ok().map(|bytes| Raw::new(Format::ProtobufItem(schema), bytes.into()));
        let verdicts = [Some(json), protobuf].into_iter().flatten().map(|raw| {
            assert!(raw.decode::<ConfigMap>(ManagedFields::Drop).is_ok());
            let is_whole = raw.decode::<ConfigMap>(ManagedFields::Keep).is_ok();
            assert_eq!(raw.check_managed_fields().is_ok(), is_whole, "{managed_fields}");
            is_whole
        });
        verdicts.last().unwrap()
    }

    fn nested(depth: usize) -> Value {
        (0..depth).fold(json!({}), |inside, _| json!({"f:a": inside}))
    }

    #[test]
    fn what_can_be_decoded_passes() {
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
    fn what_cannot_does_not() {
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
    fn the_depth_at_which_it_ends_is_the_same() {
        let outcomes: Vec<_> =
            (110..135).map(|depth| compare(&json!([{"fieldsV1": nested(depth)}]))).collect();
        assert!(outcomes[0] && !outcomes[24]);
    }
}
