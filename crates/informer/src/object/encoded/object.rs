//! An object kept as bytes, and the cache of recently decoded objects.

use super::{compression::Compression, content::ContentSlot, input::EncodeInput, state_id::StateId};
#[cfg(feature = "saved")]
use super::{dictionary::Dictionary, zstd};
use crate::object::raw::{Decoder, Labels};
use arc_swap::ArcSwapOption;
use bytes::Bytes;
use kube_core::Resource;
use kube_informer_wire::{ContentHash, Format, Identity, Raw, ResourceVersion};
#[cfg(feature = "saved")]
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use triomphe::ThinArc;

/// An object as bytes, with its decoder. Cheap to clone.
pub(crate) struct EncodedObject<K>(triomphe::Arc<BlockSlice<K>>);

/// The part of a decompressed block that is one object.
struct BlockSlice<K> {
    block: Block<K>,
    state: Option<StateId>,
    content: ContentSlot,
    start: u32,
    length: u32,
}

/// The range of an object in its decompressed block.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockRange {
    pub(super) start: u32,
    pub(super) length: u32,
}

/// One or more encoded objects in one allocation, which is freed with the last of them.
///
/// Neighbors in a list are similar: four pods in one block take two fifths of the memory of four blocks.
pub(super) type Block<K> = ThinArc<BlockHeader<K>, u8>;

pub(super) struct BlockHeader<K> {
    pub(super) decoding: Arc<Decoding<K>>,
    /// The length of the block when it is decompressed.
    pub(super) length: u32,
}

/// The decoder and the compression of the objects of a block. Shared by many blocks.
pub(super) struct Decoding<K> {
    pub(super) format: Format,
    pub(super) compression: Compression,
    pub(super) decoder: Decoder<K>,
    pub(super) keeps_decoded: bool,
    /// Weak, since the cache refers to encoded objects, which refer to this.
    pub(super) recently_decoded: Weak<RecentlyDecoded<K>>,
}

/// A small direct-mapped cache of decoded objects, so that reading the same object repeatedly is fast.
pub(super) struct RecentlyDecoded<K> {
    slots: Box<[ArcSwapOption<DecodedSlot<K>>]>,
}

struct DecodedSlot<K> {
    encoded: EncodedObject<K>,
    decoded: Arc<K>,
}

/// Few, since a decoded pod takes a hundred times the memory of a compressed one.
const RECENTLY_DECODED_SLOTS: usize = 32;

impl<K> EncodedObject<K> {
    /// Creates the object at this range of a decompressed block.
    pub(super) fn new(
        block: Block<K>,
        state: Option<StateId>,
        content: Option<ContentHash>,
        BlockRange { start, length }: BlockRange,
    ) -> Self {
        let content = ContentSlot::new(content);
        Self(triomphe::Arc::new(BlockSlice { block, state, content, start, length }))
    }

    /// Returns the hash of the content that the server sent. If the object was saved without it by version 0.1, it is computed by the
    /// first call. `None` if the object cannot be decompressed.
    pub(crate) fn content(&self) -> Option<ContentHash> {
        self.known_content().or_else(|| {
            let hash = self.decoding().decoder.content_hash(&self.decompress()?);
            self.0.content.set(hash);
            Some(hash)
        })
    }

    /// Returns the hash of the content that the server sent, if it is known or was computed before.
    pub(crate) fn known_content(&self) -> Option<ContentHash> {
        self.0.content.get()
    }

    fn header(&self) -> &BlockHeader<K> {
        &self.0.block.header.header
    }

    fn decoding(&self) -> &Decoding<K> {
        &self.header().decoding
    }

    fn state(&self) -> Option<&StateId> {
        self.0.state.as_ref()
    }

    /// Returns the bytes of the object, decompressed. `None` if the block is invalid.
    fn decompress(&self) -> Option<Raw> {
        let header = self.header();
        let Decoding { format, compression, .. } = &*header.decoding;
        let block = Bytes::from(compression.decompress(&self.0.block.slice, header.length as usize)?);
        let start = self.0.start as usize;
        Some(Raw::new(*format, block.slice(start..start + self.0.length as usize)))
    }

    /// Returns the bytes of the object, decompressed.
    pub(crate) fn raw(&self) -> Raw {
        self.decompress().expect("the block was valid when the object was encoded")
    }

    /// Decodes the object.
    pub(crate) fn decode(&self) -> Arc<K> {
        let object = self.decoding().decoder.decode(&self.raw());
        Arc::new(object.expect("the object was valid when it was encoded"))
    }

    /// Returns the object, from the cache of recently decoded objects if possible. `digest` is the hash of its key.
    pub(crate) fn decode_cached(&self, digest: u64) -> Arc<K> {
        match self.decoding().recently_decoded.upgrade() {
            Some(cache) => cache.get_or_decode(digest, self),
            None => self.decode(),
        }
    }

    /// Returns whether the cache stores the decoded object, and the bytes only to be saved.
    pub(crate) fn keeps_decoded(&self) -> bool {
        self.decoding().keeps_decoded
    }

    /// Returns what this was encoded from.
    pub(super) fn to_input(&self) -> EncodeInput<K> {
        EncodeInput {
            raw: self.raw(),
            decoder: self.decoding().decoder.clone(),
            state: self.state().cloned(),
            content: self.0.content.get(),
        }
    }

    /// Returns the object's version, if it has one.
    pub(crate) fn version(&self) -> Option<ResourceVersion> {
        self.state().and_then(StateId::version)
    }

    /// Returns the number of bytes in memory. Objects that share a block divide its size among them.
    pub(crate) fn size(&self) -> usize {
        let block = self.0.block.slice.len() + size_of::<BlockHeader<K>>() + 2 * size_of::<usize>();
        block.div_ceil(ThinArc::strong_count(&self.0.block)) + size_of::<BlockSlice<K>>() + size_of::<usize>()
    }

    /// Returns whether encoding it again would make it smaller, because it was compressed without a dictionary.
    pub(crate) fn can_shrink(&self) -> bool {
        self.decoding().compression.lacks_dictionary()
    }

    pub(crate) fn ptr_eq(&self, other: &Self) -> bool {
        triomphe::Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns whether both are the same version of the same object.
    pub(crate) fn is_same_state(&self, other: &Self) -> bool {
        self.ptr_eq(other) || self.state().is_some() && self.state() == other.state()
    }

    /// Returns whether this is the version of the object that `identity` describes.
    pub(crate) fn is_state(&self, identity: &Identity<'_>) -> bool {
        self.state().is_some() && self.state() == StateId::new(identity).as_ref()
    }

    /// Passes the object's labels to `read`, without decoding the object where possible.
    pub(crate) fn with_labels<R>(&self, read: impl Fn(Labels<'_>) -> R) -> R
    where
        K: Resource,
    {
        let mut result = None;
        // An error leaves `result` empty.
        let _ = self.decoding().decoder.validate(&self.raw(), &mut |labels| result = Some(read(labels)));
        result.unwrap_or_else(|| read(self.decode().meta().labels.as_ref()))
    }
}

#[cfg(feature = "saved")]
impl<K> EncodedObject<K> {
    /// Returns whether [`as_ref`](AsRef::as_ref) is compressed with zstd.
    pub(crate) fn is_compressed(&self) -> bool {
        self.decoding().compression.is_zstd()
    }

    /// Returns whether [`as_ref`](AsRef::as_ref) contains this object only.
    pub(crate) fn has_own_block(&self) -> bool {
        self.0.length == self.header().length
    }

    /// Returns the dictionary that [`as_ref`](AsRef::as_ref) was compressed with, if any.
    pub(crate) fn dictionary(&self) -> Option<&Arc<Dictionary>> {
        self.decoding().compression.dictionary()
    }

    /// Returns the object compressed by itself and without a dictionary.
    pub(crate) fn compress_without_dictionary(&self) -> Vec<u8> {
        zstd::compress_without_dictionary(self.raw().bytes())
    }

    pub(crate) fn format(&self) -> Format {
        self.decoding().format
    }

    /// Returns the uid and the version, if the object has a version.
    pub(crate) fn uid_and_version(&self) -> Option<(String, String)> {
        self.state().map(StateId::uid_and_version)
    }

    /// Decodes the object and returns whether that succeeds, for a restored object. A panic of the decoder is treated as failure.
    pub(crate) fn can_be_decoded(&self) -> bool {
        let decode = || self.decompress().is_some_and(|raw| self.decoding().decoder.decode(&raw).is_ok());
        catch_unwind(AssertUnwindSafe(decode)).unwrap_or(false)
    }
}

/// The stored bytes of the block.
#[cfg(feature = "saved")]
impl<K> AsRef<[u8]> for EncodedObject<K> {
    fn as_ref(&self) -> &[u8] {
        &self.0.block.slice
    }
}

impl<K> Clone for EncodedObject<K> {
    fn clone(&self) -> Self {
        Self(triomphe::Arc::clone(&self.0))
    }
}

impl<K> RecentlyDecoded<K> {
    pub(super) fn new() -> Self {
        Self { slots: (0..RECENTLY_DECODED_SLOTS).map(|_| ArcSwapOption::empty()).collect() }
    }

    fn get_or_decode(&self, digest: u64, encoded: &EncodedObject<K>) -> Arc<K> {
        // All keys of one trie node have the same low bits.
        let slot = &self.slots[(digest >> 48) as usize % RECENTLY_DECODED_SLOTS];
        if let Some(found) = &*slot.load()
            && found.encoded.ptr_eq(encoded)
        {
            return Arc::clone(&found.decoded);
        }
        let decoded = encoded.decode();
        let new = DecodedSlot { encoded: encoded.clone(), decoded: Arc::clone(&decoded) };
        slot.store(Some(Arc::new(new)));
        decoded
    }
}
