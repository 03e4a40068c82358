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

/// So many objects are enough for statistics of all.
const TRAINING: usize = 64;

/// So long is what training finds in them.
const FOUND: usize = 8 << 10;

impl Book {
    /// A dictionary of objects that stand for all. It takes some tens of milliseconds. Nothing if zstd takes the objects
    /// for something else.
    ///
    /// It is the objects as they are, behind a small dictionary that is trained on some of them. Training brings statistics, which
    /// an object then need not carry: a tenth of what it packs into. To find in training all that such a dictionary has in it
    /// would take a second, and packs no better.
    pub(super) fn of(sample: &Sample, level: i32) -> Option<Self> {
        let mut content = trained(sample).unwrap_or_default();
        content.extend_from_slice(&sample.content());
        Self::new(&content, level)
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

/// What zstd's training makes of some of the objects. Nothing if they are too few, or too small.
fn trained(sample: &Sample) -> Option<Vec<u8>> {
    let objects = sample.some(TRAINING);
    let sizes: Vec<_> = objects.iter().map(|object| object.len()).collect();
    let mut found = Vec::with_capacity(FOUND);
    zstd_safe::train_from_buffer(&mut found, &objects.concat(), &sizes).ok()?;
    Some(found)
}
