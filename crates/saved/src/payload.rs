//! The stored bytes of one object.

use bytes::Bytes;
use kube_informer_wire::Format;

/// The bytes of one object and how to decode them.
///
/// Restored payloads share a buffer of about 1 MiB with their neighbors in the file.
///
/// ```
/// use kube_informer_saved::{Encoding, Layout, Payload};
///
/// // Compressed by the caller with a dictionary that is saved as attachment 16, for example.
/// let payload = Payload::new(Layout::Json, Encoding(16), "...".into());
/// assert_eq!(payload.encoding(), Encoding(16));
/// ```
#[derive(Clone, Debug)]
pub struct Payload {
    layout: Layout,
    encoding: Encoding,
    bytes: Bytes,
}

/// The wire format of an object: a [`Format`] without the schema, which is the same for all objects of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// JSON.
    Json,
    /// The layout of [`Format::Protobuf`].
    Protobuf,
    /// The layout of [`Format::ProtobufItem`].
    ProtobufItem,
}

/// An application-defined encoding of the payload bytes, such as the compression and its dictionary.
///
/// The number is stored and returned unchanged. Zero means that the bytes are not encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Encoding(pub u32);

/// The maximum size of a payload or attachment: about fifty times the object size limit of the API server.
pub(crate) const MAX_PAYLOAD: usize = 64 << 20;

impl From<Format> for Layout {
    fn from(format: Format) -> Self {
        match format {
            Format::Json => Self::Json,
            Format::Protobuf(_) => Self::Protobuf,
            Format::ProtobufItem(_) => Self::ProtobufItem,
        }
    }
}

impl Encoding {
    /// The bytes are not encoded.
    pub const PLAIN: Self = Self(0);
}

impl Payload {
    /// Creates a payload. The bytes are stored unchanged.
    #[must_use]
    pub fn new(layout: Layout, encoding: Encoding, bytes: Bytes) -> Self {
        Self { layout, encoding, bytes }
    }

    /// Returns the wire format of the decoded bytes.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Returns how the caller encoded the bytes.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Returns the bytes as they were saved.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Returns the number of bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.bytes.len()
    }
}
