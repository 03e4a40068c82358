//! The bytes of one object as they are kept: plain, packed here, or in an encoding of whoever saves them.

use crate::packing::{self, Dictionary};
use bytes::Bytes;
use kube_informer_wire::{Format, Raw, Schema};
use std::sync::Arc;

/// The bytes of one object, and what is to be known to read them.
///
/// What was given as plain bytes may be kept packed, and is expanded by [`Payload::bytes`]. What came out of a file shares
/// a buffer with about a mebibyte of what was written beside it; see [`Payload::detach`].
///
/// ```
/// use kube_informer_saved::{Encoding, Layout, Payload};
///
/// let plain = Payload::plain(Layout::Json, "{}".into());
/// assert_eq!(&plain.bytes()?[..], b"{}");
/// // Compressed by the caller, against a dictionary that is saved as attachment 1, say.
/// let own = Payload::encoded(Layout::Json, Encoding(1), "?".into());
/// assert_eq!(own.encoding(), Encoding(1));
/// # Ok::<(), kube_informer_saved::PayloadError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Payload {
    layout: Layout,
    encoding: Encoding,
    stored: Stored,
}

/// How the bytes of an object are to be read; a [`Format`] without the kind, which is the same for all of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// As JSON.
    Json,
    /// As [`Format::Protobuf`].
    Protobuf,
    /// As [`Format::ProtobufItem`].
    ProtobufItem,
}

/// What whoever saves has done to the bytes; the number means nothing here, and zero means nothing was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Encoding(pub u32);

/// How the bytes lie in memory and in the file.
#[derive(Clone, Debug)]
pub(crate) enum Stored {
    /// As they were given.
    AsGiven(Bytes),
    /// Packed here.
    Packed {
        /// The packed bytes.
        bytes: Bytes,
        /// How many bytes they expand to.
        length: usize,
        /// What they were packed with.
        dictionary: Option<Arc<Dictionary>>,
    },
}

/// The most bytes of a payload; fifty times what the API server stores.
pub(crate) const MAX_PAYLOAD: usize = 64 << 20;

/// Why the bytes of a payload cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// They do not expand to what they were.
    #[error("the payload is damaged")]
    Damaged,
    /// They are in an encoding of whoever saved them, and not in a format of the API.
    #[error("the payload is in encoding {0}")]
    Encoded(u32),
    /// They are protobuf, and it was not said of which kind.
    #[error("the payload is protobuf of a kind that is not known")]
    NoSchema,
}

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
    /// The bytes are as the layout says.
    pub const PLAIN: Self = Self(0);
}

impl From<&Raw> for Payload {
    fn from(raw: &Raw) -> Self {
        Self::plain(raw.format().into(), raw.bytes().clone())
    }
}

impl Payload {
    /// Bytes as the layout says, which may be packed.
    #[must_use]
    pub fn plain(layout: Layout, bytes: Bytes) -> Self {
        Self { layout, encoding: Encoding::PLAIN, stored: Stored::AsGiven(bytes) }
    }

    /// Bytes in an encoding of the caller's, which are kept as they are.
    #[must_use]
    pub fn encoded(layout: Layout, encoding: Encoding, bytes: Bytes) -> Self {
        Self { layout, encoding, stored: Stored::AsGiven(bytes) }
    }

    pub(crate) fn stored(layout: Layout, encoding: Encoding, stored: Stored) -> Self {
        Self { layout, encoding, stored }
    }

    /// How the bytes are to be read, once they are decoded.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// What was done to the bytes by whoever saved them.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// The bytes as they were given; expands them if they are packed, which takes some microseconds.
    ///
    /// # Errors
    /// [`PayloadError::Damaged`] if they do not expand to what they were.
    pub fn bytes(&self) -> Result<Bytes, PayloadError> {
        match &self.stored {
            Stored::AsGiven(bytes) => Ok(bytes.clone()),
            Stored::Packed { bytes, length, dictionary } => {
                let plain = packing::expand(bytes, *length, dictionary.as_deref());
                plain.map(Bytes::from).ok_or(PayloadError::Damaged)
            }
        }
    }

    /// The object as it came; `schema` says of which kind it is where it is protobuf.
    ///
    /// # Errors
    /// [`PayloadError`] if the bytes are damaged, encoded, or protobuf without a schema.
    pub fn to_raw(&self, schema: Option<Schema>) -> Result<Raw, PayloadError> {
        if self.encoding != Encoding::PLAIN {
            return Err(PayloadError::Encoded(self.encoding.0));
        }
        let format = match self.layout {
            Layout::Json => Format::Json,
            Layout::Protobuf => Format::Protobuf(schema.ok_or(PayloadError::NoSchema)?),
            Layout::ProtobufItem => Format::ProtobufItem(schema.ok_or(PayloadError::NoSchema)?),
        };
        Ok(Raw::new(format, self.bytes()?))
    }

    /// Gives the payload bytes of its own, for one that is to stay when those beside it are gone.
    #[must_use]
    pub fn detach(mut self) -> Self {
        let (Stored::AsGiven(bytes) | Stored::Packed { bytes, .. }) = &mut self.stored;
        *bytes = Bytes::copy_from_slice(bytes);
        self
    }

    /// How many bytes it holds.
    #[must_use]
    pub fn size(&self) -> usize {
        let (Stored::AsGiven(bytes) | Stored::Packed { bytes, .. }) = &self.stored;
        bytes.len()
    }

    pub(crate) fn as_stored(&self) -> &Stored {
        &self.stored
    }
}
