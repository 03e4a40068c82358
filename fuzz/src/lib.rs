//! Runs every decoder with hostile input, and checks the results.
//!
//! A target is a function of bytes that panics if a check fails. `cargo xtask test fuzz` runs all targets for a limited time on the
//! stable toolchain; `docs/fuzzing.md` describes how to run one, and how to replay an input.

mod pieces;
mod frames;
mod lists;
mod objects;
mod protobuf;
mod status;
mod query;
mod selectors;
mod keys;
mod file_names;
mod saved;
mod history;
mod command;
mod target;
mod corpus;
mod mutate;
mod run;

pub use run::{Budget, Failure, Input, Outcome, attempt, run};
pub use target::{TARGETS, Target, named};
