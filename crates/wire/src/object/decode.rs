//! Decodes one object, and says which object and which of its fields when it cannot.

use super::{
    error::ObjectError,
    identity::Identity,
    raw::{Format, ManagedFields, Raw},
};
use crate::{
    decode::{self, Pointer, from_json, from_protobuf, part_of_json, part_of_protobuf},
    protobuf::{Place, Reader, Skip},
};
use kube_core::Resource;
use serde::{Deserialize, de::DeserializeOwned};

/// Decodes an object from its JSON.
///
/// What the type does not read is passed over, and may be malformed inside.
///
/// # Errors
/// [`ObjectError`] names the object, as far as it tells its name, and the field.
pub fn decode_object<K: DeserializeOwned>(json: &[u8]) -> Result<K, ObjectError> {
    decode_json(json, ManagedFields::Keep)
}

/// Decodes an object from its JSON, with or without its managed fields.
pub(crate) fn decode_json<K: DeserializeOwned>(
    json: &[u8],
    managed_fields: ManagedFields,
) -> Result<K, ObjectError> {
    let skip = match managed_fields {
        ManagedFields::Keep => Skip::Nothing,
        ManagedFields::Drop => Skip::InObject,
    };
    from_json(json, skip).map_err(|error| failed(Identity::of_json(json), error))
}

impl Raw {
    /// Decodes the object.
    ///
    /// The value is the same from both encodings. Two things are not in protobuf and cannot be had from it: the kinds of
    /// objects within objects, and the difference between an empty list and none.
    ///
    /// # Errors
    /// [`ObjectError`] names the object, as far as it tells its name, and the field.
    pub fn decode<K: DeserializeOwned>(&self, managed_fields: ManagedFields) -> Result<K, ObjectError> {
        let Some(object) = self.protobuf() else { return decode_json(self.bytes(), managed_fields) };
        let object = match managed_fields {
            ManagedFields::Keep => object,
            ManagedFields::Drop => object.without_managed_fields(),
        };
        from_protobuf(object).map_err(|error| failed(Identity::of_protobuf(self.bytes()), error))
    }

    /// Decodes the part of the object that stands at a JSON pointer ([RFC 6901]), such as `/spec/containers/0/image`, and passes
    /// over the rest. An empty pointer is of all of it. Nothing if there is no such part, or if it is null.
    ///
    /// `read::<&str>` copies nothing. It is an error where the text does not stand in the bytes as it is: in JSON with escapes, and
    /// in protobuf, of times and of bytes. A `String` can be had of any text.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Container;
    /// use kube_informer_wire::{Format, Raw};
    ///
    /// let json = r#"{"metadata":{"labels":{"a/b":"c"}},"spec":{"containers":[{"name":"d","image":"e"}]}}"#;
    /// let raw = Raw::new(Format::Json, json.into());
    /// assert_eq!(raw.read::<&str>("/spec/containers/0/image")?, Some("e"));
    /// assert_eq!(raw.read::<&str>("/metadata/labels/a~1b")?, Some("c"));
    /// assert_eq!(raw.read::<&str>("/status/phase")?, None);
    /// let containers: Option<Vec<Container>> = raw.read("/spec/containers")?;
    /// assert_eq!(containers.unwrap()[0].name, "d");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// [RFC 6901]: https://www.rfc-editor.org/rfc/rfc6901
    ///
    /// # Errors
    /// [`ObjectError`] names the object and the field, if that is of another type, if something is wrong with the object on the way
    /// there, or if the pointer is none.
    pub fn read<'a, T: Deserialize<'a>>(&'a self, pointer: &str) -> Result<Option<T>, ObjectError> {
        let Some(pointer) = Pointer::new(pointer) else {
            let cause = "a JSON pointer begins with a slash, as in /status/phase";
            return Err(ObjectError::new(self.identity(), pointer.to_owned(), cause.into()));
        };
        let part = match self.protobuf() {
            None => part_of_json(self.bytes(), pointer),
            Some(object) => part_of_protobuf(object, pointer),
        };
        part.map_err(|error| failed(self.identity(), error))
    }

    /// Sees to it that an object that was decoded from these bytes is the one that [`identity`](Self::identity) says.
    ///
    /// Of a field that is there twice, the identity has the first, and many types have the last. Such an object would be known by
    /// one name and have another, so that it is none. Protobuf of this kind is not decoded at all. A type that leaves out uid or
    /// version may do so.
    ///
    /// # Errors
    /// [`ObjectError`] names the object by its identity.
    pub fn check_identity<K: Resource>(&self, object: &K) -> Result<(), ObjectError> {
        let Some(known) = self.identity() else { return Ok(()) };
        let found = Identity::of(object);
        let agrees = |known: &str, found: &str| found.is_empty() || known == found;
        if known.name == found.name
            && known.namespace == found.namespace
            && agrees(&known.uid, &found.uid)
            && agrees(&known.version, &found.version)
        {
            return Ok(());
        }
        Err(ObjectError::new(Some(known), "metadata".to_owned(), "it says twice which object it is".into()))
    }

    /// The object, if it is in protobuf.
    fn protobuf(&self) -> Option<Place<'_>> {
        let object = |schema| Place::of_object(schema, Reader::new(self.bytes()));
        match self.format() {
            Format::Json => None,
            Format::Protobuf(schema) => Some(object(schema).with_types()),
            Format::ProtobufItem(schema) => Some(object(schema)),
        }
    }
}

#[cold]
fn failed(identity: Option<Identity<'_>>, error: decode::Error) -> ObjectError {
    ObjectError::new(identity, error.path(), error.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Schema;
    use k8s_openapi::api::core::v1::ConfigMap;
    use std::error::Error;

    fn of_json(text: &str) -> Raw {
        Raw::new(Format::Json, text.to_owned().into())
    }

    /// What is wrong with an object that can be decoded.
    fn wrong(raw: &Raw) -> Option<String> {
        let object: ConfigMap = raw.decode(ManagedFields::Keep).unwrap();
        let dropped: ConfigMap = raw.decode(ManagedFields::Drop).unwrap();
        let verdicts = [object, dropped].map(|object| raw.check_identity(&object).err());
        let [one, other] =
            verdicts.map(|error| error.map(|error| format!("{error}: {}", error.source().unwrap())));
        assert_eq!(one, other);
        one
    }

    #[test]
    fn what_says_once_which_object_it_is_passes() {
        for json in [
            "{}",
            r#"{"metadata":{"name":"a"}}"#,
            r#"{"metadata":{"name":"a","namespace":null,"uid":"u","resourceVersion":"1"}}"#,
            r#"{"metadata":{"uid":"u","resourceVersion":"1","namespace":"b","name":"\u0061"},"data":{"metadata":"x"}}"#,
            r#"{"metadata":{"name":"a"},"metadata":{"name":"a"}}"#,
        ] {
            assert_eq!(wrong(&of_json(json)), None, "{json}");
        }
    }

    #[test]
    fn what_says_it_twice_and_differs_is_none() {
        for json in [
            r#"{"metadata":{"name":"a","namespace":"b"},"metadata":{"name":"c","namespace":"b"}}"#,
            r#"{"metadata":{"name":"a","namespace":"b"},"metadata":{"name":"a","namespace":"c"}}"#,
            r#"{"metadata":{"name":"a","namespace":"b"},"metadata":{}}"#,
            r#"{"metadata":{"name":"a","namespace":"b","uid":"1"},"data":{},"metadata":{"name":"a","namespace":"b","uid":"2"}}"#,
            r#"{"metadata":{"name":"a","namespace":"b"},"met\u0061data":{"name":"c"}}"#,
            r#"{"metadata":{"name":"a","namespace":"b","uid":"1","resourceVersion":"1","name":"c"}}"#,
            r#"{"metadata":{"name":"a","namespace":"b","uid":"1","uid":"2","resourceVersion":"7"}}"#,
            r#"{"metadata":{"name":"a","namespace":"b","uid":"1","resourceVersion":"1","resourceVersion":"2"}}"#,
        ] {
            let expected = "object b/a cannot be decoded at metadata: it says twice which object it is";
            assert_eq!(wrong(&of_json(json)).as_deref(), Some(expected), "{json}");
        }
    }

    #[test]
    fn in_protobuf_it_is_not_decoded() {
        let schema = Schema::of("v1", "ConfigMap").unwrap();
        let encoded = |name: &str| schema.encode(&serde_json::json!({"metadata": {"name": name}})).unwrap();
        for (first, second) in [("a", "b"), ("a", "a")] {
            let raw =
                Raw::new(Format::ProtobufItem(schema), [encoded(first), encoded(second)].concat().into());
            for managed_fields in [ManagedFields::Keep, ManagedFields::Drop] {
                let error = raw.decode::<ConfigMap>(managed_fields).unwrap_err();
                assert_eq!(error.key().unwrap().as_str(), "a");
                assert!(error.source().unwrap().to_string().contains("twice"), "{:?}", error.source());
            }
        }
    }
}
