//! The hash of the content of an encoded object.

use kube_informer_wire::ContentHash;
use std::sync::atomic::{AtomicU64, Ordering};

/// The hash of the content that the server sent, in eight bytes. It can be set later.
#[derive(Debug)]
pub(super) struct ContentSlot(AtomicU64);

/// No hash has this number.
const EMPTY: u64 = 0;

impl ContentSlot {
    pub(super) fn new(content: Option<ContentHash>) -> Self {
        Self(AtomicU64::new(content.map_or(EMPTY, ContentHash::to_number)))
    }

    pub(super) fn get(&self) -> Option<ContentHash> {
        ContentHash::from_number(self.0.load(Ordering::Relaxed))
    }

    pub(super) fn set(&self, content: ContentHash) {
        self.0.store(content.to_number(), Ordering::Relaxed);
    }
}
