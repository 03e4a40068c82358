//! The bytes of one object, and how they are to be read.

use super::{identity::Identity, json};
use crate::protobuf::{self, Envelope, ProtobufError, Reader, Schema};
use bytes::Bytes;
use serde_json::value::RawValue;

/// One object as it came over the wire.
///
/// It can tell which object it is without being decoded, so that one that is known already need not be, and can be kept
/// as it is and decoded when somebody asks for it.
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

/// How the bytes of an object are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// As JSON.
    Json,
    /// As protobuf of an object that says of which kind it is, as those do that come alone or in a watch.
    Protobuf(Schema),
    /// As protobuf of an object that does not say of which kind it is, as those do that come in a list.
    ProtobufItem(Schema),
}

/// What becomes of `metadata.managedFields`, which is about half of what a server sends, and which few ever read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ManagedFields {
    /// They are decoded.
    #[default]
    Keep,
    /// They are passed over, as if the object had none.
    Drop,
}

/// Opens the body of an answer in protobuf that is one object, or one whole list.
///
/// # Errors
/// [`ProtobufError`] if the body is not in protobuf, or of a kind that has no [`Schema`].
pub fn open_protobuf(body: &Bytes) -> Result<Raw, ProtobufError> {
    let envelope = Envelope::open(Reader::new(body))?;
    let schema = envelope.types.schema()?;
    Ok(Raw::new(Format::Protobuf(schema), body.slice_ref(envelope.object.rest())))
}

impl Raw {
    /// An object of these bytes: one JSON text, or one protobuf message without an envelope.
    #[must_use]
    pub fn new(format: Format, bytes: Bytes) -> Self {
        Self { format, bytes }
    }

    /// How the bytes are to be read.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The bytes, which may be a slice of a larger piece; copy those that are to stay.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        self.bytes
    }

    /// Which object it is; nothing if that takes decoding it, which then tells what is wrong with it.
    #[must_use]
    pub fn identity(&self) -> Option<Identity<'_>> {
        match self.format {
            Format::Json => Identity::of_json(&self.bytes),
            Format::Protobuf(_) | Format::ProtobufItem(_) => Identity::of_protobuf(&self.bytes),
        }
    }

    /// The object without what stands behind it, as may be in a frame of a watch that has more in it; nothing if nothing does.
    #[must_use]
    pub fn alone(&self) -> Option<Self> {
        let Format::Json = self.format else { return None };
        let mut values = serde_json::Deserializer::from_slice(&self.bytes).into_iter::<&RawValue>();
        let first = values.next()?.ok()?.get().as_bytes();
        (first.len() < self.bytes.trim_ascii().len())
            .then(|| Self::new(self.format, self.bytes.slice_ref(first)))
    }

    /// The object without its managed fields, in bytes of its own; as it is if it has none, or cannot be read.
    #[must_use]
    pub fn without_managed_fields(&self) -> Self {
        let stripped = match self.format {
            Format::Json => json::without_managed_fields(&self.bytes),
            Format::Protobuf(_) | Format::ProtobufItem(_) => {
                protobuf::without_managed_fields(&self.bytes).ok().flatten()
            }
        };
        // Without the room that was made for what is gone: these bytes may stay for long.
        let own = |bytes: Vec<u8>| Self::new(self.format, bytes.into_boxed_slice().into());
        stripped.map_or_else(|| self.clone(), own)
    }
}
