//! Everything there is of a resource at one version, as a list or a streamed list found it.

use crate::object::encoded::EncodedObject;
use crate::{object::Object, object::stored::Kept};
use kube_core::Resource;
use kube_informer_wire::{Key, KeyError, ResourceVersion};
use std::{fmt, sync::Arc};

/// The outcome of a whole list: what a cache is replaced with.
#[derive(Debug)]
pub struct Listing<K> {
    /// The objects with their keys, in the order of the list.
    pub objects: Vec<(Key, Shown<K>)>,
    /// Objects that the list names but that could not be read. They exist, so whatever is known of them is kept.
    pub unreadable: Vec<Key>,
    /// The version of the list; nothing where the source has none.
    pub version: Option<ResourceVersion>,
}

/// An object that a list shows. Of one that a cache keeps [compact](crate::Keep), in the very same state, it is no more than a pointer to that.
pub struct Shown<K>(Form<K>);

enum Form<K> {
    Object(Object<K>),
    /// What a cache keeps.
    Packed(EncodedObject<K>),
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

impl<K> Shown<K> {
    /// What a cache keeps under `key`.
    pub(crate) fn known(key: &Key, kept: &Kept<K>) -> Self {
        Self(match kept {
            Kept::Packed(packed) => Form::Packed(packed.clone()),
            kept => Form::Object(kept.share(key)),
        })
    }

    /// The object, which is listed under `key`.
    #[must_use]
    pub fn object(&self, key: &Key) -> Object<K> {
        match &self.0 {
            Form::Object(object) => object.clone(),
            Form::Packed(packed) => Object::packed(key.clone(), packed.clone(), None, None),
        }
    }

    /// The object, which is listed under `key`.
    pub(crate) fn into_object(self, key: &Key) -> Object<K> {
        match self.0 {
            Form::Object(object) => object,
            Form::Packed(_) => self.object(key),
        }
    }

    /// Whether a cache keeps the very same as this, so that nothing changes.
    pub(crate) fn is(&self, kept: &Kept<K>) -> bool {
        match &self.0 {
            Form::Object(object) => kept.is(object),
            Form::Packed(packed) => matches!(kept, Kept::Packed(kept) if kept.ptr_eq(packed)),
        }
    }

    /// Looks at the object without leaving it decoded.
    pub(crate) fn with<R>(&self, look: impl FnOnce(&K) -> R) -> R {
        match &self.0 {
            Form::Object(object) => object.with(look),
            Form::Packed(packed) => look(&packed.decode()),
        }
    }
}

impl<K> Shown<K> {
    /// It as it is packed, if it could be smaller for want of a dictionary.
    pub(crate) fn loose(&self) -> Option<&EncodedObject<K>> {
        match &self.0 {
            Form::Object(object) => object.loose(),
            Form::Packed(packed) => Some(packed).filter(|packed| packed.can_shrink()),
        }
    }

    /// Shows it as this, where it is packed at all.
    pub(crate) fn pack_as(&mut self, smaller: EncodedObject<K>) {
        match &mut self.0 {
            Form::Object(object) => object.pack_as(smaller),
            Form::Packed(packed) => *packed = smaller,
        }
    }
}

impl<K> From<Object<K>> for Shown<K> {
    fn from(object: Object<K>) -> Self {
        Self(Form::Object(object))
    }
}

impl<K> From<Arc<K>> for Shown<K> {
    fn from(object: Arc<K>) -> Self {
        Self(Form::Object(object.into()))
    }
}

/// Says what it is, not what is in it: objects may hold secrets.
impl<K> fmt::Debug for Shown<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shown")
    }
}
