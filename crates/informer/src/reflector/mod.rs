//! Follows a source for ever: the initial state, then every change, and back again after every failure.

mod dice;
mod backoff;
mod patience;
mod failure;
mod config;
mod step;
mod open;
mod cursor;
mod sink;
mod collection;
mod inventory;
mod report;
mod resync;
mod journal;
pub mod metrics;
mod live;
mod speaker;
mod driver;
mod event;
mod check;

#[cfg(test)]
mod tests;

pub use backoff::Backoff;
pub use config::{Config, Consistency, Strategy};
pub use driver::{Reflector, RoundEnd};
pub use inventory::Differences;
pub use report::{Activity, Cause, Counts, Outlook, Phase, Report, Status};
pub use sink::{LeftOut, Sink};
