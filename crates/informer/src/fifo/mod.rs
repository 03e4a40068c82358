//! What happened to which key, in order: the queue between the reflector and the controller.

mod delta;
mod queue;
mod rejected;
mod transform;
mod batch;
mod channel;
mod builder;
mod sink;

#[cfg(test)]
mod tests;

pub use batch::{Applied, Batch};
pub use builder::Builder;
pub use channel::{Closed, DeltaFifo};
pub use delta::{Delta, Deltas};
pub use queue::Entry;
pub use rejected::Rejected;
