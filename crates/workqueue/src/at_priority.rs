//! Adding at a priority.

use std::hash::Hash;
use std::time::Duration;

use crate::order::Priority;
use crate::queue::Queue;

/// A view of a queue whose adds all carry one priority; see [`Queue::at_priority`].
#[derive(Debug)]
#[must_use]
pub struct AtPriority<'a, T> {
    queue: &'a Queue<T, Priority>,
    priority: i32,
}

impl<T> Queue<T, Priority> {
    /// Adds at this priority: `queue.at_priority(10).add(item)`. Without it, items have priority 0.
    ///
    /// An item that is known already keeps the highest priority asked for since it was last handed out, and its
    /// place among the items of that priority is by its first add.
    pub fn at_priority(&self, priority: i32) -> AtPriority<'_, T> {
        AtPriority { queue: self, priority }
    }
}

impl<T: Clone + Eq + Hash> AtPriority<'_, T> {
    /// Adds an item, as [`Queue::add`] does.
    pub fn add(&self, item: T) {
        self.queue.add_level(item, self.priority);
    }

    /// Adds an item once `delay` has passed, as [`Queue::add_after`] does.
    pub fn add_after(&self, item: T, delay: Duration) {
        self.queue.add_level_after(item, self.priority, delay);
    }

    /// Adds an item as soon as the rate limiter allows it, as [`Queue::add_rate_limited`] does.
    pub fn add_rate_limited(&self, item: T) {
        self.queue.add_level_rate_limited(item, self.priority);
    }
}
