//! Many informers under load for a long time, with faults: `cargo xtask soak`.

mod options;
mod slope;
mod sample;
mod verdict;
mod document;
mod run;

pub(crate) use options::{HELP, Options, parse, smoke};
pub(crate) use run::run;
