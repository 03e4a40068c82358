//! What the library counts, and what the process uses.

mod process;
mod tally;

pub(crate) use process::Usage;
pub(crate) use tally::Tally;
