//! One object as the store keeps it: its key, itself, and the index values under which it stands.

use super::trie::Hashed;
use crate::{object::Object, object::stored::Kept, tags::Tag};
use kube_core::Resource;
use kube_informer_wire::{Identity, Key, ResourceVersion};
use std::sync::Arc;

/// An object in a [`Snapshot`](super::Snapshot), with its key.
#[derive(Debug)]
pub struct Entry<K> {
    key: Key,
    object: Kept<K>,
    /// In order, and each once; the labels, where they are kept, come last.
    tags: Box<[Tag]>,
}

impl<K> Entry<K> {
    pub(crate) fn new(key: Key, object: Kept<K>, tags: Vec<Tag>) -> Self {
        Self { key, object, tags: tags.into_boxed_slice() }
    }

    /// The same object, under more index values, of newer indexes.
    pub(crate) fn tagged(&self, more: Vec<Tag>) -> Self {
        let tags = self.tags().iter().cloned().chain(more).chain(self.labels().cloned());
        Self::new(self.key.clone(), self.object.clone(), tags.collect())
    }

    /// The same object, kept as this.
    pub(crate) fn kept_as(&self, object: Kept<K>) -> Self {
        Self { key: self.key.clone(), object, tags: self.tags.clone() }
    }

    /// The object's key.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The object. Where objects are kept [compact](crate::Keep), it is decoded for this call, and so can be dropped before
    /// the next one is looked at.
    #[must_use]
    pub fn object(&self) -> Arc<K> {
        self.object.object()
    }

    /// The object, which is likely to be asked for again.
    pub(crate) fn object_again(&self) -> Arc<K> {
        self.object.object_again(&self.key)
    }

    /// The object, to be handed on.
    pub(crate) fn shared(&self) -> Object<K> {
        self.object.share(&self.key)
    }

    pub(crate) fn kept(&self) -> &Kept<K> {
        &self.object
    }

    /// The index values under which it stands.
    pub(crate) fn tags(&self) -> &[Tag] {
        &self.tags[..self.tags.len() - usize::from(self.labels().is_some())]
    }

    /// Its labels, where they are kept.
    pub(crate) fn labels(&self) -> Option<&Tag> {
        self.tags.last().filter(|tag| tag.index == Tag::LABELS)
    }
}

impl<K: Resource> Entry<K> {
    /// The version of the object, where it has one. Nothing is decoded for it.
    #[must_use]
    pub fn version(&self) -> Option<ResourceVersion> {
        self.object.version()
    }

    /// Whether `other` is this very state of this very object, by uid and version.
    pub(crate) fn is_unchanged(&self, other: &Object<K>) -> bool {
        self.object.is_same_state(other)
    }

    /// Whether this is the state that is meant.
    pub(crate) fn is_state(&self, identity: &Identity<'_>) -> bool {
        self.object.is_state(identity)
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
