//! Objects that were read last, decoded.

use super::packed::Packed;
use arc_swap::ArcSwapOption;
use std::sync::Arc;

/// A few decoded objects, each in the one place that its key has: so that reading the same again costs next to nothing.
pub(super) struct Hot<K> {
    slots: Box<[ArcSwapOption<Slot<K>>]>,
}

struct Slot<K> {
    packed: Packed<K>,
    object: Arc<K>,
}

/// How many. A decoded pod takes a hundred times what a packed one does.
const SLOTS: usize = 32;

impl<K> Hot<K> {
    pub(super) fn new() -> Self {
        Self { slots: (0..SLOTS).map(|_| ArcSwapOption::empty()).collect() }
    }

    /// The object that `packed` decodes to, if it is here.
    pub(super) fn find(&self, digest: u64, packed: &Packed<K>) -> Option<Arc<K>> {
        let slot = self.slot(digest).load();
        slot.as_ref().filter(|slot| slot.packed.ptr_eq(packed)).map(|slot| Arc::clone(&slot.object))
    }

    pub(super) fn put(&self, digest: u64, packed: Packed<K>, object: Arc<K>) {
        self.slot(digest).store(Some(Arc::new(Slot { packed, object })));
    }

    fn slot(&self, digest: u64) -> &ArcSwapOption<Slot<K>> {
        // The low bits tell keys of one trie node apart, the high ones anything.
        &self.slots[(digest >> 48) as usize % SLOTS]
    }
}
