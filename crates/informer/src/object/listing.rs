//! The result of a full list: every object of a resource at one version.

use super::{
    encoded::EncodedObject,
    stored::{Object, StoredObject},
};
use kube_core::Resource;
use kube_informer_wire::{Key, KeyError, ResourceVersion};
use std::{fmt, sync::Arc};

/// The result of a full list, with which a cache is replaced.
#[derive(Debug)]
pub struct Listing<K> {
    /// The objects with their keys, in the order of the list.
    pub objects: Vec<(Key, ListedObject<K>)>,
    /// Objects in the list that could not be decoded or transformed. They exist, so a cache does not delete them.
    pub skipped: Vec<Key>,
    /// The version of the list; `None` if the source has none.
    pub version: Option<ResourceVersion>,
}

/// An object of a [`Listing`]: a new one, or a pointer to the one that the cache has already.
pub struct ListedObject<K>(ListedForm<K>);

enum ListedForm<K> {
    New(Object<K>),
    /// The cache stores it encoded, in the same version.
    Known(EncodedObject<K>),
}

impl<K> Listing<K> {
    /// Creates an empty list of this version.
    #[must_use]
    pub fn empty(version: Option<ResourceVersion>) -> Self {
        Self { objects: Vec::new(), skipped: Vec::new(), version }
    }
}

impl<K: Resource> Listing<K> {
    /// Creates a list of these objects at this version.
    ///
    /// # Errors
    /// [`KeyError`] of the first object that has no name.
    pub fn new<I>(objects: I, version: Option<ResourceVersion>) -> Result<Self, KeyError>
    where
        I: IntoIterator<Item = Arc<K>>,
    {
        let with_key = |object: Arc<K>| Key::of(&*object).map(|key| (key, Object::from(object).into()));
        let objects = objects.into_iter().map(with_key).collect::<Result<_, _>>()?;
        Ok(Self { objects, skipped: Vec::new(), version })
    }
}

impl<K> ListedObject<K> {
    /// Refers to an object that a cache stores.
    pub(crate) fn known(stored: &StoredObject<K>) -> Self {
        Self(match stored {
            StoredObject::Encoded(encoded) => ListedForm::Known(encoded.clone()),
            StoredObject::Decoded(..) | StoredObject::Both(_) => ListedForm::New(stored.share()),
        })
    }

    /// Returns the object.
    #[must_use]
    pub fn object(&self) -> Object<K> {
        match &self.0 {
            ListedForm::New(object) => object.clone(),
            ListedForm::Known(encoded) => Object::encoded(encoded.clone(), None, None),
        }
    }

    pub(crate) fn into_object(self) -> Object<K> {
        match self.0 {
            ListedForm::New(object) => object,
            ListedForm::Known(encoded) => Object::encoded(encoded, None, None),
        }
    }

    /// Returns whether `stored` is this object, so that the cache does not change.
    pub(crate) fn is(&self, stored: &StoredObject<K>) -> bool {
        match &self.0 {
            ListedForm::New(object) => stored.is(object),
            ListedForm::Known(encoded) => {
                matches!(stored, StoredObject::Encoded(known) if known.ptr_eq(encoded))
            }
        }
    }

    /// Calls `read` with the object, without leaving it decoded.
    pub(crate) fn with<R>(&self, read: impl FnOnce(&K) -> R) -> R {
        match &self.0 {
            ListedForm::New(object) => object.with(read),
            ListedForm::Known(encoded) => read(&encoded.decode()),
        }
    }

    /// Returns the encoded object, if a dictionary would make it smaller.
    pub(crate) fn shrinkable(&self) -> Option<&EncodedObject<K>> {
        let encoded = match &self.0 {
            ListedForm::New(object) => object.as_encoded(),
            ListedForm::Known(encoded) => Some(encoded),
        };
        encoded.filter(|encoded| encoded.can_shrink())
    }

    /// Replaces the encoded form by a smaller one.
    pub(crate) fn set_encoded(&mut self, smaller: EncodedObject<K>) {
        match &mut self.0 {
            ListedForm::New(object) => object.set_encoded(smaller),
            ListedForm::Known(encoded) => *encoded = smaller,
        }
    }
}

impl<K> From<Object<K>> for ListedObject<K> {
    fn from(object: Object<K>) -> Self {
        Self(ListedForm::New(object))
    }
}

impl<K> From<Arc<K>> for ListedObject<K> {
    fn from(object: Arc<K>) -> Self {
        Self(ListedForm::New(object.into()))
    }
}

/// Prints no objects, because they may contain secrets.
impl<K> fmt::Debug for ListedObject<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ListedObject")
    }
}
