//! One object in a store: its key, its stored form, and its index values.

use super::trie::Hashed;
use crate::{
    event::Event,
    object::{IndexValue, Object, StoredObject},
};
use kube_core::Resource;
use kube_informer_wire::{Identity, Key, ResourceVersion};
use std::sync::Arc;

/// An object in a [`Snapshot`](super::Snapshot), with its key.
#[derive(Debug)]
pub struct Entry<K> {
    key: Key,
    object: StoredObject<K>,
    /// The index values, sorted and without duplicates, followed by the cached labels.
    values: Box<[IndexValue]>,
}

impl<K> Entry<K> {
    pub(crate) fn new(key: Key, object: StoredObject<K>, values: Vec<IndexValue>) -> Self {
        Self { key, object, values: values.into_boxed_slice() }
    }

    /// Returns the same object with the values of a new index.
    pub(crate) fn with_more_values(&self, more: Vec<IndexValue>) -> Self {
        let values = self.index_values().iter().cloned().chain(more).chain(self.labels().cloned());
        Self::new(self.key.clone(), self.object.clone(), values.collect())
    }

    /// Returns the same object in another stored form.
    pub(crate) fn with_stored(&self, object: StoredObject<K>) -> Self {
        Self { key: self.key.clone(), object, values: self.values.clone() }
    }

    /// Returns the key of the object.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// Returns the object. If it is stored [encoded](crate::Storage), it is decoded for this call.
    #[must_use]
    pub fn object(&self) -> Arc<K> {
        self.object.object()
    }

    /// Returns the object, from the cache of recently decoded objects if possible.
    pub(crate) fn object_cached(&self) -> Arc<K> {
        self.object.object_cached(&self.key)
    }

    /// Returns the object as subscribers receive it.
    pub(crate) fn shared(&self) -> Object<K> {
        self.object.share()
    }

    /// Returns the event that delivers the object again.
    pub(crate) fn resynced(&self) -> Event<K> {
        Event::resynced(self.key().clone(), self.shared())
    }

    pub(crate) fn stored(&self) -> &StoredObject<K> {
        &self.object
    }

    /// Returns the values of the object in all indexes.
    pub(crate) fn index_values(&self) -> &[IndexValue] {
        &self.values[..self.values.len() - usize::from(self.labels().is_some())]
    }

    /// Returns the cached labels.
    pub(crate) fn labels(&self) -> Option<&IndexValue> {
        self.values.last().filter(|value| value.index == IndexValue::LABELS)
    }
}

impl<K: Resource> Entry<K> {
    /// Returns the resource version of the object, without decoding it.
    #[must_use]
    pub fn version(&self) -> Option<ResourceVersion> {
        self.object.version()
    }

    /// Returns whether `other` has the same uid, version and content.
    pub(crate) fn is_same_state(&self, other: &Object<K>) -> bool {
        self.object.is_same_state(other)
    }

    /// Returns whether the object has this uid and version.
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
