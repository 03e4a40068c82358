//! zstd dictionaries: bytes that many objects have in common.

use super::sample::Sample;
use std::{ptr, sync::Arc};
use zstd_safe::{CDict, DDict};

/// A dictionary to decompress with. Each object that was compressed with it holds a reference.
pub(crate) struct Dictionary {
    pub(super) decompress: DDict<'static>,
    /// The raw content, to be saved.
    #[cfg(feature = "saved")]
    pub(crate) content: bytes::Bytes,
}

/// A dictionary to compress with. Only the compressor holds it, so its larger tables are freed when it is replaced.
#[derive(Clone)]
pub(super) struct EncoderDictionary {
    pub(super) dictionary: Arc<Dictionary>,
    pub(super) compress: Arc<CDict<'static>>,
}

impl Dictionary {
    /// `None` if zstd rejects the content.
    pub(super) fn new(content: &[u8]) -> Option<Arc<Self>> {
        Some(Arc::new(Self {
            decompress: DDict::try_create(content)?,
            #[cfg(feature = "saved")]
            content: bytes::Bytes::copy_from_slice(content),
        }))
    }
}

/// A dictionary equals only itself.
impl PartialEq for Dictionary {
    fn eq(&self, other: &Self) -> bool {
        ptr::eq(self, other)
    }
}

impl EncoderDictionary {
    /// Creates a dictionary from the sampled objects as they are. `None` if zstd rejects the content.
    ///
    /// It is not trained: training makes objects a tenth smaller, but takes a third of the time of syncing 10,000 pods and about
    /// ten megabytes of memory.
    pub(super) fn from_sample(sample: &Sample, level: i32) -> Option<Self> {
        Self::new(&sample.dictionary_content(), level)
    }

    pub(super) fn new(content: &[u8], level: i32) -> Option<Self> {
        let compress = Arc::new(CDict::try_create(content, level)?);
        Some(Self { dictionary: Dictionary::new(content)?, compress })
    }
}
