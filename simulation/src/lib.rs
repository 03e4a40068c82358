//! The whole stack on one thread under virtual time, with everything that happens drawn from a seed.
#![expect(clippy::missing_panics_doc, reason = "a simulation that cannot be set up is a mistake of its own")]

mod random;
mod tally;
mod history;
mod act;
mod scenario;
mod truth;
mod tap;
mod ear;
mod follower;
mod server;
mod life;
mod run;

pub use history::{Broken, Outcome, Rule};
pub use run::run;
pub use scenario::Scenario;
pub use tally::Tally;
