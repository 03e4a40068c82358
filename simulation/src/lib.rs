//! The whole stack on one thread under virtual time, with everything that happens drawn from a seed.
//!
//! A [`Scenario`] is a server, an informer with its options, and a script: writes, faults, followers that come, lag and leave,
//! informers that are stopped, dropped or killed and begin anew, from nothing or from what was saved. [`run`] lives through it and holds what is seen against the
//! [`Rule`]s, after every act and whenever things have calmed down. The same seed does the same, byte for byte, so that what is
//! found can be looked at, [shrunk](shrink()) and mended. `docs/simulation.md` says more.

mod random;
mod tally;
mod history;
mod act;
mod scenario;
mod truth;
mod tap;
mod diary;
mod ear;
mod follower;
mod server;
mod folder;
mod birth;
mod life;
mod pulse;
mod run;
mod shrink;
mod arguments;
mod campaign;

pub use arguments::{Command, HELP, Seeds, parse};
pub use campaign::{Found, campaign};
pub use history::{Broken, Outcome, Rule};
pub use run::run;
pub use scenario::Scenario;
pub use shrink::shrink;
pub use tally::Tally;
