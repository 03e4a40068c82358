//! The choice between uncompressed and zstd-compressed blocks.

#[cfg(feature = "compressed")]
use super::{
    dictionary::Dictionary,
    zstd::{self, ZstdCompressor},
};
#[cfg(feature = "compressed")]
use std::sync::Arc;

/// The compression of the blocks of one cache.
pub(super) enum Compressor {
    /// Blocks hold one object each, uncompressed.
    None,
    #[cfg(feature = "compressed")]
    Zstd(ZstdCompressor),
}

/// The compression of one block.
#[derive(Clone, PartialEq)]
pub(super) enum Compression {
    None,
    #[cfg(feature = "compressed")]
    Zstd {
        dictionary: Option<Arc<Dictionary>>,
    },
}

impl Compressor {
    /// Compresses the concatenation of `objects` and passes the result to `take`.
    pub(super) fn compress<R>(&self, objects: &[&[u8]], take: impl FnOnce(&[u8], Compression) -> R) -> R {
        match self {
            Self::None => match objects {
                [object] => take(object, Compression::None),
                objects => take(&objects.concat(), Compression::None),
            },
            #[cfg(feature = "compressed")]
            Self::Zstd(compressor) => compressor.compress(objects, |compressed, dictionary| {
                take(compressed, Compression::Zstd { dictionary: dictionary.cloned() })
            }),
        }
    }

    /// Creates the dictionary now if there are enough objects, since no more are expected. Returns whether there is one.
    pub(super) fn list_completed(&self) -> bool {
        match self {
            Self::None => false,
            #[cfg(feature = "compressed")]
            Self::Zstd(compressor) => compressor.list_completed(),
        }
    }

    #[cfg(feature = "saved")]
    pub(super) fn is_zstd(&self) -> bool {
        matches!(self, Self::Zstd(_))
    }

    /// Loads a saved dictionary, and compresses with it unless there is one already. `None` if it is invalid.
    #[cfg(feature = "saved")]
    pub(super) fn load_dictionary(&self, content: &[u8]) -> Option<Arc<Dictionary>> {
        match self {
            Self::None => Dictionary::new(content),
            Self::Zstd(compressor) => compressor.load_dictionary(content),
        }
    }
}

impl Compression {
    /// Returns the `length` bytes that were compressed into `block`. `None` if it is invalid.
    pub(super) fn decompress(&self, block: &[u8], length: usize) -> Option<Vec<u8>> {
        match self {
            Self::None => Some(block.to_vec()).filter(|bytes| bytes.len() == length),
            #[cfg(feature = "compressed")]
            Self::Zstd { dictionary } => zstd::decompress(block, dictionary.as_deref(), length),
        }
    }

    /// Returns whether it was compressed without a dictionary.
    pub(super) fn lacks_dictionary(&self) -> bool {
        match self {
            Self::None => false,
            #[cfg(feature = "compressed")]
            Self::Zstd { dictionary } => dictionary.is_none(),
        }
    }
}

#[cfg(feature = "saved")]
impl Compression {
    pub(super) fn is_zstd(&self) -> bool {
        matches!(self, Self::Zstd { .. })
    }

    pub(super) fn dictionary(&self) -> Option<&Arc<Dictionary>> {
        match self {
            Self::None => None,
            Self::Zstd { dictionary } => dictionary.as_ref(),
        }
    }

    /// Returns the length of the bytes that were compressed into `block`. `None` if it is invalid.
    pub(super) fn decompressed_length(&self, block: &[u8]) -> Option<u64> {
        match self {
            Self::None => Some(block.len() as u64),
            Self::Zstd { .. } => zstd::decompressed_length(block),
        }
    }
}
