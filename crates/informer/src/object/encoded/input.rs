//! Objects on their way to being packed, and which of them are packed together.

use super::stamp::Stamp;
use crate::source::{BoxError, Decoder, Wire};
use kube_informer_wire::{Identity, Raw};
use std::sync::Arc;

/// An object that is to be packed: its bytes, and what it takes to make it of them.
pub(crate) struct EncodeInput<K> {
    pub(super) raw: Raw,
    pub(super) decoder: Decoder<K>,
    pub(super) stamp: Option<Stamp>,
}

/// So many objects share a block at most.
const OBJECTS: usize = 16;

/// And so many bytes, which is four pods: what is expanded to read one of them.
const BYTES: usize = 40 << 10;

impl<K> EncodeInput<K> {
    /// What was decoded of these bytes into something of this identity. Nothing if it is too long to be packed.
    pub(crate) fn new(
        raw: &Raw,
        decoder: &Decoder<K>,
        identity: &Identity<'_>,
    ) -> Option<Self> {
        let raw = decoder.needed(raw);
        u32::try_from(raw.bytes().len()).ok()?;
                Some(Self { raw, decoder: decoder.clone(), stamp: Stamp::of(identity) })
    }

    fn len(&self) -> usize {
        self.raw.bytes().len()
    }

    /// Whether what reads one reads the other.
    fn is_like(&self, other: &Self) -> bool {
        self.raw.format() == other.raw.format() && self.decoder.is(&other.decoder)
    }
}

/// Those that are packed together: neighbours, as long as there is room, and `most` of them.
pub(super) fn groups<'o, K>(
    objects: &'o [&'o EncodeInput<K>],
    most: usize,
) -> impl Iterator<Item = &'o [&'o EncodeInput<K>]> {
    let mut rest = objects;
    std::iter::from_fn(move || {
        let first = rest.first()?;
        let mut bytes = first.len();
        let fits = |object: &&&EncodeInput<K>| {
            bytes += object.len();
            bytes <= BYTES && object.is_like(first)
        };
        let more = rest[1..].iter().take(OBJECTS.min(most) - 1).take_while(fits).count();
        let (group, behind) = rest.split_at(1 + more);
        rest = behind;
        Some(group)
    })
}
