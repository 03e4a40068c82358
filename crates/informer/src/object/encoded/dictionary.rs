//! What many objects have in common.

use super::sample::Sample;
use std::sync::Arc;
use zstd_safe::{CDict, DDict};

/// A dictionary as it takes to read what was packed with it. Every such object holds it.
pub(crate) struct Dictionary {
    pub(super) expand: DDict<'static>,
    /// What it is made of, to be saved.
    #[cfg(feature = "saved")]
    pub(crate) content: bytes::Bytes,
}

/// A dictionary as it takes to pack. What reads it is held by the objects, and this by nobody but the packer.
#[derive(Clone)]
pub(super) struct Book {
    pub(super) dictionary: Arc<Dictionary>,
    pub(super) packing: Arc<CDict<'static>>,
}

/// How hard to try where memory counts. Six makes pods smaller by a tenth, at four times the work.
pub(super) const SMALL: i32 = 3;

/// How hard to try where objects are decoded all the same, and their bytes are beside them to be saved: a fifth larger, at a
/// quarter of the work.
#[cfg(feature = "saved")]
pub(super) const QUICK: i32 = 1;

impl Book {
    /// A dictionary of objects that stand for all: the objects as they are. Nothing if zstd takes them for something else.
    ///
    /// Training, as zstd has it, would bring statistics that an object need not carry: a tenth of what it packs into. It takes a third as
    /// long as to sync 10,000 pods, and ten megabytes for a moment, of which an allocator keeps some: more than a tenth of 100,000.
    pub(super) fn of(sample: &Sample, level: i32) -> Option<Self> {
        Self::new(&sample.content(), level)
    }

    pub(super) fn new(content: &[u8], level: i32) -> Option<Self> {
        let dictionary = Arc::new(Dictionary {
            expand: DDict::try_create(content)?,
            #[cfg(feature = "saved")]
            content: bytes::Bytes::copy_from_slice(content),
        });
        Some(Self { dictionary, packing: Arc::new(CDict::try_create(content, level)?) })
    }
}
