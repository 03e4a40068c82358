//! An item that is being processed.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::backlog::Taken;
use crate::locked_state::Shared;
use crate::order::{Fifo, Order, Priority};

/// An item that a worker is processing. Dropping it marks the item as done.
///
/// While it exists, no other worker gets an equal item. An equal item that is added meanwhile becomes ready when this is
/// dropped, also if the worker is cancelled or panics.
#[must_use = "dropping it marks the item as done"]
pub struct Processing<T, O: Order = Fifo> {
    taken: Taken<T, O::Level>,
    shared: Arc<Shared<T, O>>,
}

impl<T, O: Order> Processing<T, O> {
    pub(crate) fn new(taken: Taken<T, O::Level>, shared: Arc<Shared<T, O>>) -> Self {
        Self { taken, shared }
    }

    /// Marks the item as done, as dropping does.
    pub fn done(self) {}
}

impl<T> Processing<T, Priority> {
    /// Returns the priority at which the item was handed out, to add it again at the same one.
    pub fn priority(&self) -> i32 {
        self.taken.level
    }
}

impl<T, O: Order> Deref for Processing<T, O> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.taken.item
    }
}

impl<T, O: Order> Drop for Processing<T, O> {
    fn drop(&mut self) {
        self.shared.update(|state| state.backlog.done(self.taken.slot));
    }
}

impl<T: fmt::Debug, O: Order> fmt::Debug for Processing<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Processing").field(&self.taken.item).finish()
    }
}
