//! Adding at a priority.

use std::hash::Hash;
use std::time::Duration;

use crate::order::Priority;
use crate::queue::Queue;

/// Adds items to a queue with a fixed priority; see [`Queue::at_priority`].
#[derive(Debug)]
#[must_use]
pub struct AtPriority<'a, T> {
    queue: &'a Queue<T, Priority>,
    priority: i32,
}

impl<T> Queue<T, Priority> {
    /// Selects the priority of added items: `queue.at_priority(10).add(item)`. The default is 0.
    ///
    /// An item that is added several times gets the highest of the priorities since it was last handed out. Its first add
    /// determines its position among the items of that priority.
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
