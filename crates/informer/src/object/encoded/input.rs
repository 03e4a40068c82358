//! Objects on their way to being packed, and which of them are packed together.

use super::stamp::Stamp;
use crate::source::{BoxError, Decoder, Wire};
use kube_informer_wire::{Identity, Raw};
use std::sync::Arc;

/// An object that is to be packed: its bytes, and what it takes to make it of them.
pub(crate) struct Loose<K> {
    pub(super) raw: Raw,
    pub(super) decoder: Decoder<K>,
    pub(super) transform: Option<Transform<K>>,
    pub(super) stamp: Option<Stamp>,
}

pub(super) type Transform<K> = Arc<dyn Fn(K) -> Result<K, BoxError> + Send + Sync>;

/// So many objects share a block at most.
const OBJECTS: usize = 16;

/// And so many bytes, which is four pods: what is expanded to read one of them.
const BYTES: usize = 40 << 10;

impl<K> Loose<K> {
    /// What was decoded of these bytes into something of this identity. Nothing if it is too long to be packed.
    pub(crate) fn new(
        wire: &Wire<K>,
        identity: &Identity<'_>,
        transform: Option<&Transform<K>>,
    ) -> Option<Self> {
        let raw = wire.decoder.needed(&wire.raw);
        u32::try_from(raw.bytes().len()).ok()?;
        let (decoder, transform) = (wire.decoder.clone(), transform.cloned());
        Some(Self { raw, decoder, transform, stamp: Stamp::of(identity) })
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
    objects: &'o [&'o Loose<K>],
    most: usize,
) -> impl Iterator<Item = &'o [&'o Loose<K>]> {
    let mut rest = objects;
    std::iter::from_fn(move || {
        let first = rest.first()?;
        let mut bytes = first.len();
        let fits = |object: &&&Loose<K>| {
            bytes += object.len();
            bytes <= BYTES && object.is_like(first)
        };
        let more = rest[1..].iter().take(OBJECTS.min(most) - 1).take_while(fits).count();
        let (group, behind) = rest.split_at(1 + more);
        rest = behind;
        Some(group)
    })
}
