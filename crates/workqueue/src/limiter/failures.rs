//! The number of failures of each item.

use std::collections::HashMap;
use std::hash::Hash;

use crate::capacity::MAX_SPARE_CAPACITY;

/// The number of failures of each item since it was last forgotten.
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

    /// Forgets an item. When the last item is removed, excess memory is freed.
    pub(super) fn forget(&mut self, item: &T) {
        self.counts.remove(item);
        if self.counts.is_empty() && self.counts.capacity() > MAX_SPARE_CAPACITY {
            self.counts = HashMap::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frees_the_memory_of_a_burst() {
        let mut failures = Failures::new();
        let mut capacity_after = |items: u32| {
            (0..items).for_each(|item| assert_eq!(failures.item_failed(&item), 0));
            (0..items).for_each(|item| failures.forget(&item));
            failures.counts.capacity()
        };
        assert_eq!(capacity_after(100_000), 0);
        assert!(capacity_after(500) >= 500);
    }
}
