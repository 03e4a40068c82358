//! One object in the small.

#[cfg(feature = "saved")]
use super::codec::compress_alone;
use super::{
    codec::{Codec, expand},
    dictionary::Dictionary,
    hot::Hot,
    stamp::Stamp,
};
use crate::list_watch::{BoxError, Decoder};
use kube_informer_wire::{Format, Identity, Raw};
use std::sync::{Arc, Weak};
use triomphe::ThinArc;

/// An object, compressed, in one allocation, with all that it takes to decode it.
pub(crate) struct Packed<K>(ThinArc<Head<K>, u8>);

struct Head<K> {
    method: Arc<Method<K>>,
    stamp: Option<Stamp>,
    /// How long the bytes are that were compressed.
    length: u32,
}

/// How objects are to be made of bytes. One serves many.
pub(super) struct Method<K> {
    pub(super) format: Format,
    pub(super) dictionary: Option<Arc<Dictionary>>,
    pub(super) decoder: Decoder<K>,
    pub(super) transform: Option<Transform<K>>,
    /// Whether objects stay decoded once they are, and this is beside them.
    pub(super) stays_decoded: bool,
    /// The cache of decoded objects holds packed ones, which hold this.
    pub(super) hot: Weak<HotObjects<K>>,
}

/// The decoded objects of one cache.
pub(super) type HotObjects<K> = Hot<Packed<K>, K>;

pub(super) type Transform<K> = Arc<dyn Fn(K) -> Result<K, BoxError> + Send + Sync>;

impl<K> Packed<K> {
    /// Compresses `bytes`, which `method` finds the way to read for, given the dictionary. Nothing if there are too many.
    pub(super) fn new(
        codec: &Codec,
        bytes: &[u8],
        stamp: Option<Stamp>,
        method: impl FnOnce(Option<&Arc<Dictionary>>) -> Arc<Method<K>>,
    ) -> Option<Self> {
        let length = u32::try_from(bytes.len()).ok()?;
        Some(codec.compress(bytes, |compressed, dictionary| {
            let head = Head { method: method(dictionary), stamp, length };
            Self(ThinArc::from_header_and_slice(head, compressed))
        }))
    }

    fn head(&self) -> &Head<K> {
        &self.0.header.header
    }

    pub(super) fn method(&self) -> &Method<K> {
        &self.head().method
    }

    pub(super) fn stamp(&self) -> Option<&Stamp> {
        self.head().stamp.as_ref()
    }

    /// The bytes that were compressed.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let Head { method, length, .. } = self.head();
        expand(&self.0.slice, method.dictionary.as_deref(), *length as usize)
    }

    /// The object.
    ///
    /// # Panics
    /// If the transform fails, which it did not when the object came.
    pub(crate) fn decode(&self) -> Arc<K> {
        let method = self.method();
        let raw = Raw::new(method.format, self.bytes().into());
        let object = method.decoder.decode(&raw).expect("it was decoded when it came");
        Arc::new(match &method.transform {
            None => object,
            Some(transform) => transform(object)
                .expect("a transform does the same each time, where objects are kept compact"),
        })
    }

    /// The object, which is likely to be asked for again, by the hash of its key.
    pub(crate) fn decode_again(&self, digest: u64) -> Arc<K> {
        let Some(hot) = self.method().hot.upgrade() else { return self.decode() };
        hot.find(digest, |packed| packed.ptr_eq(self)).unwrap_or_else(|| {
            let object = self.decode();
            hot.put(digest, self.clone(), Arc::clone(&object));
            object
        })
    }

    /// Whether the object stays decoded once it is.
    pub(crate) fn stays_decoded(&self) -> bool {
        self.method().stays_decoded
    }

    /// How many bytes it takes.
    pub(crate) fn size(&self) -> usize {
        self.0.slice.len() + size_of::<Head<K>>() + 2 * size_of::<usize>()
    }

    /// Whether it could be smaller, for want of a dictionary.
    pub(crate) fn is_loose(&self) -> bool {
        self.method().dictionary.is_none()
    }

    pub(crate) fn ptr_eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.head(), other.head())
    }

    /// Whether both are the same state of the same object.
    pub(crate) fn is_same_state(&self, other: &Self) -> bool {
        self.ptr_eq(other) || self.stamp().is_some() && self.stamp() == other.stamp()
    }

    /// Whether this is the state of the object that has this identity.
    pub(crate) fn is_state(&self, identity: &Identity<'_>) -> bool {
        self.stamp().is_some() && self.stamp() == Stamp::of(identity).as_ref()
    }
}

#[cfg(feature = "saved")]
impl<K> Packed<K> {
    /// What was compressed elsewhere of so many bytes, as `AsRef` gave it.
    pub(super) fn of(compressed: &[u8], length: u32, stamp: Option<Stamp>, method: Arc<Method<K>>) -> Self {
        Self(ThinArc::from_header_and_slice(Head { method, stamp, length }, compressed))
    }

    /// The bytes, compressed so that it takes no dictionary to expand them.
    pub(crate) fn compressed_alone(&self) -> Vec<u8> {
        compress_alone(&self.bytes())
    }

    /// What it takes to expand them, if anything.
    pub(crate) fn dictionary(&self) -> Option<&Arc<Dictionary>> {
        self.method().dictionary.as_ref()
    }

    pub(crate) fn format(&self) -> Format {
        self.method().format
    }

    /// The uid and the version, where the object has one.
    pub(crate) fn uid_and_version(&self) -> Option<(String, String)> {
        self.stamp().map(Stamp::parts)
    }

    /// Whether it can be decoded, for one that was not when it came.
    pub(crate) fn is_sound(&self) -> bool {
        let method = self.method();
        let raw = Raw::new(method.format, self.bytes().into());
        method.decoder.decode(&raw).is_ok_and(|object| match &method.transform {
            None => true,
            Some(transform) => transform(object).is_ok(),
        })
    }
}

/// The compressed bytes.
#[cfg(feature = "saved")]
impl<K> AsRef<[u8]> for Packed<K> {
    fn as_ref(&self) -> &[u8] {
        &self.0.slice
    }
}

impl<K> Clone for Packed<K> {
    fn clone(&self) -> Self {
        Self(ThinArc::clone(&self.0))
    }
}
