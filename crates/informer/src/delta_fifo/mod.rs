//! client-go's `DeltaFIFO` and the process loop over it (`cache.Controller`), for programs that assemble a cache by hand.
//!
//! [`DeltaFifo`] groups changes by key. [`ProcessLoop`] runs a reflector into it and passes what is popped to a function; [`apply`] is
//! the function that keeps a store up to date.

mod deltas;
mod queue;
mod fifo;
mod apply;
mod process_loop;

#[cfg(test)]
mod apply_tests;
#[cfg(test)]
mod tests;

pub use apply::apply;
pub use deltas::Deltas;
pub use fifo::{Applied, Batch, ClosedError, DeltaFifo, DeltaFifoBuilder};
pub use process_loop::{Process, ProcessLoop};
pub use queue::Entry;
