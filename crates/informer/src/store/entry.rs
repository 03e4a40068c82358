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
    tags: Box<[Tag]>,
}

/// "This object stands under `value` in the index number `index`."
#[derive(Clone, Debug, PartialEq, Eq)]
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
        let (one, two) = (self.object.meta(), other.meta());
        one.resource_version.is_some() && one.resource_version == two.resource_version && one.uid == two.uid
    }
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
