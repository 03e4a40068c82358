//! Objects at rest: in a cache, and in the events of subscribers.

use super::{
    encoded::EncodedObject,
    index_values::{IndexInput, IndexNeeds, IndexValues},
};
use kube_core::Resource;
use kube_informer_wire::{ContentHash, Identity, Key, ResourceVersion};
use std::{
    fmt,
    sync::{Arc, OnceLock},
};

/// An object in a cache.
pub(crate) enum StoredObject<K> {
    /// With the hash of the bytes from which it was decoded, if it arrived as bytes.
    Decoded(Arc<K>, Option<ContentHash>),
    Encoded(EncodedObject<K>),
    /// Decoded after the first read, with the bytes that a saved cache needs.
    Both(Arc<LazyObject<K>>),
}

impl<K> StoredObject<K> {
    /// Returns the object. If it is stored encoded, it is decoded for this call.
    pub(crate) fn object(&self) -> Arc<K> {
        match self {
            Self::Decoded(object, _) => Arc::clone(object),
            Self::Encoded(encoded) => encoded.decode(),
            Self::Both(lazy) => Arc::clone(lazy.get()),
        }
    }

    /// Returns the object, from the cache of recently decoded objects if possible. `key` is its key.
    pub(crate) fn object_cached(&self, key: &Key) -> Arc<K> {
        match self {
            Self::Encoded(encoded) => encoded.decode_cached(key.digest()),
            Self::Decoded(..) | Self::Both(_) => self.object(),
        }
    }

    /// Returns the object as subscribers receive it.
    pub(crate) fn share(&self) -> Object<K> {
        match self {
            Self::Decoded(object, content) => Object::decoded_from(Arc::clone(object), *content),
            Self::Encoded(encoded) => Object::encoded(encoded.clone(), None, None),
            Self::Both(lazy) => Object::lazy(Arc::clone(lazy)),
        }
    }

    /// Returns whether each read decodes the object.
    pub(crate) fn is_encoded(&self) -> bool {
        matches!(self, Self::Encoded(_))
    }

    /// Returns the size of the encoded object; `None` if it is stored decoded.
    pub(crate) fn encoded_size(&self) -> Option<usize> {
        match self {
            Self::Encoded(encoded) => Some(encoded.size()),
            Self::Decoded(..) | Self::Both(_) => None,
        }
    }

    pub(crate) fn as_encoded(&self) -> Option<&EncodedObject<K>> {
        match self {
            Self::Decoded(..) => None,
            Self::Encoded(encoded) => Some(encoded),
            Self::Both(lazy) => Some(&lazy.encoded),
        }
    }

    /// Returns whether `object` would be stored as exactly this.
    pub(crate) fn is(&self, object: &Object<K>) -> bool {
        match (self, &object.0) {
            (Self::Decoded(one, _), StoredForm::Decoded(other, _)) => Arc::ptr_eq(one, other),
            (Self::Encoded(one), StoredForm::Encoded(other)) => {
                !other.encoded.keeps_decoded() && one.ptr_eq(&other.encoded)
            }
            (Self::Both(one), StoredForm::Encoded(other)) => Arc::ptr_eq(one, other),
            (Self::Decoded(..), StoredForm::Encoded(_))
            | (Self::Encoded(_) | Self::Both(_), StoredForm::Decoded(..)) => false,
        }
    }

    /// Returns whether `object`, which is the same state, is stored in fewer bytes.
    pub(crate) fn is_larger_than(&self, object: &Object<K>) -> bool {
        let can_shrink = |encoded: Option<&EncodedObject<K>>| encoded.map(EncodedObject::can_shrink);
        can_shrink(self.as_encoded()) == Some(true) && can_shrink(object.as_encoded()) == Some(false)
    }
}

impl<K> StoredObject<K> {
    /// Returns whether the content differs from that of an object with the same uid and version. A server that is upgraded may
    /// serve other defaults. `false` if one of the objects did not arrive as bytes, or their encodings differ.
    pub(crate) fn differs_from(&self, content: Option<ContentHash>) -> bool {
        let own = match self {
            Self::Decoded(_, own) => *own,
            Self::Encoded(encoded) => encoded.content(),
            Self::Both(lazy) => lazy.encoded.content(),
        };
        own.zip(content).is_some_and(|(own, content)| own.differs_from(content))
    }

    /// Returns whether `object` is the same encoded state, which may have been compressed again since.
    pub(crate) fn is_same_encoded_state(&self, object: &Object<K>) -> bool {
        let encoded = self.as_encoded().zip(object.as_encoded());
        encoded.is_some_and(|(one, other)| one.is_same_state(other)) && !self.differs_from(object.content())
    }
}

impl<K: Resource> StoredObject<K> {
    /// Returns the resource version of the object.
    pub(crate) fn version(&self) -> Option<ResourceVersion> {
        match self {
            Self::Decoded(object, _) => object.meta().resource_version.as_deref()?.parse().ok(),
            Self::Encoded(encoded) => encoded.version(),
            Self::Both(lazy) => lazy.encoded.version(),
        }
    }

    /// Returns whether the object has this uid and version.
    pub(crate) fn is_state(&self, identity: &Identity<'_>) -> bool {
        match self {
            Self::Decoded(object, _) => is_same_state(&Identity::of(&**object), identity),
            Self::Encoded(encoded) => encoded.is_state(identity),
            Self::Both(lazy) => lazy.encoded.is_state(identity),
        }
    }

    /// Returns whether `object` has the same uid, version and content.
    pub(crate) fn is_same_state(&self, object: &Object<K>) -> bool {
        // Checked first, because it does not read the stored object.
        if self.differs_from(object.content()) {
            return false;
        }
        match (self.as_encoded(), object.as_encoded()) {
            (Some(one), Some(other)) => one.is_same_state(other),
            (_, None) => self.is_state(&Identity::of(object.get())),
            (None, Some(other)) => other.is_state(&Identity::of(&*self.object())),
        }
    }
}

impl<K> Clone for StoredObject<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Decoded(object, content) => Self::Decoded(Arc::clone(object), *content),
            Self::Encoded(encoded) => Self::Encoded(encoded.clone()),
            Self::Both(lazy) => Self::Both(Arc::clone(lazy)),
        }
    }
}

impl<K> fmt::Debug for StoredObject<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoredObject")
    }
}

/// An object of an event or a delta.
///
/// [`get`](Self::get) returns it. If the cache [stores](super::Storage) bytes, the first call decodes them. Clones share the
/// decoded object.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_informer::Event;
///
/// fn node(event: &Event<Pod>) -> Option<&str> {
///     event.object().get().spec.as_ref()?.node_name.as_deref()
/// }
/// ```
pub struct Object<K>(StoredForm<K>);

enum StoredForm<K> {
    Decoded(Arc<K>, Option<ContentHash>),
    Encoded(Arc<LazyObject<K>>),
}

/// An encoded object, which is decoded by the first read.
pub(crate) struct LazyObject<K> {
    pub(super) encoded: EncodedObject<K>,
    decoded: OnceLock<Arc<K>>,
    /// Computed when the object was decoded for validation, so that it is not decoded again for indexes.
    index_values: Option<Box<IndexValues>>,
}

impl<K> LazyObject<K> {
    pub(super) fn get(&self) -> &Arc<K> {
        self.decoded.get_or_init(|| self.encoded.decode())
    }
}

impl<K> Object<K> {
    /// Returns the object.
    #[must_use]
    pub fn get(&self) -> &K {
        self.decoded()
    }

    /// Returns the object in an `Arc`.
    #[must_use]
    pub fn arc(&self) -> Arc<K> {
        Arc::clone(self.decoded())
    }

    fn decoded(&self) -> &Arc<K> {
        match &self.0 {
            StoredForm::Decoded(object, _) => object,
            StoredForm::Encoded(lazy) => lazy.get(),
        }
    }

    /// Returns whether both share the same object.
    #[must_use]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (StoredForm::Decoded(one, _), StoredForm::Decoded(other, _)) => Arc::ptr_eq(one, other),
            (StoredForm::Encoded(one), StoredForm::Encoded(other)) => one.encoded.ptr_eq(&other.encoded),
            (StoredForm::Decoded(..), StoredForm::Encoded(_))
            | (StoredForm::Encoded(_), StoredForm::Decoded(..)) => false,
        }
    }

    /// Creates an object that is decoded, with the hash of the bytes from which it was decoded.
    pub(crate) fn decoded_from(object: Arc<K>, content: Option<ContentHash>) -> Self {
        Self(StoredForm::Decoded(object, content))
    }

    /// Returns the hash of the content; `None` if the object did not arrive as bytes.
    pub(crate) fn content(&self) -> Option<ContentHash> {
        match &self.0 {
            StoredForm::Decoded(_, content) => *content,
            StoredForm::Encoded(lazy) => lazy.encoded.content(),
        }
    }

    /// Creates an object that is encoded, and already decoded if `decoded` is given.
    pub(crate) fn encoded(
        encoded: EncodedObject<K>,
        decoded: Option<Arc<K>>,
        index_values: Option<Box<IndexValues>>,
    ) -> Self {
        let decoded = decoded.map_or_else(OnceLock::new, OnceLock::from);
        Self(StoredForm::Encoded(Arc::new(LazyObject { encoded, decoded, index_values })))
    }

    /// Shares an object that a cache stores.
    pub(super) fn lazy(lazy: Arc<LazyObject<K>>) -> Self {
        Self(StoredForm::Encoded(lazy))
    }

    /// Calls `read` with the object, without leaving it decoded.
    pub(crate) fn with<R>(&self, read: impl FnOnce(&K) -> R) -> R {
        match &self.0 {
            StoredForm::Decoded(object, _) => read(object),
            StoredForm::Encoded(lazy) => match lazy.decoded.get() {
                Some(object) => read(object),
                None if lazy.encoded.keeps_decoded() => read(lazy.get()),
                None => read(&lazy.encoded.decode()),
            },
        }
    }

    /// Calls `read` with the forms from which index values are computed, without leaving the object decoded.
    pub(crate) fn with_index_input<R>(
        &self,
        needs: IndexNeeds,
        read: impl FnOnce(IndexInput<'_, K>) -> R,
    ) -> R {
        match &self.0 {
            StoredForm::Encoded(lazy) if !lazy.encoded.keeps_decoded() => {
                let raw = needs.bytes.then(|| lazy.encoded.raw());
                let decoded = match lazy.decoded.get() {
                    None if needs.object => Some(lazy.encoded.decode()),
                    decoded => decoded.cloned(),
                };
                read(IndexInput { object: decoded.as_deref(), raw: raw.as_ref() })
            }
            StoredForm::Encoded(_) | StoredForm::Decoded(..) => {
                read(IndexInput { object: Some(self.get()), raw: None })
            }
        }
    }

    /// Returns the index values that were computed when the object arrived.
    pub(crate) fn index_values(&self) -> Option<&IndexValues> {
        match &self.0 {
            StoredForm::Decoded(..) => None,
            StoredForm::Encoded(lazy) => lazy.index_values.as_deref(),
        }
    }

    /// Returns whether the cache stores the object only as bytes, so that a decoded copy is extra memory.
    pub(crate) fn is_stored_encoded(&self) -> bool {
        match &self.0 {
            StoredForm::Decoded(..) => false,
            StoredForm::Encoded(lazy) => !lazy.encoded.keeps_decoded(),
        }
    }

    /// Returns whether the next read has to decode the object.
    pub(crate) fn needs_decoding(&self) -> bool {
        match &self.0 {
            StoredForm::Decoded(..) => false,
            StoredForm::Encoded(lazy) => lazy.decoded.get().is_none(),
        }
    }

    /// Returns the encoded object; `None` if it did not arrive as bytes.
    pub(crate) fn as_encoded(&self) -> Option<&EncodedObject<K>> {
        match &self.0 {
            StoredForm::Decoded(..) => None,
            StoredForm::Encoded(lazy) => Some(&lazy.encoded),
        }
    }

    /// Replaces the encoded form by a smaller one. Has no effect if the object is shared already.
    pub(crate) fn set_encoded(&mut self, encoded: EncodedObject<K>) {
        if let StoredForm::Encoded(lazy) = &mut self.0
            && let Some(lazy) = Arc::get_mut(lazy)
        {
            lazy.encoded = encoded;
        }
    }

    /// Returns the form in which a cache stores the object.
    pub(crate) fn to_stored(&self) -> StoredObject<K> {
        match &self.0 {
            StoredForm::Decoded(object, content) => StoredObject::Decoded(Arc::clone(object), *content),
            StoredForm::Encoded(lazy) if lazy.encoded.keeps_decoded() => StoredObject::Both(Arc::clone(lazy)),
            StoredForm::Encoded(lazy) => StoredObject::Encoded(lazy.encoded.clone()),
        }
    }
}

impl<K: Resource> Object<K> {
    /// Returns whether both are the same version of the same object, by uid, resource version and content. `false` without a
    /// version.
    pub(crate) fn is_same_state(&self, other: &Self) -> bool {
        let has_same_version = match (&self.0, &other.0) {
            (StoredForm::Decoded(one, _), StoredForm::Decoded(other, _)) => {
                is_same_state(&Identity::of(&**one), &Identity::of(&**other))
            }
            (StoredForm::Encoded(one), StoredForm::Encoded(other)) => {
                one.encoded.is_same_state(&other.encoded)
            }
            (StoredForm::Decoded(decoded, _), StoredForm::Encoded(lazy))
            | (StoredForm::Encoded(lazy), StoredForm::Decoded(decoded, _)) => {
                lazy.encoded.is_state(&Identity::of(&**decoded))
            }
        };
        has_same_version && !self.to_stored().differs_from(other.content())
    }
}

/// Returns whether both are the same version of the same object, by uid and resource version. `false` without a version.
fn is_same_state(one: &Identity<'_>, other: &Identity<'_>) -> bool {
    !matches!(&*one.version, "" | "0") && one.version == other.version && one.uid == other.uid
}

impl<K> From<Arc<K>> for Object<K> {
    fn from(object: Arc<K>) -> Self {
        Self::decoded_from(object, None)
    }
}

impl<K> From<Object<K>> for Arc<K> {
    fn from(object: Object<K>) -> Self {
        object.arc()
    }
}

impl<K> Clone for Object<K> {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            StoredForm::Decoded(object, content) => StoredForm::Decoded(Arc::clone(object), *content),
            StoredForm::Encoded(lazy) => StoredForm::Encoded(Arc::clone(lazy)),
        })
    }
}

impl<K: PartialEq> PartialEq for Object<K> {
    fn eq(&self, other: &Self) -> bool {
        self.ptr_eq(other) || self.get() == other.get()
    }
}

impl<K: Eq> Eq for Object<K> {}

/// Prints no objects, because they may contain secrets.
impl<K> fmt::Debug for Object<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Object")
    }
}
