//! The metrics of the library, and the resource usage of the process.

mod process;
mod tally;

pub(crate) use process::Usage;
pub(crate) use tally::Tally;
