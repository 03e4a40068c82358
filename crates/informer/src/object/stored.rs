//! An object as a cache stores it.

use super::{
    encoded::EncodedObject,
    shared::{LazyObject, Object, is_same_state},
};
use kube_core::Resource;
use kube_informer_wire::{Identity, Key, ResourceVersion};
use std::{fmt, sync::Arc};

/// How a cache stores its objects. Subscribers and readers see the same objects either way.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_devserver::DevServer;
/// use kube_informer::{Informer, Storage};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = DevServer::start();
/// let pods = Informer::<Pod>::builder(server.client()).storage(Storage::Encoded).start()?;
/// # pods.synced().await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Storage {
    /// Decoded objects: reads cost a reference count. The default.
    #[default]
    Decoded,
    /// The bytes that the server sent; each read decodes them. About a third of the memory of `Decoded`.
    ///
    /// Objects are validated when they arrive, so reads cannot fail. Objects of a source that delivers no bytes
    /// ([`FromFns`](crate::source::FromFns)) are stored decoded.
    Encoded,
    /// The bytes that the server sent, compressed with zstd and a dictionary that the cache builds from the first objects:
    /// some hundred bytes for a pod. Each read decompresses and decodes, in some tens of microseconds for a pod.
    #[cfg(feature = "compressed")]
    #[cfg_attr(docsrs, doc(cfg(feature = "compressed")))]
    Compressed,
}

/// An object in a cache.
pub(crate) enum StoredObject<K> {
    Decoded(Arc<K>),
    Encoded(EncodedObject<K>),
    /// Decoded after the first read, with the bytes that a saved cache needs.
    Both(Arc<LazyObject<K>>),
}

impl<K> StoredObject<K> {
    /// Returns the object. If it is stored encoded, it is decoded for this call.
    pub(crate) fn object(&self) -> Arc<K> {
        match self {
            Self::Decoded(object) => Arc::clone(object),
            Self::Encoded(encoded) => encoded.decode(),
            Self::Both(lazy) => Arc::clone(lazy.get()),
        }
    }

    /// Returns the object, from the cache of recently decoded objects if possible. `key` is its key.
    pub(crate) fn object_cached(&self, key: &Key) -> Arc<K> {
        match self {
            Self::Encoded(encoded) => encoded.decode_cached(key.digest()),
            Self::Decoded(_) | Self::Both(_) => self.object(),
        }
    }

    /// Returns the object as subscribers receive it.
    pub(crate) fn share(&self) -> Object<K> {
        match self {
            Self::Decoded(object) => Object::from(Arc::clone(object)),
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
            Self::Decoded(_) | Self::Both(_) => None,
        }
    }

    fn as_encoded(&self) -> Option<&EncodedObject<K>> {
        match self {
            Self::Decoded(_) => None,
            Self::Encoded(encoded) => Some(encoded),
            Self::Both(lazy) => Some(&lazy.encoded),
        }
    }

    /// Returns whether `object` would be stored as exactly this.
    pub(crate) fn is(&self, object: &Object<K>) -> bool {
        match (self, object.to_stored()) {
            (Self::Decoded(one), Self::Decoded(other)) => Arc::ptr_eq(one, &other),
            (Self::Encoded(one), Self::Encoded(other)) => one.ptr_eq(&other),
            (Self::Both(one), Self::Both(other)) => Arc::ptr_eq(one, &other),
            (Self::Decoded(_) | Self::Encoded(_) | Self::Both(_), _) => false,
        }
    }

    /// Returns whether `object`, which is the same state, is stored in fewer bytes.
    pub(crate) fn is_larger_than(&self, object: &Object<K>) -> bool {
        let can_shrink = |encoded: Option<&EncodedObject<K>>| encoded.map(EncodedObject::can_shrink);
        can_shrink(self.as_encoded()) == Some(true) && can_shrink(object.as_encoded()) == Some(false)
    }
}

impl<K: Resource> StoredObject<K> {
    /// Returns the resource version of the object.
    pub(crate) fn version(&self) -> Option<ResourceVersion> {
        match self {
            Self::Decoded(object) => object.meta().resource_version.as_deref()?.parse().ok(),
            Self::Encoded(encoded) => encoded.version(),
            Self::Both(lazy) => lazy.encoded.version(),
        }
    }

    /// Returns whether the object has this uid and version.
    pub(crate) fn is_state(&self, identity: &Identity<'_>) -> bool {
        match self {
            Self::Decoded(object) => is_same_state(&Identity::of(&**object), identity),
            Self::Encoded(encoded) => encoded.is_state(identity),
            Self::Both(lazy) => lazy.encoded.is_state(identity),
        }
    }

    /// Returns whether `object` has the same uid and version.
    pub(crate) fn is_same_state(&self, object: &Object<K>) -> bool {
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
            Self::Decoded(object) => Self::Decoded(Arc::clone(object)),
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
