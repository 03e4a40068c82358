//! How often each item has failed.

use std::collections::HashMap;
use std::hash::Hash;

use crate::spare::SPARE;

/// The failures of each item that is not forgotten.
#[derive(Clone, Debug)]
pub(super) struct Failures<T> {
    counts: HashMap<T, u32>,
}

impl<T> Failures<T> {
    pub(super) fn new() -> Self {
        Self { counts: HashMap::new() }
    }
}

impl<T: Clone + Eq + Hash> Failures<T> {
    /// Counts one more failure, and returns how many there were before it.
    pub(super) fn item_failed(&mut self, item: &T) -> u32 {
        let count = self.counts.entry(item.clone()).or_insert(0);
        let before = *count;
        *count = before.saturating_add(1);
        before
    }

    pub(super) fn count(&self, item: &T) -> u32 {
        self.counts.get(item).copied().unwrap_or(0)
    }

    /// Forgets an item. With the last one goes the memory that a burst has left.
    pub(super) fn forget(&mut self, item: &T) {
        self.counts.remove(item);
        if self.counts.is_empty() && self.counts.capacity() > SPARE {
            self.counts = HashMap::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_of_failures_leaves_no_memory_behind() {
        let mut failures = Failures::new();
        let mut room_after = |items: u32| {
            (0..items).for_each(|item| assert_eq!(failures.item_failed(&item), 0));
            (0..items).for_each(|item| failures.forget(&item));
            failures.counts.capacity()
        };
        assert_eq!(room_after(100_000), 0);
        assert!(room_after(500) >= 500);
    }
}
