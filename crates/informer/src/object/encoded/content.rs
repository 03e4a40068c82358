//! The hash of the content of an encoded object.

use kube_informer_wire::ContentHash;
use std::sync::atomic::{AtomicU64, Ordering};

/// The knowledge about the content that the server sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Nothing, since the encoded object was transformed before it was saved.
    Unknown,
    /// It is the encoded object, and the hash is not computed yet. A restored object is not decompressed for that.
    Encoded,
    /// Its hash.
    Hash(ContentHash),
}

/// A [`Content`] in eight bytes, which can be computed later.
#[derive(Debug)]
pub(super) struct ContentSlot(AtomicU64);

const ENCODED: u64 = 0;
const UNKNOWN: u64 = 1;

impl ContentSlot {
    pub(super) fn new(content: Content) -> Self {
        let slot = Self(AtomicU64::new(ENCODED));
        slot.set(content);
        slot
    }

    pub(super) fn get(&self) -> Content {
        let number = self.0.load(Ordering::Relaxed);
        match ContentHash::from_number(number) {
            Some(hash) => Content::Hash(hash),
            None if number == UNKNOWN => Content::Unknown,
            None => Content::Encoded,
        }
    }

    pub(super) fn set(&self, content: Content) {
        let number = match content {
            Content::Unknown => UNKNOWN,
            Content::Encoded => ENCODED,
            Content::Hash(hash) => hash.to_number(),
        };
        self.0.store(number, Ordering::Relaxed);
    }
}
