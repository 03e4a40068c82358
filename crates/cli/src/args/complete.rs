//! The arguments of the command that completion scripts run.

use clap::Args;

/// The arguments of `informer __complete`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Complete {
    /// The position of the word to complete; the name of the program has position 0
    pub(crate) position: usize,

    /// The command line, word by word
    #[arg(last = true)]
    pub(crate) words: Vec<String>,
}
