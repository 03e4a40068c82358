//! What happened to which key, in order: the queue between the reflector and the controller.

mod delta;
mod queue;
mod rejected;
mod transform;
mod batch;
mod fifo;
mod builder;
mod sink;
mod process_loop;

#[cfg(test)]
mod apply_tests;
#[cfg(test)]
mod compressed_tests;
#[cfg(test)]
mod tests;

pub use crate::cache::apply;
pub use batch::{Applied, Batch};
pub use builder::Builder;
pub use delta::{Delta, Deltas};
pub use fifo::{Closed, DeltaFifo};
pub use process_loop::{Controller, Process};
pub use queue::Entry;
pub use rejected::Rejected;
