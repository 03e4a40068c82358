//! The index values under which an object stands, and its labels.

use crate::source::Labels;
use kube_informer_wire::Key;
use std::sync::Arc;

/// "This object stands under `value` in the index number `index`", or the labels that are kept of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tag {
    pub(crate) index: usize,
    pub(crate) value: Arc<str>,
}

impl Tag {
    /// The number under which labels are kept, behind all indexes.
    pub(crate) const LABELS: usize = usize::MAX;
}

/// All tags of an object that so many indexes give it, and its labels where those are kept.
pub(crate) struct Tags {
    pub(crate) indexes: usize,
    pub(crate) tags: Vec<Tag>,
}

impl Tags {
    /// As many indexes as no store has: the tags are worked out anew.
    pub(crate) const OF_NONE: usize = 0;
}

/// Works out the tags of an object, if there are indexes that look at objects, or labels are kept.
pub(crate) struct Tagger<K> {
    /// Says whether there are such indexes.
    pub(crate) looks: Box<dyn Fn() -> bool + Send + Sync>,
    pub(crate) tags: Box<Work<K>>,
    /// Finds the tags where there are no such indexes, if labels are kept.
    pub(crate) labels: Option<Box<OfLabels>>,
}

pub(crate) type OfLabels = dyn Fn(Labels<'_>) -> Tags + Send + Sync;

type Work<K> = dyn Fn(&Key, &K) -> Tags + Send + Sync;
