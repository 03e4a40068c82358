//! The command and its subcommands.

use super::{
    devserver::Devserver,
    top::{Demo, Top},
    watch::Watch,
};
use clap::{Parser, Subcommand};

const AFTER: &str = "\
Exit codes:
  0  ended as asked, also by Ctrl-C or because the reader of stdout went away
  1  something else went wrong
  2  the command line is not understood
  3  the server has no such resource
  4  the cluster's configuration is broken
  5  the server refuses: 401 or 403
  6  the server cannot be reached, or its certificate is not trusted

Without a subcommand: `demo` on a terminal, and otherwise a glimpse of `watch pods`, both on a server within this process.";

/// Follows any Kubernetes resource: what is there, what changes, and how the cache fares.
#[derive(Debug, Parser)]
#[command(name = "informer", version, after_help = AFTER, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Prints every change of resources as it happens
    #[command(after_help = AFTER, visible_alias = "w")]
    Watch(Box<Watch>),

    /// Shows caches at work on a screen, down to single objects and their changes
    #[command(after_help = AFTER)]
    Top(Box<Top>),

    /// Shows `top` on a server within this process that changes all the time and fails now and then
    Demo(Demo),

    /// Runs a Kubernetes API server without a cluster
    Devserver(Box<Devserver>),

    /// Prints what a shell needs to complete this command
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },

    /// Prints the man page
    Man,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }
}
