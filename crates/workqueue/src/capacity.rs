//! The memory that empty collections keep.

/// The maximum number of items for which an empty collection keeps memory.
///
/// A collection with a larger capacity frees its memory when it becomes empty. The amortized cost of an item stays constant.
pub(crate) const MAX_SPARE_CAPACITY: usize = 1024;
