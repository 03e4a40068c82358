//! A simulation of server, informer and subscribers in one thread under virtual time, determined by a seed.
//!
//! A [`Scenario`] is the configuration of a server and an informer, and a list of actions: writes, faults, subscribers that join,
//! fall behind and leave, and informers that are stopped, dropped or killed and started again, with or without a saved cache.
//! [`run`] executes it and checks the [`Rule`]s after every action. The same seed has the same result, byte for byte, so that a
//! violation can be reproduced and [shrunk](shrink()). See `docs/simulation.md`.

mod planted_bug;
mod statistics;
mod history;
mod action;
mod scenario;
mod write_log;
mod transport;
mod persisted_state;
mod subscriber_check;
mod subscriber;
mod server;
mod folder;
mod informer_start;
mod informer_run;
mod watchdog;
mod run;
mod shrink;
mod arguments;
mod campaign;

pub use arguments::{Command, HELP, Seeds, parse};
pub use campaign::{CampaignResult, campaign};
pub use history::{Broken, Outcome, Rule};
pub use planted_bug::PlantedBug;
pub use run::run;
pub use scenario::Scenario;
pub use shrink::shrink;
pub use statistics::Statistics;
