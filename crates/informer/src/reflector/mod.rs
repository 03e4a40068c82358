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
mod report;
mod resync;
mod speaker;
mod driver;

#[cfg(test)]
mod tests;

pub use backoff::Backoff;
pub use config::{Config, Strategy};
pub use driver::Reflector;
pub use report::{Activity, Cause, Counts, Outlook, Phase, Report, Status};
pub use sink::Sink;
