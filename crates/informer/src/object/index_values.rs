//! The index values of an object, and its cached labels.

use std::sync::Arc;

/// A value of an object in one index, or its cached labels.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct IndexValue {
    /// The position of the index in its store.
    pub(crate) index: usize,
    pub(crate) value: Arc<str>,
}

impl IndexValue {
    /// The `index` of cached labels, which is greater than any position.
    pub(crate) const LABELS: usize = usize::MAX;
}

/// All values of an object, in order, and its labels if these are cached.
pub(crate) struct IndexValues {
    /// The number of indexes for which the values were computed. If the store has another number, they are computed again.
    pub(crate) indexes: usize,
    pub(crate) values: Vec<IndexValue>,
}

impl IndexValues {
    /// A number of indexes that no store has, so that the values are computed again.
    pub(crate) const OUTDATED: usize = 0;
}
