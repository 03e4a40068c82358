//! One object in the small.

#[cfg(feature = "saved")]
use super::{codec::compress_alone, dictionary::SMALL};
use super::{
    codec::{Codec, expand},
    dictionary::Dictionary,
    hot::Hot,
    loose::{Loose, Transform},
    stamp::Stamp,
};
use crate::source::Decoder;
#[cfg(feature = "saved")]
use crate::source::Labels;
use bytes::Bytes;
#[cfg(feature = "saved")]
use kube_core::Resource;
use kube_informer_wire::{Format, Identity, Raw, ResourceVersion};
#[cfg(feature = "saved")]
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use triomphe::ThinArc;

/// An object, compressed, with all that it takes to decode it.
pub(crate) struct Packed<K>(triomphe::Arc<Place<K>>);

/// Where an object is in what it was compressed with.
struct Place<K> {
    block: Block<K>,
    stamp: Option<Stamp>,
    start: u32,
    length: u32,
}

/// Some objects that were compressed as one, in one allocation. It lives as long as any of them.
///
/// Neighbours in a list are much alike, and what one says of itself the next need not say again: four pods together take two
/// fifths of what they take apart.
type Block<K> = ThinArc<Head<K>, u8>;

struct Head<K> {
    method: Arc<Method<K>>,
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

impl<K> Packed<K> {
    /// Compresses objects together, which `method` finds the way to read for, given the dictionary, and hands over each.
    pub(super) fn together(
        codec: &Codec,
        group: &[&Loose<K>],
        method: impl FnOnce(Option<&Arc<Dictionary>>) -> Arc<Method<K>>,
        mut take: impl FnMut(Self),
    ) {
        let parts: Vec<&[u8]> = group.iter().map(|object| &**object.raw.bytes()).collect();
        let short =
            |length: usize| u32::try_from(length).expect("a group is short, and so is an object alone");
        let length = short(parts.iter().map(|part| part.len()).sum());
        let block = codec.compress(&parts, |compressed, dictionary| {
            let head = Head { method: method(dictionary), length };
            ThinArc::from_header_and_slice(head, compressed)
        });
        let mut start = 0;
        for object in group {
            let (block, stamp, length) =
                (block.clone(), object.stamp.clone(), short(object.raw.bytes().len()));
            take(Self(triomphe::Arc::new(Place { block, stamp, start, length })));
            start += length;
        }
    }

    fn head(&self) -> &Head<K> {
        &self.0.block.header.header
    }

    fn method(&self) -> &Method<K> {
        &self.head().method
    }

    fn stamp(&self) -> Option<&Stamp> {
        self.0.stamp.as_ref()
    }

    /// The bytes that were compressed.
    pub(super) fn bytes(&self) -> Bytes {
        let Place { block, start, length, .. } = &*self.0;
        let whole = block.header.header.length as usize;
        let bytes = Bytes::from(expand(&block.slice, self.method().dictionary.as_deref(), whole));
        bytes.slice(*start as usize..(*start + *length) as usize)
    }

    /// The object.
    ///
    /// # Panics
    /// If the transform fails, which it did not when the object came.
    pub(crate) fn decode(&self) -> Arc<K> {
        let method = self.method();
        let raw = Raw::new(method.format, self.bytes());
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

    /// The object as it was before it was packed.
    pub(super) fn loosen(&self) -> Loose<K> {
        let Method { format, decoder, transform, .. } = self.method();
        Loose {
            raw: Raw::new(*format, self.bytes()),
            decoder: decoder.clone(),
            transform: transform.clone(),
            stamp: self.stamp().cloned(),
        }
    }

    /// The version of the object, where it has one.
    pub(crate) fn version(&self) -> Option<ResourceVersion> {
        self.stamp().and_then(Stamp::version)
    }

    /// How many bytes it takes, with its share of what it was compressed with: those who are left share what there is.
    pub(crate) fn size(&self) -> usize {
        let block = self.0.block.slice.len() + size_of::<Head<K>>() + 2 * size_of::<usize>();
        block.div_ceil(ThinArc::strong_count(&self.0.block)) + size_of::<Place<K>>() + size_of::<usize>()
    }

    /// Whether it could be smaller, for want of a dictionary.
    pub(crate) fn is_loose(&self) -> bool {
        self.method().dictionary.is_none()
    }

    pub(crate) fn ptr_eq(&self, other: &Self) -> bool {
        triomphe::Arc::ptr_eq(&self.0, &other.0)
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
        let block = ThinArc::from_header_and_slice(Head { method, length }, compressed);
        Self(triomphe::Arc::new(Place { block, stamp, start: 0, length }))
    }

    /// The bytes, compressed so that it takes no dictionary to expand them.
    pub(crate) fn compressed_alone(&self) -> Vec<u8> {
        compress_alone(&self.bytes(), SMALL)
    }

    /// Whether it was packed by itself.
    pub(crate) fn is_apart(&self) -> bool {
        self.0.length == self.head().length
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

    /// Looks at the labels of the object.
    pub(crate) fn with_labels<R>(&self, look: impl Fn(Labels<'_>) -> R) -> R
    where
        K: Resource,
    {
        let (method, mut found) = (self.method(), None);
        if method.transform.is_none() {
            let raw = Raw::new(method.format, self.bytes());
            method.decoder.show_labels(&raw, &mut |labels| found = Some(look(labels)));
        }
        found.unwrap_or_else(|| look(self.decode().meta().labels.as_ref()))
    }

    /// Whether it can be decoded, for one that was not when it came. One that makes a decoder or a transform panic cannot.
    pub(crate) fn is_sound(&self) -> bool {
        let method = self.method();
        let decodes = || {
            let raw = Raw::new(method.format, self.bytes());
            method.decoder.decode(&raw).is_ok_and(|object| match &method.transform {
                None => true,
                Some(transform) => transform(object).is_ok(),
            })
        };
        catch_unwind(AssertUnwindSafe(decodes)).unwrap_or(false)
    }
}

/// The compressed bytes, of an object that was packed apart.
#[cfg(feature = "saved")]
impl<K> AsRef<[u8]> for Packed<K> {
    fn as_ref(&self) -> &[u8] {
        &self.0.block.slice
    }
}

impl<K> Clone for Packed<K> {
    fn clone(&self) -> Self {
        Self(triomphe::Arc::clone(&self.0))
    }
}
