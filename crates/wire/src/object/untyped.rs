//! Whether an untyped object can be decoded, found out without making anything of its data.

use super::{
    anything::{Anything, Look},
    error::ObjectError,
    raw::{ManagedFields, Raw},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::{DynamicObject, TypeMeta};
use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor},
};
use std::{borrow::Cow, fmt};

impl Raw {
    /// The object as a [`DynamicObject`] without managed fields and data, which are looked through. An object of which this, and
    /// [`check_managed_fields`](Self::check_managed_fields), find nothing wrong can be decoded; and to find out takes a third of
    /// the time.
    ///
    /// # Errors
    /// [`ObjectError`] names the object, as far as it tells its name, and the field.
    pub fn look_through(&self) -> Result<DynamicObject, ObjectError> {
        Ok(self.decode::<Head>(ManagedFields::Drop)?.0)
    }
}

/// What is kept of an untyped object.
struct Head(DynamicObject);

struct HeadVisitor;

impl<'de> Deserialize<'de> for Head {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(HeadVisitor)
    }
}

impl<'de> Visitor<'de> for HeadVisitor {
    type Value = Head;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("struct DynamicObject")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Head, A::Error> {
        let (mut api_version, mut kind, mut metadata, mut is_twice) = (None, None, None, false);
        while let Some(name) = members.next_key::<Cow<'de, str>>()? {
            match &*name {
                "metadata" if metadata.is_some() => return Err(A::Error::duplicate_field("metadata")),
                "metadata" => metadata = Some(members.next_value::<ObjectMeta>()?),
                "apiVersion" => is_twice |= text(&mut members, &mut api_version)?,
                "kind" => is_twice |= text(&mut members, &mut kind)?,
                _ => {
                    members.next_value::<Anything>()?;
                }
            }
        }
        let types = api_version.flatten().zip(kind.flatten()).filter(|_| !is_twice);
        let types = types.map(|(api_version, kind)| TypeMeta { api_version, kind });
        let metadata = metadata.unwrap_or_default();
        Ok(Head(DynamicObject { types, metadata, data: serde_json::Value::Null }))
    }
}

/// Looks at a value that is a text, if it is as it should be. Says whether there was one already.
fn text<'de, A: MapAccess<'de>>(
    members: &mut A,
    place: &mut Option<Option<String>>,
) -> Result<bool, A::Error> {
    let is_twice = place.is_some();
    members.next_value_seed(Look(Some(place.insert(None))))?;
    Ok(is_twice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, Schema};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// Holds what a look says against what decoding says.
    fn compare(raw: &Raw) -> bool {
        let looked = raw.look_through();
        match raw.decode::<DynamicObject>(ManagedFields::Drop) {
            Ok(DynamicObject { types, metadata, .. }) => {
                let looked = looked.unwrap();
                assert_eq!((looked.types, looked.metadata), (types, metadata));
                true
            }
            Err(error) => {
                assert!(looked.is_err(), "{error}");
                false
            }
        }
    }

    fn of_json(text: &str) -> Raw {
        Raw::new(Format::Json, text.to_owned().into())
    }

    fn pod() -> Value {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "a", "labels": {"l": "é"}, "managedFields": [{"manager": "m", "fieldsV1": {"f:a": {}}}]},
            "spec": {"nodeName": "n", "containers": [{"name": "c", "ports": [{"containerPort": 80}]}]},
            "status": {"startTime": "2026-01-02T03:04:05Z"},
        })
    }

    #[test]
    fn what_can_be_decoded_is_looked_through() {
        let schema = Schema::of("v1", "Pod").unwrap();
        let protobuf = schema.encode(&pod()).unwrap();
        assert!(compare(&Raw::new(Format::ProtobufItem(schema), protobuf.clone().into())));
        assert!(compare(&Raw::new(Format::Protobuf(schema), protobuf.into())));
        assert!(compare(&of_json(&pod().to_string())));
        for odd in [
            "{}",
            r#"{"apiVersion":"v1"}"#,
            r#"{"apiVersion":"v1","kind":7,"metadata":{}}"#,
            r#"{"kind":"A","apiVersion":"b","kind":"C"}"#,
            r#"{"a":1,"a":[2.5e3,-1,null,true,{"b":"\ud83d\ude00"}]}"#,
        ] {
            compare(&of_json(odd));
        }
    }

    #[test]
    fn what_cannot_is_not() {
        let deep = format!(r#"{{"data":{}{}}}"#, "[".repeat(200), "]".repeat(200));
        for wrong in [
            "",
            "[]",
            "7",
            "{",
            r#"{"a"}"#,
            r#"{"a":}"#,
            r#"{"a":1e999}"#,
            r#"{"a":"\ud800"}"#,
            r#"{"a":01}"#,
            r#"{"metadata":null}"#,
            r#"{"metadata":7}"#,
            r#"{"metadata":{"name":7}}"#,
            r#"{"metadata":{},"metadata":{}}"#,
            r#"{"metadata":{"labels":{"a":1}}}"#,
            deep.as_str(),
        ] {
            assert!(!compare(&of_json(wrong)), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn a_look_and_a_decoding_agree(at in 0..600_usize, byte: u8, cut: bool) {
            let schema = Schema::of("v1", "Pod").unwrap();
            let encoded = [pod().to_string().into_bytes(), schema.encode(&pod()).unwrap()];
            for (mut bytes, format) in encoded.into_iter().zip([Format::Json, Format::ProtobufItem(schema)]) {
                let at = at % bytes.len();
                bytes[at] = byte;
                if cut {
                    bytes.truncate(at);
                }
                compare(&Raw::new(format, bytes.into()));
            }
        }
    }
}
