//! Decodes untyped objects, and checks that they can be decoded.

use super::{
    error::ObjectError,
    raw::{ManagedFields, Raw},
    validate::{IgnoredValue, IgnoredValueVisitor},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::{DynamicObject, TypeMeta};
use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor},
};
use serde_json::{Map, Value};
use std::{borrow::Cow, fmt};

impl Raw {
    /// Decodes the object without a type.
    ///
    /// [`decode`](Self::decode) returns the same, but `Deserialize` of [`DynamicObject`] copies all data to an intermediate form.
    ///
    /// # Errors
    /// [`ObjectError`] with the key of the object, as far as it can be read, and the path to the invalid field.
    pub fn decode_untyped(&self, managed_fields: ManagedFields) -> Result<DynamicObject, ObjectError> {
        Ok(self.decode::<Untyped<true>>(managed_fields)?.0)
    }

    /// Checks that the object decodes to a [`DynamicObject`], and returns it without managed fields and without data.
    ///
    /// An object that passes this check and [`validate_managed_fields`](Self::validate_managed_fields) can be decoded.
    ///
    /// # Errors
    /// [`ObjectError`] with the key of the object, as far as it can be read, and the path to the invalid field.
    pub fn validate_untyped(&self) -> Result<DynamicObject, ObjectError> {
        Ok(self.decode::<Untyped<false>>(ManagedFields::Drop)?.0)
    }
}

/// An untyped object, with its data or without.
struct Untyped<const DATA: bool>(DynamicObject);

impl<'de, const DATA: bool> Deserialize<'de> for Untyped<DATA> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(UntypedVisitor)
    }
}

struct UntypedVisitor<const DATA: bool>;

impl<'de, const DATA: bool> Visitor<'de> for UntypedVisitor<DATA> {
    type Value = Untyped<DATA>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("struct DynamicObject")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Untyped<DATA>, A::Error> {
        let mut api_version = TextField::default();
        let mut kind = TextField::default();
        let mut metadata = None;
        let mut data = Map::new();
        while let Some(name) = members.next_key::<Cow<'de, str>>()? {
            match &*name {
                "metadata" if metadata.is_some() => return Err(A::Error::duplicate_field("metadata")),
                "metadata" => metadata = Some(members.next_value::<ObjectMeta>()?),
                "apiVersion" => api_version.read(&mut members)?,
                "kind" => kind.read(&mut members)?,
                _ if DATA => _ = data.insert(name.into_owned(), members.next_value()?),
                _ => _ = members.next_value::<IgnoredValue>()?,
            }
        }
        let is_duplicate = api_version.count > 1 || kind.count > 1;
        let types = api_version.text.zip(kind.text).filter(|_| !is_duplicate);
        let types = types.map(|(api_version, kind)| TypeMeta { api_version, kind });
        let metadata = metadata.unwrap_or_default();
        Ok(Untyped(DynamicObject { types, metadata, data: Value::Object(data) }))
    }
}

/// A field that may hold text, and how often it occurred.
#[derive(Default)]
struct TextField {
    text: Option<String>,
    count: usize,
}

impl TextField {
    fn read<'de, A: MapAccess<'de>>(&mut self, members: &mut A) -> Result<(), A::Error> {
        self.count += 1;
        self.text = None;
        members.next_value_seed(IgnoredValueVisitor(Some(&mut self.text))).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, Schema};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// Compares the check and `decode_untyped` with `Deserialize` of `DynamicObject`.
    fn compare(raw: &Raw) -> bool {
        for managed_fields in [ManagedFields::Keep, ManagedFields::Drop] {
            let parts = |DynamicObject { types, metadata, data }| (types, metadata, data);
            let decoded = raw.decode_untyped(managed_fields).map(parts).map_err(|error| error.to_string());
            let expected = raw.decode(managed_fields).map(parts).map_err(|error| error.to_string());
            match (&decoded, &expected) {
                (Err(_), Err(_)) => {}
                _ => assert_eq!(decoded, expected),
            }
        }
        let checked = raw.validate_untyped();
        match raw.decode::<DynamicObject>(ManagedFields::Drop) {
            Ok(DynamicObject { types, metadata, .. }) => {
                let checked = checked.unwrap();
                assert_eq!((checked.types, checked.metadata), (types, metadata));
                true
            }
            Err(error) => {
                assert!(checked.is_err(), "{error}");
                false
            }
        }
    }

    fn from_json(text: &str) -> Raw {
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
    fn decodable_objects_pass() {
        let schema = Schema::of("v1", "Pod").unwrap();
        let protobuf = schema.encode(&pod()).unwrap();
        assert!(compare(&Raw::new(Format::ProtobufItem(schema), protobuf.clone().into())));
        assert!(compare(&Raw::new(Format::Protobuf(schema), protobuf.into())));
        assert!(compare(&from_json(&pod().to_string())));
        for odd in [
            "{}",
            r#"{"apiVersion":"v1"}"#,
            r#"{"apiVersion":"v1","kind":7,"metadata":{}}"#,
            r#"{"kind":"A","apiVersion":"b","kind":"C"}"#,
            r#"{"a":1,"a":[2.5e3,-1,null,true,{"b":"\ud83d\ude00"}]}"#,
        ] {
            compare(&from_json(odd));
        }
    }

    #[test]
    fn undecodable_objects_fail() {
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
            assert!(!compare(&from_json(wrong)), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn the_check_agrees_with_decoding(at in 0..600_usize, byte: u8, cut: bool) {
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
