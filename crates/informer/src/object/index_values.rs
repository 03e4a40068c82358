//! The index values of an object, and its cached labels.

use kube_informer_wire::Raw;
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

/// The forms of an object from which its index values are computed.
pub(crate) struct IndexInput<'o, K> {
    /// The object, for index functions and cached labels. `None` if there are no index functions.
    pub(crate) object: Option<&'o K>,
    /// The bytes of an object that is stored encoded, for index paths. Otherwise paths are read from the object.
    pub(crate) raw: Option<&'o Raw>,
}

/// The forms of an encoded object that a store needs to compute index values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexNeeds {
    pub(crate) object: bool,
    pub(crate) bytes: bool,
}

impl IndexValues {
    /// A number of indexes that no store has, so that the values are computed again.
    pub(crate) const OUTDATED: usize = 0;
}
