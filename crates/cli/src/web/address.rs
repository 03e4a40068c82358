//! Maps by the addresses of texts that changes share.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

/// A map by the addresses of texts.
pub(super) type TextMap<K, V> = HashMap<K, V, BuildHasherDefault<AddressHasher>>;

/// Hashes addresses, which no client chooses, with a multiplication for each.
#[derive(Clone, Copy, Default)]
pub(super) struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_usize((*byte).into()));
    }

    fn write_usize(&mut self, number: usize) {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        self.0 = (self.0.rotate_left(5) ^ number as u64).wrapping_mul(ODD);
    }

    fn finish(&self) -> u64 {
        // The lower bits select the bucket of a map, and are the worst ones after a multiplication.
        self.0.rotate_left(26)
    }
}

pub(super) fn address(text: &str) -> usize {
    text.as_ptr() as usize
}
