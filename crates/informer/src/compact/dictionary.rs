//! What many objects have in common.

use zstd_safe::{CDict, DDict};

/// A dictionary as it takes to read what was packed with it. Every such object holds it.
pub(super) struct Dictionary {
    pub(super) expand: DDict<'static>,
}

/// A dictionary as it takes to pack.
pub(super) type Packing = CDict<'static>;

/// How hard to try. Less makes packed objects a tenth larger, and more takes longer for nothing.
pub(super) const LEVEL: i32 = 6;

/// Makes a dictionary of objects that stand for all.
///
/// The objects as they are, and not what zstd's training finds in many of them: it packs no better, and takes a second. Nothing
/// if zstd takes them for something else.
pub(super) fn made_of(objects: &[u8]) -> Option<(Dictionary, Packing)> {
    let expand = DDict::try_create(objects)?;
    Some((Dictionary { expand }, CDict::try_create(objects, LEVEL)?))
}
