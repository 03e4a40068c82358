//! What the server does wrong on purpose: a script of faults, each counted as it strikes.

mod call;

mod tally;

mod description;

mod effect;

mod script;

#[cfg(test)]
mod tests;

pub use call::Verb;
pub use description::{Fault, Manner};
pub use script::{Faults, Injected};

pub(crate) use call::Call;
pub(crate) use effect::{Cut, Effect, Notice, WatchEffect};
