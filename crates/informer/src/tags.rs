//! The index values under which an object stands.

#[cfg(feature = "compact")]
use kube_informer_wire::Key;
use std::sync::Arc;

/// "This object stands under `value` in the index number `index`."
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tag {
    pub(crate) index: usize,
    pub(crate) value: Arc<str>,
}

/// All tags of an object that so many indexes give it.
#[cfg_attr(not(feature = "compact"), expect(dead_code, reason = "objects that are whole are looked at"))]
pub(crate) struct Tags {
    pub(crate) indexes: usize,
    pub(crate) tags: Vec<Tag>,
}

/// Works out the tags of an object, if there are indexes that look at objects.
#[cfg(feature = "compact")]
pub(crate) struct Tagger<K> {
    /// Says whether there are.
    pub(crate) looks: Box<dyn Fn() -> bool + Send + Sync>,
    pub(crate) tags: Box<Work<K>>,
}

#[cfg(feature = "compact")]
type Work<K> = dyn Fn(&Key, &K) -> Tags + Send + Sync;
