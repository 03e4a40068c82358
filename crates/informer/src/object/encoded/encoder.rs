//! Encodes the objects of one cache.

#[cfg(feature = "compressed")]
use super::zstd::{DEFAULT_LEVEL, MAX_OBJECTS_PER_BLOCK, ZstdCompressor};
use super::{
    compression::{Compression, Compressor},
    input::{EncodeInput, groups},
    object::{Block, BlockHeader, BlockRange, Decoding, EncodedObject, RecentlyDecoded},
};
#[cfg(feature = "saved")]
use super::{dictionary::Dictionary, zstd::FAST_LEVEL};
use crate::object::{raw::Decoder, storage::Storage};
use kube_informer_wire::Format;
use std::sync::{Arc, Mutex, PoisonError};

/// Encodes the objects of one cache. Clones share the dictionary.
pub(crate) struct Encoder<K> {
    shared: Arc<Shared<K>>,
}

struct Shared<K> {
    compressor: Compressor,
    /// The maximum number of objects in one block.
    max_group: usize,
    keeps_decoded: bool,
    recently_decoded: Arc<RecentlyDecoded<K>>,
    /// The decodings in use with the current dictionary: one for each source and format.
    decodings: Mutex<Vec<Arc<Decoding<K>>>>,
}

impl<K> Encoder<K> {
    /// Creates the encoder of a cache; `None` if objects are stored decoded.
    pub(crate) fn for_storage(storage: Storage) -> Option<Self> {
        match storage {
            Storage::Decoded => None,
            Storage::Encoded => Some(Self::uncompressed()),
            #[cfg(feature = "compressed")]
            Storage::Compressed => Some(Self::compressed()),
        }
    }

    /// Creates an encoder that keeps the bytes of each object uncompressed, in a separate allocation.
    pub(crate) fn uncompressed() -> Self {
        Shared::new(Compressor::None).into()
    }

    /// Creates an encoder that compresses neighbors into shared blocks.
    #[cfg(feature = "compressed")]
    pub(crate) fn compressed() -> Self {
        let compressor = Compressor::Zstd(ZstdCompressor::new(DEFAULT_LEVEL));
        Shared { max_group: MAX_OBJECTS_PER_BLOCK, ..Shared::new(compressor) }.into()
    }

    /// Creates an encoder for a cache that is saved: each object has its own block. With [`Storage::Decoded`], the decoded
    /// object is kept too.
    #[cfg(feature = "saved")]
    pub(crate) fn for_saving(storage: Storage) -> Self {
        let zstd = |level| Shared::new(Compressor::Zstd(ZstdCompressor::new(level)));
        match storage {
            Storage::Decoded => Shared { keeps_decoded: true, ..zstd(FAST_LEVEL) }.into(),
            Storage::Encoded => Self::uncompressed(),
            Storage::Compressed => zstd(DEFAULT_LEVEL).into(),
        }
    }

    /// Returns whether the cache stores decoded objects, and the bytes only to be saved.
    pub(crate) fn keeps_decoded(&self) -> bool {
        self.shared.keeps_decoded
    }

    /// Encodes objects. Returns one for each input, in the same order.
    pub(crate) fn encode(&self, inputs: &[&EncodeInput<K>]) -> Vec<EncodedObject<K>> {
        let mut objects = Vec::with_capacity(inputs.len());
        for group in groups(inputs, self.shared.max_group) {
            let block = self.encode_block(group);
            let mut start = 0;
            for input in group {
                let length = to_u32(input.bytes().len());
                let range = BlockRange { start, length };
                objects.push(EncodedObject::new(block.clone(), input.state.clone(), input.content, range));
                start += length;
            }
        }
        objects
    }

    fn encode_block(&self, group: &[&EncodeInput<K>]) -> Block<K> {
        let parts: Vec<&[u8]> = group.iter().map(|input| input.bytes()).collect();
        let length = to_u32(parts.iter().map(|part| part.len()).sum());
        self.shared.compressor.compress(&parts, |block, compression| {
            let decoding = self.decoding(compression, group[0]);
            Block::from_header_and_slice(BlockHeader { decoding, length }, block)
        })
    }

    /// Must be called when a list is complete. Returns whether there is a dictionary, so that objects that
    /// [can shrink](EncodedObject::can_shrink) are worth [encoding again](Self::reencode).
    pub(crate) fn list_completed(&self) -> bool {
        self.shared.compressor.list_completed()
    }

    /// Encodes objects again, with the current dictionary. Returns one for each, in the same order.
    pub(crate) fn reencode(&self, objects: &[EncodedObject<K>]) -> Vec<EncodedObject<K>> {
        let inputs: Vec<_> = objects.iter().map(EncodedObject::to_input).collect();
        self.encode(&inputs.iter().collect::<Vec<_>>())
    }

    fn decoding(&self, compression: Compression, input: &EncodeInput<K>) -> Arc<Decoding<K>> {
        let EncodeInput { raw, decoder, .. } = input;
        let mut decodings = self.shared.decodings.lock().unwrap_or_else(PoisonError::into_inner);
        // Those with an older dictionary are held by the objects that need them.
        decodings.retain(|decoding| decoding.compression == compression);
        let found = decodings.iter().find(|known| known.format == raw.format() && known.decoder.is(decoder));
        if let Some(decoding) = found {
            return Arc::clone(decoding);
        }
        let decoding = self.new_decoding(raw.format(), decoder, compression);
        decodings.push(Arc::clone(&decoding));
        decoding
    }

    pub(super) fn new_decoding(
        &self,
        format: Format,
        decoder: &Decoder<K>,
        compression: Compression,
    ) -> Arc<Decoding<K>> {
        Arc::new(Decoding {
            format,
            compression,
            decoder: decoder.clone(),
            keeps_decoded: self.shared.keeps_decoded,
            recently_decoded: Arc::downgrade(&self.shared.recently_decoded),
        })
    }
}

#[cfg(feature = "saved")]
impl<K> Encoder<K> {
    pub(super) fn is_zstd(&self) -> bool {
        self.shared.compressor.is_zstd()
    }

    /// Loads a saved dictionary, and compresses with it unless there is one already. `None` if it is invalid.
    pub(super) fn load_dictionary(&self, content: &[u8]) -> Option<Arc<Dictionary>> {
        self.shared.compressor.load_dictionary(content)
    }
}

fn to_u32(length: usize) -> u32 {
    u32::try_from(length).expect("objects are shorter than 4 GiB, and so are groups of them")
}

impl<K> Shared<K> {
    /// Creates an encoder with one object per block, which does not store decoded objects.
    fn new(compressor: Compressor) -> Self {
        Self {
            compressor,
            max_group: 1,
            keeps_decoded: false,
            recently_decoded: Arc::new(RecentlyDecoded::new()),
            decodings: Mutex::default(),
        }
    }
}

impl<K> From<Shared<K>> for Encoder<K> {
    fn from(shared: Shared<K>) -> Self {
        Self { shared: Arc::new(shared) }
    }
}

impl<K> Clone for Encoder<K> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}
