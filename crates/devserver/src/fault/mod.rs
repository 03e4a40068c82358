//! Fault injection: the active faults, with the number of requests that each has affected.

mod call;

mod hit_count;

mod description;

mod effect;

mod active_faults;

#[cfg(test)]
mod tests;

pub use active_faults::{Faults, Injected};
pub use call::Verb;
pub use description::{Fault, Manner};

pub(crate) use call::Call;
pub(crate) use effect::{BookmarkEffect, Cut, Effect, WatchEffect};
