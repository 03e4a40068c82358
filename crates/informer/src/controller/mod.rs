//! Pops deltas, applies them to the store, and makes the events that handlers follow.

mod event;
mod apply;

#[cfg(test)]
mod tests;

pub use apply::apply;
pub use event::Event;
