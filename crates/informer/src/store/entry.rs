//! One object as the store keeps it: its key, itself, and the index values under which it stands.

use super::trie::Hashed;
use kube_core::Resource;
use kube_informer_wire::Key;
use std::sync::Arc;

/// An object in a [`Snapshot`](super::Snapshot), with its key.
#[derive(Debug)]
pub struct Entry<K> {
    key: Key,
    object: Arc<K>,
    /// In order, and each once.
    tags: Box<[Tag]>,
}

/// "This object stands under `value` in the index number `index`."
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tag {
    pub(crate) index: usize,
    pub(crate) value: Arc<str>,
}

impl<K> Entry<K> {
    pub(crate) fn new(key: Key, object: Arc<K>, tags: Vec<Tag>) -> Self {
        Self { key, object, tags: tags.into_boxed_slice() }
    }

    /// The object's key.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The object.
    #[must_use]
    pub fn object(&self) -> Arc<K> {
        Arc::clone(&self.object)
    }

    pub(crate) fn peek(&self) -> &K {
        &self.object
    }

    pub(crate) fn tags(&self) -> &[Tag] {
        &self.tags
    }
}

impl<K: Resource> Entry<K> {
    /// Whether `other` is this very state of this very object, by uid and version.
    pub(crate) fn is_unchanged(&self, other: &K) -> bool {
        is_same_state(&*self.object, other)
    }
}

/// Whether both are the same state of the same object, by uid and version. Without a version nothing is known.
pub(crate) fn is_same_state<K: Resource>(one: &K, other: &K) -> bool {
    let (one, other) = (one.meta(), other.meta());
    let has_version = one.resource_version.as_deref().is_some_and(|version| !matches!(version, "" | "0"));
    has_version && one.resource_version == other.resource_version && one.uid == other.uid
}

impl<K> Hashed for Arc<Entry<K>> {
    fn digest(&self) -> u64 {
        self.key.digest()
    }

    fn is_same(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Hashed for Key {
    fn digest(&self) -> u64 {
        Key::digest(self)
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}
