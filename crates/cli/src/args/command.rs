//! The command and its subcommands.

use super::{
    devserver::Devserver,
    leases::Leases,
    top::{Demo, Top},
    watch::Watch,
    web::Web,
};
use clap::{Parser, Subcommand};

const AFTER: &str = "\
Exit codes:
  0  success, including Ctrl-C and a closed stdout
  1  any other error, such as an object that does not exist
  2  invalid command line
  3  the server does not serve the resource
  4  no cluster is configured, or its configuration is invalid
  5  the server denied access: 401 or 403
  6  the server cannot be reached, or its certificate is not trusted

Without a subcommand: `demo` on a terminal, otherwise three seconds of `watch pods --demo`.";

const WATCH_AFTER: &str = "\
Examples:
  informer watch pods -n shop                    changes of the pods of one namespace
  informer watch pods,deployments -A -o diff     every changed field, old and new
  informer watch pod/front-1 --initial           one object, with its current state
  informer watch pods -A --once                  the current state, as a table
  informer watch pods --save ~/.cache/informer   restart with what changed in between

Run `informer --help` for the exit codes.";

const LEASES_AFTER: &str = "\
Examples:
  informer leases -n ops               all leader elections and shard groups of a namespace, live
  informer leases websites --once      one of them, once

Ages are differences between the clock of this machine and those of the holders.";

/// Watch any Kubernetes resource: its current state, every change, and the health of the watch.
#[derive(Debug, Parser)]
#[command(name = "informer", version, after_help = AFTER, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print every change of resources as it happens
    #[command(after_help = WATCH_AFTER, visible_alias = "w")]
    Watch(Box<Watch>),

    /// Show live caches on a full screen, with every object and its latest changes
    #[command(after_help = AFTER)]
    Top(Box<Top>),

    /// Serve a page with a timeline of all changes, the state of any moment, and who changed what
    #[command(after_help = AFTER)]
    Web(Box<Web>),

    /// Show `top` on a built-in server with continuous changes and injected faults
    Demo(Demo),

    /// Show leader elections and shard groups: members, shards, holders, ages and transitions
    #[command(after_help = LEASES_AFTER)]
    Leases(Box<Leases>),

    /// Run a Kubernetes API server without a cluster
    Devserver(Box<Devserver>),

    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },

    /// Print the man page
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
