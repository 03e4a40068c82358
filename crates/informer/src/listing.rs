//! Everything there is of a resource at one version, as a list or a streamed list found it.

use crate::object::Object;
use kube_core::Resource;
use kube_informer_wire::{Key, KeyError, ResourceVersion};
use std::sync::Arc;

/// The outcome of a whole list: what a cache is replaced with.
#[derive(Debug)]
pub struct Listing<K> {
    /// The objects with their keys, in the order of the list.
    pub objects: Vec<(Key, Object<K>)>,
    /// Objects that the list names but that could not be read. They exist, so whatever is known of them is kept.
    pub unreadable: Vec<Key>,
    /// The version of the list; nothing where the source has none.
    pub version: Option<ResourceVersion>,
}

impl<K> Listing<K> {
    /// An empty list at this version.
    #[must_use]
    pub fn empty(version: Option<ResourceVersion>) -> Self {
        Self { objects: Vec::new(), unreadable: Vec::new(), version }
    }
}

impl<K: Resource> Listing<K> {
    /// A list of these objects at this version.
    ///
    /// # Errors
    /// [`KeyError`] of the first object that has no key.
    pub fn new<I>(objects: I, version: Option<ResourceVersion>) -> Result<Self, KeyError>
    where
        I: IntoIterator<Item = Arc<K>>,
    {
        let with_key = |object: Arc<K>| Key::of(&*object).map(|key| (key, object.into()));
        let objects = objects.into_iter().map(with_key).collect::<Result<_, _>>()?;
        Ok(Self { objects, unreadable: Vec::new(), version })
    }
}
