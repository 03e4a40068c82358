//! The input of the encoder: objects, grouped into blocks.

use super::state_id::StateId;
use crate::object::raw::Decoder;
use kube_informer_wire::{ContentHash, Identity, Raw};

/// The bytes of an object to encode, with their decoder.
pub(crate) struct EncodeInput<K> {
    pub(super) raw: Raw,
    pub(super) decoder: Decoder<K>,
    pub(super) state: Option<StateId>,
    pub(super) content: Option<ContentHash>,
}

/// The maximum length of a block of several objects, about four pods. Reading one of them decompresses all.
const MAX_GROUP_BYTES: usize = 40 << 10;

impl<K> EncodeInput<K> {
    /// Creates an input of the bytes that `decoder` reads. `None` if they are longer than 4 GiB.
    pub(crate) fn new(raw: &Raw, decoder: &Decoder<K>, identity: &Identity<'_>) -> Option<Self> {
        let raw = decoder.needed(raw);
        u32::try_from(raw.bytes().len()).ok()?;
        let content = Some(decoder.content_hash(&raw));
        Some(Self { raw, decoder: decoder.clone(), state: StateId::new(identity), content })
    }

    /// Sets the hash of the content that the server sent, which may have been transformed since.
    pub(crate) fn with_content(self, content: Option<ContentHash>) -> Self {
        Self { content, ..self }
    }

    /// Returns the bytes to encode.
    pub(crate) fn raw(&self) -> &Raw {
        &self.raw
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.raw.bytes()
    }

    fn has_same_decoder(&self, other: &Self) -> bool {
        self.raw.format() == other.raw.format() && self.decoder.is(&other.decoder)
    }
}

/// Splits `inputs` into groups of at most `max` neighbors that share a block.
pub(super) fn groups<'i, K>(
    inputs: &'i [&'i EncodeInput<K>],
    max: usize,
) -> impl Iterator<Item = &'i [&'i EncodeInput<K>]> {
    let mut rest = inputs;
    std::iter::from_fn(move || {
        let first = rest.first()?;
        let mut bytes = first.bytes().len();
        let fits = |input: &&&EncodeInput<K>| {
            bytes += input.bytes().len();
            bytes <= MAX_GROUP_BYTES && input.has_same_decoder(first)
        };
        let more = rest[1..].iter().take(max - 1).take_while(fits).count();
        let (group, remaining) = rest.split_at(1 + more);
        rest = remaining;
        Some(group)
    })
}
