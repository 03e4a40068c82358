//! The builder of a queue.

use std::fmt;
use std::hash::Hash;

use crate::backlog::Backlog;
use crate::limiter::{RateLimiter, default_controller};
use crate::locked_state::{BoxedLimiter, Shared};
use crate::order::{Fifo, Order};
use crate::queue::Queue;
use crate::state::State;
use crate::sync::now;

/// Builds a [`Queue`] with settings other than the default ones.
#[must_use]
pub struct Builder<T, O: Order = Fifo> {
    order: O,
    limiter: BoxedLimiter<T>,
    metering: Metering,
}

#[derive(Debug)]
enum Metering {
    Off,
    On,
}

impl<T: Clone + Eq + Hash + Send + 'static> Queue<T> {
    /// Creates a FIFO queue with the rate limiter of
    /// [`default_controller`](crate::limiter::default_controller).
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a builder for a queue with other settings.
    pub fn builder() -> Builder<T> {
        Builder { order: Fifo::default(), limiter: Box::new(default_controller()), metering: Metering::Off }
    }
}

impl<T: Clone + Eq + Hash + Send + 'static, O: Order + Default> Default for Queue<T, O> {
    fn default() -> Self {
        Queue::builder().order(O::default()).build()
    }
}

impl<T, O: Order> Builder<T, O> {
    /// Sets the order in which items are handed out.
    pub fn order<P: Order>(self, order: P) -> Builder<T, P> {
        Builder { order, limiter: self.limiter, metering: self.metering }
    }

    /// Sets the rate limiter for [`Queue::add_rate_limited`].
    pub fn rate_limiter(self, limiter: impl RateLimiter<T> + Send + 'static) -> Self {
        Self { limiter: Box::new(limiter), ..self }
    }

    /// Makes the queue record [`Metrics`](crate::Metrics), which reads the clock in each operation.
    pub fn with_metrics(self) -> Self {
        Self { metering: Metering::On, ..self }
    }

    /// Creates the queue.
    pub fn build(self) -> Queue<T, O> {
        let backlog = Backlog::new(self.order, now());
        let backlog = match self.metering {
            Metering::Off => backlog,
            Metering::On => backlog.with_metrics(),
        };
        Queue::from_shared(Shared::new(State::new(backlog), self.limiter))
    }
}

impl<T, O: Order + fmt::Debug> fmt::Debug for Builder<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("order", &self.order)
            .field("metering", &self.metering)
            .finish_non_exhaustive()
    }
}
