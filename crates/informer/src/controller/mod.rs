//! Pops deltas, applies them to the store, and makes the events that handlers follow.

mod event;
mod apply;
mod run;

#[cfg(test)]
#[cfg(feature = "compact")]
mod selecting;
#[cfg(test)]
mod tests;

pub use apply::apply;
pub(crate) use apply::{Extent, Tell, apply_within};
pub use event::Event;
pub use run::{Controller, Process};
