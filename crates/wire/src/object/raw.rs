//! The bytes of one object, and how to decode them.

use super::{content_hash::ContentHash, error::ObjectError, identity::Identity};
use crate::{
    decode::{Pointer, ValueError, decode_json, decode_protobuf, json_text, read_json, read_protobuf},
    json,
    protobuf::{self, Envelope, ProtobufError, Reader, Schema, ValueRef},
};
use bytes::Bytes;
use kube_core::{Resource, TypeMeta};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;

/// One object as it was sent.
///
/// Its [identity](Self::identity) can be read without decoding it, so that an object that has not changed need not be
/// decoded, and one can be kept as it is and decoded on demand.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_informer_wire::{Format, ManagedFields, Raw};
///
/// let json = r#"{"metadata":{"name":"a","namespace":"b","uid":"c","resourceVersion":"7"},"data":{"d":"e"}}"#;
/// let raw = Raw::new(Format::Json, json.into());
/// assert_eq!(raw.identity().unwrap().key()?.as_str(), "b/a");
/// let object: ConfigMap = raw.decode(ManagedFields::Drop)?;
/// assert_eq!(object.data.unwrap()["d"], "e");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raw {
    format: Format,
    bytes: Bytes,
}

/// The encoding of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON.
    Json,
    /// Protobuf of an object with `apiVersion` and `kind`, as in a response of its own or in a watch.
    Protobuf(Schema),
    /// Protobuf of an object without `apiVersion` and `kind`, as in a list.
    ProtobufItem(Schema),
}

/// Whether `metadata.managedFields` are decoded. They are about half of the bytes that a server sends, and rarely read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ManagedFields {
    /// They are decoded.
    #[default]
    Keep,
    /// They are skipped, as if the object had none.
    Drop,
}

/// Opens a response body in protobuf that is one object or a complete list.
///
/// # Errors
/// [`ProtobufError`] if the body is not Kubernetes protobuf, or of a kind that has no [`Schema`].
pub fn open_protobuf(body: &Bytes) -> Result<Raw, ProtobufError> {
    let envelope = Envelope::open(Reader::new(body))?;
    let schema = envelope.types.schema()?;
    Ok(Raw::new(Format::Protobuf(schema), body.slice_ref(envelope.object.rest())))
}

/// Decodes an object from JSON.
///
/// # Errors
/// [`ObjectError`] with the key of the object, as far as it can be read, and the path to the invalid field.
pub fn decode_object<K: DeserializeOwned>(json: &[u8]) -> Result<K, ObjectError> {
    decode_json_object(json, ManagedFields::Keep)
}

/// Decodes an object from JSON, with or without its managed fields.
pub(crate) fn decode_json_object<K: DeserializeOwned>(
    bytes: &[u8],
    managed_fields: ManagedFields,
) -> Result<K, ObjectError> {
    let decoded = json_text(bytes).and_then(|text| {
        let cuts = match managed_fields {
            ManagedFields::Keep => Vec::new(),
            ManagedFields::Drop => json::managed_fields(bytes),
        };
        if cuts.is_empty() {
            return decode_json(text);
        }
        let kept: Vec<_> = json::kept(0..text.len(), &cuts).map(|range| &text[range]).collect();
        decode_json(&kept.concat())
    });
    decoded.map_err(|error| ObjectError::of_value(Identity::of_json(bytes), error))
}

/// Reads `apiVersion` and `kind`, which API servers send first. The other members are scanned only if one is absent.
fn json_types(text: &[u8]) -> Option<TypeMeta> {
    let mut scanner = json::Scanner::new(text);
    scanner.enter(b'{').ok()?;
    let (mut api_version, mut kind) = (None, None);
    while api_version.is_none() || kind.is_none() {
        let key = scanner.next_key().ok()??;
        let field = match () {
            () if key.is("apiVersion") => &mut api_version,
            () if key.is("kind") => &mut kind,
            () => {
                scanner.skip_value().ok()?;
                continue;
            }
        };
        *field = Some(scanner.string().ok()??.into_owned());
    }
    Some(TypeMeta { api_version: api_version?, kind: kind? })
}

impl Raw {
    /// Creates an object from its bytes: one JSON text, or one protobuf message without an envelope.
    #[must_use]
    pub fn new(format: Format, bytes: Bytes) -> Self {
        Self { format, bytes }
    }

    /// Returns the encoding.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the bytes.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Returns the bytes. They may be a slice of a larger buffer, which they keep in memory.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        self.bytes
    }

    /// Reads `apiVersion` and `kind`; `None` if one of them is absent, as in a list of a built-in kind.
    ///
    /// ```
    /// use kube_informer_wire::{Format, Raw};
    ///
    /// let raw = Raw::new(Format::Json, r#"{"kind":"Pod","apiVersion":"v1","metadata":{}}"#.into());
    /// assert_eq!(raw.types().unwrap().kind, "Pod");
    /// ```
    #[must_use]
    pub fn types(&self) -> Option<TypeMeta> {
        match self.format {
            Format::Json => json_types(&self.bytes),
            Format::Protobuf(_) | Format::ProtobufItem(_) => self.read("").ok().flatten(),
        }
    }

    /// Reads the identity of the object; `None` if it is malformed, which decoding it reports.
    #[must_use]
    pub fn identity(&self) -> Option<Identity<'_>> {
        match self.format {
            Format::Json => Identity::of_json(&self.bytes),
            Format::Protobuf(_) | Format::ProtobufItem(_) => Identity::of_protobuf(&self.bytes),
        }
    }

    /// Decodes the object.
    ///
    /// Both encodings decode to the same value. Protobuf does not have the kinds of nested objects, and does not distinguish
    /// an empty list from an absent one.
    ///
    /// # Errors
    /// [`ObjectError`] with the key of the object, as far as it can be read, and the path to the invalid field.
    pub fn decode<K: DeserializeOwned>(&self, managed_fields: ManagedFields) -> Result<K, ObjectError> {
        match self.protobuf(managed_fields) {
            None => decode_json_object(&self.bytes, managed_fields),
            Some(object) => decode_protobuf(object).map_err(|error| self.error(error)),
        }
    }

    /// Decodes the part of the object at a JSON pointer ([RFC 6901]), such as `/spec/containers/0/image`, without decoding
    /// the rest. An empty pointer is the object itself. Returns `None` if the part is absent or null.
    ///
    /// `read::<&str>` borrows from the bytes. It fails if the text is not in them as it is: in JSON if it has escapes, in
    /// protobuf if it is a time or bytes. Use `String` for such text.
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
    /// [`ObjectError`] if the part has another type, if the object is malformed before it, or if the pointer is invalid.
    pub fn read<'a, T: Deserialize<'a>>(&'a self, pointer: &str) -> Result<Option<T>, ObjectError> {
        let Some(pointer) = Pointer::new(pointer) else {
            let cause = "invalid JSON pointer: it must start with a slash, as in /status/phase";
            return Err(ObjectError::new(self.identity(), pointer.to_owned(), cause.into()));
        };
        self.read_at(pointer).map_err(|error| self.error(error))
    }

    pub(super) fn read_at<'a, T: Deserialize<'a>>(
        &'a self,
        pointer: Pointer<'_>,
    ) -> Result<Option<T>, ValueError> {
        match self.protobuf(ManagedFields::Keep) {
            None => json_text(&self.bytes).and_then(|text| read_json(text, pointer)),
            Some(object) => read_protobuf(object, pointer),
        }
    }

    /// Checks that an object decoded from these bytes has the [identity](Self::identity) that was read from them.
    ///
    /// They differ if a field occurs twice: the identity has the first, and most types the last. Protobuf with duplicate
    /// fields is never decoded. A type may lack the uid and the version.
    ///
    /// # Errors
    /// [`ObjectError`] with the key that was read from the bytes.
    pub fn check_identity<K: Resource>(&self, object: &K) -> Result<(), ObjectError> {
        let Some(read) = self.identity() else { return Ok(()) };
        let decoded = Identity::of(object);
        let agrees = |read: &str, decoded: &str| decoded.is_empty() || read == decoded;
        if read.name == decoded.name
            && read.namespace == decoded.namespace
            && agrees(&read.uid, &decoded.uid)
            && agrees(&read.version, &decoded.version)
        {
            return Ok(());
        }
        Err(ObjectError::new(
            Some(read),
            "metadata".to_owned(),
            "duplicate fields with different values".into(),
        ))
    }

    /// Returns the object without trailing data, as in a watch frame with further fields; `None` if there is none.
    #[must_use]
    pub fn without_trailing_data(&self) -> Option<Self> {
        let Format::Json = self.format else { return None };
        let mut values = serde_json::Deserializer::from_slice(&self.bytes).into_iter::<&RawValue>();
        let first = values.next()?.ok()?.get().as_bytes();
        (first.len() < self.bytes.trim_ascii().len())
            .then(|| Self::new(self.format, self.bytes.slice_ref(first)))
    }

    /// Returns the object without its managed fields, in a buffer of its own; unchanged if it has none or is malformed.
    #[must_use]
    pub fn without_managed_fields(&self) -> Self {
        let stripped = match self.format {
            Format::Json => {
                let cuts = json::managed_fields(&self.bytes);
                let kept: Vec<_> =
                    json::kept(0..self.bytes.len(), &cuts).map(|range| &self.bytes[range]).collect();
                (!cuts.is_empty()).then(|| kept.concat())
            }
            Format::Protobuf(_) | Format::ProtobufItem(_) => {
                protobuf::without_managed_fields(&self.bytes).ok().flatten()
            }
        };
        // Boxed to release spare capacity: these bytes may be kept for long.
        let own = |bytes: Vec<u8>| Self::new(self.format, bytes.into_boxed_slice().into());
        stripped.map_or_else(|| self.clone(), own)
    }

    /// Returns a hash of the content, without `apiVersion` and `kind`, and without managed fields if they are dropped.
    ///
    /// The object has the same hash in a list, in a watch, and [without managed fields](Self::without_managed_fields).
    #[must_use]
    pub fn content_hash(&self, managed_fields: ManagedFields) -> ContentHash {
        match (self.format, managed_fields) {
            (Format::Json, ManagedFields::Keep) => {
                ContentHash::json([&self.bytes[json::types_end(&self.bytes)..]])
            }
            (Format::Json, ManagedFields::Drop) => {
                let cuts = json::managed_fields(&self.bytes);
                let content = json::types_end(&self.bytes)..self.bytes.len();
                ContentHash::json(json::kept(content, &cuts).filter_map(|range| self.bytes.get(range)))
            }
            (Format::Protobuf(_) | Format::ProtobufItem(_), ManagedFields::Keep) => {
                ContentHash::protobuf([&self.bytes[..]])
            }
            (Format::Protobuf(_) | Format::ProtobufItem(_), ManagedFields::Drop) => {
                match protobuf::parts_without_managed_fields(&self.bytes) {
                    Ok(parts) => ContentHash::protobuf(parts),
                    Err(_) => ContentHash::protobuf([&self.bytes[..]]),
                }
            }
        }
    }

    /// Returns the protobuf object; `None` if it is JSON.
    pub(super) fn protobuf(&self, managed_fields: ManagedFields) -> Option<ValueRef<'_>> {
        let object = |schema| ValueRef::of_object(schema, Reader::new(&self.bytes));
        let object = match self.format {
            Format::Json => return None,
            Format::Protobuf(schema) => object(schema).with_types(),
            Format::ProtobufItem(schema) => object(schema),
        };
        Some(match managed_fields {
            ManagedFields::Keep => object,
            ManagedFields::Drop => object.without_managed_fields(),
        })
    }

    #[cold]
    pub(super) fn error(&self, error: ValueError) -> ObjectError {
        ObjectError::of_value(self.identity(), error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Schema;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube_core::DynamicObject;
    use std::error::Error;

    fn from_json(text: &str) -> Raw {
        Raw::new(Format::Json, text.to_owned().into())
    }

    /// Returns the error of an object that can be decoded.
    fn identity_error(raw: &Raw) -> Option<String> {
        let object: ConfigMap = raw.decode(ManagedFields::Keep).unwrap();
        let dropped: ConfigMap = raw.decode(ManagedFields::Drop).unwrap();
        let verdicts = [object, dropped].map(|object| raw.check_identity(&object).err());
        let [one, other] =
            verdicts.map(|error| error.map(|error| format!("{error}: {}", error.source().unwrap())));
        assert_eq!(one, other);
        one
    }

    #[test]
    fn types_are_read_wherever_they_are() {
        let types = |json: &str| from_json(json).types().map(|types| (types.api_version, types.kind));
        let pod = Some(("v1".to_owned(), "Pod".to_owned()));
        for json in [
            r#"{"kind":"Pod","apiVersion":"v1","metadata":{}}"#,
            r#"{"metadata":{"ownerReferences":[{"kind":"Job"}]},"apiVersion":"v1","kind":"\u0050od"}"#,
        ] {
            assert_eq!(types(json), pod, "{json}");
        }
        for json in ["{}", r#"{"kind":"Pod"}"#, r#"{"kind":1,"apiVersion":"v1"}"#, r#"{"kind":"Pod","#, "[]"]
        {
            assert_eq!(types(json), None, "{json}");
        }
        let schema = Schema::of("v1", "ConfigMap").unwrap();
        let bytes = schema.encode(&serde_json::json!({"metadata": {"name": "a"}})).unwrap();
        let raw = Raw::new(Format::Protobuf(schema), bytes.into());
        assert_eq!(raw.types(), raw.read("").unwrap());
    }

    #[test]
    fn an_unambiguous_identity_passes() {
        for json in [
            "{}",
            r#"{"metadata":{"name":"a"}}"#,
            r#"{"metadata":{"name":"a","namespace":null,"uid":"u","resourceVersion":"1"}}"#,
            r#"{"metadata":{"uid":"u","resourceVersion":"1","namespace":"b","name":"\u0061"},"data":{"metadata":"x"}}"#,
            r#"{"metadata":{"name":"a"},"metadata":{"name":"a"}}"#,
        ] {
            assert_eq!(identity_error(&from_json(json)), None, "{json}");
        }
    }

    #[test]
    fn duplicate_fields_that_differ_are_rejected() {
        for json in [
            r#"{"metadata":{"name":"a","namespace":"b"},"metadata":{"name":"c","namespace":"b"}}"#,
            r#"{"metadata":{"name":"a","namespace":"b"},"metadata":{"name":"a","namespace":"c"}}"#,
            r#"{"metadata":{"name":"a","namespace":"b"},"metadata":{}}"#,
            r#"{"metadata":{"name":"a","namespace":"b","uid":"1"},"data":{},"metadata":{"name":"a","namespace":"b","uid":"2"}}"#,
            r#"{"metadata":{"name":"a","namespace":"b"},"met\u0061data":{"name":"c"}}"#,
            r#"{"metadata":{"name":"a","namespace":"b","uid":"1","resourceVersion":"1","name":"c"}}"#,
            r#"{"metadata":{"name":"a","namespace":"b","uid":"1","uid":"2","resourceVersion":"7"}}"#,
            r#"{"metadata":{"name":"a","namespace":"b","uid":"1","resourceVersion":"1","resourceVersion":"2"}}"#,
            r#"{"metadata":{"name":"a","name":"c","namespace":"b"}}"#,
            r#"{"metadata":{"namespace":"b","name":"a","namespace":"c"}}"#,
            r#"{"metadata":{"name":"a","uid":"1","namespace":"b","uid":"2"}}"#,
            r#"{"metadata":{"resourceVersion":"1","name":"a","resourceVersion":"2","namespace":"b"}}"#,
        ] {
            let expected = "object b/a cannot be decoded at metadata: duplicate fields with different values";
            assert_eq!(identity_error(&from_json(json)).as_deref(), Some(expected), "{json}");
        }
    }

    #[test]
    fn deep_nesting_is_an_error_except_in_unknown_fields() {
        let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        let with = |metadata: &str, other: &str| {
            from_json(&format!(r#"{{"metadata":{{"name":"a"{metadata}}}{other}}}"#))
        };
        // Unknown fields are skipped without recursion.
        let unknown = with(&format!(r#","unknown":{}"#, nested(50_000)), "");
        assert_eq!(identity_error(&unknown), None);
        assert!(unknown.validate_untyped().is_ok());
        let data = with("", &format!(r#","data":{}"#, nested(50_000)));
        assert!(data.decode::<ConfigMap>(ManagedFields::Drop).is_err());
        assert!(data.decode::<DynamicObject>(ManagedFields::Drop).is_err());
        assert!(data.validate_untyped().is_err());
    }

    #[test]
    fn duplicate_fields_in_protobuf_are_not_decoded() {
        let schema = Schema::of("v1", "ConfigMap").unwrap();
        let encoded = |name: &str| schema.encode(&serde_json::json!({"metadata": {"name": name}})).unwrap();
        for (first, second) in [("a", "b"), ("a", "a")] {
            let raw =
                Raw::new(Format::ProtobufItem(schema), [encoded(first), encoded(second)].concat().into());
            for managed_fields in [ManagedFields::Keep, ManagedFields::Drop] {
                let error = raw.decode::<ConfigMap>(managed_fields).unwrap_err();
                assert_eq!(error.key().unwrap().as_str(), "a");
                assert!(
                    error.source().unwrap().to_string().contains("duplicate field metadata"),
                    "{:?}",
                    error.source()
                );
            }
        }
    }
}
