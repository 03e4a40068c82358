//! In which order ready items leave the queue.

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Debug;

use crate::spare::SPARE;

/// Decides which ready item is next: [`Fifo`] or [`Priority`].
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
/// A strict order starves: as long as work of a higher priority keeps arriving faster than it is done, the rest
/// never runs (controller-runtime issue 3496). [`with_patience`](Self::with_patience) bounds that.
#[derive(Debug, Default)]
pub struct Priority {
    ready: BTreeSet<(i128, u64, Slot)>,
    patience: Option<u32>,
}

impl Priority {
    /// Creates an order in which priority always wins; the same as `default`.
    pub fn strict() -> Self {
        Self::default()
    }

    /// Creates an order in which an item is overtaken by at most `arrivals` later items for each level they are
    /// above it, so that everything is handed out in the end.
    ///
    /// With `100`, an item of priority 0 lets pass what arrives at priority 3 among the next 300 items.
    pub fn with_patience(arrivals: u32) -> Self {
        Self { patience: Some(arrivals), ..Self::default() }
    }

    fn key(&self, slot: Slot, place: Place<i32>) -> (i128, u64, Slot) {
        // Waiting lifts every item at the same speed, so the difference between two items never changes and a
        // fixed key is enough.
        let rank = match self.patience {
            None => -i128::from(place.level),
            Some(patience) => i128::from(place.arrival) - i128::from(place.level) * i128::from(patience),
        };
        (rank, place.arrival, slot)
    }
}

impl Order for Fifo {}
impl Order for Priority {}

/// Where an item is stored while the queue knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot(pub(crate) u32);

/// What an item's turn depends on.
#[derive(Clone, Copy, Debug)]
pub struct Place<L> {
    pub(crate) level: L,
    /// Counts up with each arrival.
    pub(crate) arrival: u64,
}

/// The methods of [`Order`], which nobody else implements or calls.
pub trait Arrange {
    /// The priority of an item, `()` where there is none.
    type Level: Copy + Ord + Default + Debug;

    /// Adds an item that is not ready yet.
    fn push(&mut self, slot: Slot, place: Place<Self::Level>);

    /// Moves a ready item up.
    fn raise(&mut self, slot: Slot, from: Place<Self::Level>, to: Place<Self::Level>);

    /// Removes the next item.
    fn pop(&mut self) -> Option<Slot>;

    /// Counts the ready items.
    fn len(&self) -> usize;
}

impl Arrange for Fifo {
    type Level = ();

    fn push(&mut self, slot: Slot, _: Place<()>) {
        self.ready.push_back(slot);
    }

    fn raise(&mut self, _: Slot, _: Place<()>, _: Place<()>) {}

    fn pop(&mut self) -> Option<Slot> {
        let next = self.ready.pop_front();
        if self.ready.is_empty() && self.ready.capacity() > SPARE {
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

    fn push(&mut self, slot: Slot, place: Place<i32>) {
        self.ready.insert(self.key(slot, place));
    }

    fn raise(&mut self, slot: Slot, from: Place<i32>, to: Place<i32>) {
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
            order.push(Slot(arrival), Place { level, arrival: arrival.into() });
        }
        std::iter::from_fn(|| order.pop()).map(|slot| levels[slot.0 as usize]).collect()
    }

    #[test]
    fn fifo_gives_the_memory_of_a_burst_back_and_keeps_the_usual_room() {
        let mut order = Fifo::default();
        let mut room_after = |items| {
            (0..items).for_each(|item| order.push(Slot(item), Place { level: (), arrival: item.into() }));
            assert!((0..items).all(|item| order.pop() == Some(Slot(item))));
            order.ready.capacity()
        };
        assert_eq!(room_after(100_000), 0);
        assert!(room_after(500) >= 500);
        assert!(room_after(1) >= 500);
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
        let place = |level, arrival| Place { level, arrival };
        order.push(Slot(0), place(0, 0));
        order.push(Slot(1), place(5, 1));
        order.raise(Slot(0), place(0, 0), place(5, 0));
        assert_eq!((order.pop(), order.pop(), order.pop()), (Some(Slot(0)), Some(Slot(1)), None));
    }
}
