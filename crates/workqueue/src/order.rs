//! The order in which ready items are handed out.

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Debug;

use crate::capacity::MAX_SPARE_CAPACITY;

/// Selects the next ready item: [`Fifo`] or [`Priority`].
///
/// The trait is sealed; it exists so that one queue serves both orders.
pub trait Order: Arrange {}

/// Hands items out in the order of their arrival.
#[derive(Debug, Default)]
pub struct Fifo {
    ready: VecDeque<Slot>,
}

/// Hands items out by priority, the highest first, and by arrival within one priority.
///
/// A strict order can starve items: while items of a higher priority arrive faster than they are processed, the others
/// are never handed out. [`with_patience`](Self::with_patience) prevents that.
#[derive(Debug, Default)]
pub struct Priority {
    ready: BTreeSet<(i64, u64, Slot)>,
    patience: Option<u32>,
}

impl Priority {
    /// Creates an order in which priority always wins; the same as `default`.
    pub fn strict() -> Self {
        Self::default()
    }

    /// Creates an order in which an item is overtaken by at most `arrivals` later items for each level they are
    /// above it, so that every item is handed out eventually (priority aging).
    ///
    /// With `100`, an item of priority 0 is overtaken by items of priority 3 among the next 300 arrivals.
    pub fn with_patience(arrivals: u32) -> Self {
        Self { patience: Some(arrivals), ..Self::default() }
    }

    fn key(&self, slot: Slot, position: Position<i32>) -> (i64, u64, Slot) {
        // All waiting items age at the same rate, so their order never changes and a fixed key is enough.
        let level = i64::from(position.level);
        let rank = match self.patience {
            None => -level,
            // The product of 32-bit numbers does not overflow, and arrivals count from zero.
            Some(patience) => position.arrival.cast_signed().saturating_sub(level * i64::from(patience)),
        };
        (rank, position.arrival, slot)
    }
}

impl Order for Fifo {}
impl Order for Priority {}

/// The index of a stored item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot(pub(crate) u32);

/// Determines when an item is handed out.
#[derive(Clone, Copy, Debug)]
pub struct Position<L> {
    pub(crate) level: L,
    /// Counts up with each arrival.
    pub(crate) arrival: u64,
}

/// The private methods of [`Order`].
pub trait Arrange {
    /// The priority of an item, `()` where there is none.
    type Level: Copy + Ord + Default + Debug;

    /// Adds an item that is not ready yet.
    fn push(&mut self, slot: Slot, position: Position<Self::Level>);

    /// Raises the priority of a ready item.
    fn raise(&mut self, slot: Slot, from: Position<Self::Level>, to: Position<Self::Level>);

    /// Removes the next item.
    fn pop(&mut self) -> Option<Slot>;

    /// Counts the ready items.
    fn len(&self) -> usize;
}

impl Arrange for Fifo {
    type Level = ();

    fn push(&mut self, slot: Slot, _: Position<()>) {
        self.ready.push_back(slot);
    }

    fn raise(&mut self, _: Slot, _: Position<()>, _: Position<()>) {}

    fn pop(&mut self) -> Option<Slot> {
        let next = self.ready.pop_front();
        if self.ready.is_empty() && self.ready.capacity() > MAX_SPARE_CAPACITY {
            self.ready = VecDeque::new();
        }
        next
    }

    fn len(&self) -> usize {
        self.ready.len()
    }
}

impl Arrange for Priority {
    type Level = i32;

    fn push(&mut self, slot: Slot, position: Position<i32>) {
        self.ready.insert(self.key(slot, position));
    }

    fn raise(&mut self, slot: Slot, from: Position<i32>, to: Position<i32>) {
        self.ready.remove(&self.key(slot, from));
        self.ready.insert(self.key(slot, to));
    }

    fn pop(&mut self) -> Option<Slot> {
        self.ready.pop_first().map(|(_, _, slot)| slot)
    }

    fn len(&self) -> usize {
        self.ready.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pushes one item per level, in this order, and returns the levels in the order they come out.
    fn served(mut order: Priority, levels: &[i32]) -> Vec<i32> {
        for (arrival, &level) in (0..).zip(levels) {
            order.push(Slot(arrival), Position { level, arrival: arrival.into() });
        }
        std::iter::from_fn(|| order.pop()).map(|slot| levels[slot.0 as usize]).collect()
    }

    #[test]
    fn fifo_frees_the_memory_of_a_burst_and_keeps_a_small_capacity() {
        let mut order = Fifo::default();
        let mut capacity_after = |items| {
            (0..items).for_each(|item| order.push(Slot(item), Position { level: (), arrival: item.into() }));
            assert!((0..items).all(|item| order.pop() == Some(Slot(item))));
            order.ready.capacity()
        };
        assert_eq!(capacity_after(100_000), 0);
        assert!(capacity_after(500) >= 500);
        assert!(capacity_after(1) >= 500);
    }

    #[test]
    fn strict_priority_serves_the_highest_first() {
        assert_eq!(served(Priority::strict(), &[0, 1, -5, 1, 9]), [9, 1, 1, 0, -5]);
    }

    #[test]
    fn patience_bounds_how_many_later_items_overtake() {
        assert_eq!(served(Priority::with_patience(3), &[0, 1, 1, 1, 1]), [1, 1, 0, 1, 1]);
    }

    #[test]
    fn extreme_levels_do_not_overflow() {
        let order = Priority::with_patience(u32::MAX);
        assert_eq!(served(order, &[i32::MIN, 0, i32::MAX]), [i32::MAX, 0, i32::MIN]);
    }

    #[test]
    fn a_raised_item_keeps_its_arrival() {
        let mut order = Priority::strict();
        let position = |level, arrival| Position { level, arrival };
        order.push(Slot(0), position(0, 0));
        order.push(Slot(1), position(5, 1));
        order.raise(Slot(0), position(0, 0), position(5, 0));
        assert_eq!((order.pop(), order.pop(), order.pop()), (Some(Slot(0)), Some(Slot(1)), None));
    }
}
