//! Restores encoded objects that an earlier process saved.

use super::{
    compression::Compression,
    dictionary::Dictionary,
    encoder::Encoder,
    input::EncodeInput,
    object::{Block, BlockHeader, BlockRange, Decoding, EncodedObject},
    state_id::StateId,
};
use crate::object::raw::Decoder;
use kube_informer_wire::{ContentHash, Format, Raw, ResourceVersion};
use std::{collections::HashMap, sync::Arc};

/// Creates encoded objects from saved ones.
pub(crate) struct Restorer<K> {
    encoder: Encoder<K>,
    decoder: Decoder<K>,
    dictionaries: HashMap<u32, Arc<Dictionary>>,
    decodings: Vec<Arc<Decoding<K>>>,
}

/// An object as it was saved.
pub(crate) struct SavedObject<'s> {
    pub(crate) bytes: &'s [u8],
    pub(crate) format: Format,
    pub(crate) compression: SavedCompression,
    pub(crate) uid: &'s str,
    pub(crate) version: &'s ResourceVersion,
    /// `None` if the hash was not saved, and is that of the saved object.
    pub(crate) content: Option<ContentHash>,
}

/// The compression of the bytes of a saved object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SavedCompression {
    None,
    Zstd {
        /// The number of the dictionary, if there is one.
        dictionary: Option<u32>,
    },
}

/// The maximum length of a restored object, fifty times what an API server accepts.
const MAX_OBJECT_LENGTH: u64 = 64 << 20;

impl<K> Restorer<K> {
    /// Creates a restorer for a cache that uses `encoder`.
    pub(crate) fn new(encoder: Encoder<K>, decoder: Decoder<K>) -> Self {
        Self { encoder, decoder, dictionaries: HashMap::new(), decodings: Vec::new() }
    }

    /// Adds a dictionary under a number. The encoder continues with the first that is added. Returns whether it is valid.
    pub(crate) fn add_dictionary(&mut self, number: u32, content: &[u8]) -> bool {
        let Some(dictionary) = self.encoder.load_dictionary(content) else { return false };
        self.dictionaries.insert(number, dictionary);
        true
    }

    /// Returns the dictionaries and their numbers.
    pub(crate) fn dictionaries(&self) -> impl Iterator<Item = (u32, &Arc<Dictionary>)> {
        self.dictionaries.iter().map(|(number, dictionary)| (*number, dictionary))
    }

    /// Restores an object, converted if it was saved with another storage than the encoder's. `None` if it is invalid.
    ///
    /// Bytes that need no conversion are not decompressed here, so the result may fail to
    /// [decode](EncodedObject::can_be_decoded).
    pub(crate) fn restore(&mut self, saved: &SavedObject<'_>) -> Option<EncodedObject<K>> {
        let compression = self.compression(saved.compression)?;
        let length =
            compression.decompressed_length(saved.bytes).filter(|length| *length <= MAX_OBJECT_LENGTH)?;
        let length = u32::try_from(length).ok()?;
        let state = StateId::from_saved(saved.uid, saved.version);
        if compression.is_zstd() == self.encoder.is_zstd() {
            let header = BlockHeader { decoding: self.decoding(saved.format, compression), length };
            let block = Block::from_header_and_slice(header, saved.bytes);
            let range = BlockRange { start: 0, length };
            return Some(EncodedObject::new(block, state, saved.content, range));
        }
        let bytes = compression.decompress(saved.bytes, length as usize)?;
        let raw = Raw::new(saved.format, bytes.into());
        self.encoder
            .encode(&[&EncodeInput { raw, decoder: self.decoder.clone(), state, content: saved.content }])
            .pop()
    }

    fn compression(&self, saved: SavedCompression) -> Option<Compression> {
        Some(match saved {
            SavedCompression::None => Compression::None,
            SavedCompression::Zstd { dictionary: None } => Compression::Zstd { dictionary: None },
            SavedCompression::Zstd { dictionary: Some(number) } => {
                Compression::Zstd { dictionary: Some(Arc::clone(self.dictionaries.get(&number)?)) }
            }
        })
    }

    fn decoding(&mut self, format: Format, compression: Compression) -> Arc<Decoding<K>> {
        let is_same = |known: &&Arc<Decoding<K>>| known.format == format && known.compression == compression;
        if let Some(decoding) = self.decodings.iter().find(is_same) {
            return Arc::clone(decoding);
        }
        let decoding = self.encoder.new_decoding(format, &self.decoder, compression);
        self.decodings.push(Arc::clone(&decoding));
        decoding
    }
}
