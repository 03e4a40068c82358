//! Feeds every decoder with input that means harm, and holds what comes out against what must.
//!
//! A target is a function of bytes that panics when something is wrong. `cargo xtask test fuzz` runs them all for a bounded time on
//! the stable toolchain; `docs/fuzzing.md` says how to run one, and how to replay what it found.

mod random;

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

mod command;

mod target;

mod corpus;

mod mutate;

mod run;

pub use run::{Budget, Failure, Input, Outcome, attempt, run};
pub use target::{TARGETS, Target, named};
