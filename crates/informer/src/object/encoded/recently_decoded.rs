//! Objects that were read last, decoded.

use arc_swap::ArcSwapOption;
use std::sync::Arc;

/// A few decoded objects, each in the one place that its key has: so that reading the same again costs next to nothing.
///
/// Beside each is what it was decoded of.
pub(super) struct Hot<P, K> {
    slots: Box<[ArcSwapOption<Slot<P, K>>]>,
}

struct Slot<P, K> {
    packed: P,
    object: Arc<K>,
}

/// How many. A decoded pod takes a hundred times what a packed one does.
const SLOTS: usize = 32;

impl<P, K> Hot<P, K> {
    pub(super) fn new() -> Self {
        Self { slots: (0..SLOTS).map(|_| ArcSwapOption::empty()).collect() }
    }

    /// The object under this hash, if it was decoded of what is meant.
    pub(super) fn find(&self, digest: u64, is: impl FnOnce(&P) -> bool) -> Option<Arc<K>> {
        let slot = self.slot(digest).load();
        slot.as_ref().filter(|slot| is(&slot.packed)).map(|slot| Arc::clone(&slot.object))
    }

    pub(super) fn put(&self, digest: u64, packed: P, object: Arc<K>) {
        self.slot(digest).store(Some(Arc::new(Slot { packed, object })));
    }

    fn slot(&self, digest: u64) -> &ArcSwapOption<Slot<P, K>> {
        // The low bits tell keys of one trie node apart, the high ones anything.
        &self.slots[(digest >> 48) as usize % SLOTS]
    }
}
