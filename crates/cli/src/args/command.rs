//! The command and its subcommands.

use super::{
    complete::Complete,
    devserver::Devserver,
    leases::Leases,
    new_operator::NewOperator,
    recording::{Changes, Diff, Get, ObjectHistory, Record},
    top::{Demo, Top},
    wait::Wait,
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
  informer watch pods -A --once -o wide          the current state, with the columns of kubectl
  informer watch pods --once -o jsonpath='{.items[*].status.podIP}'
  informer watch deploy --changed spec           only changes of the specification
  informer watch nodes --context a --context b   two clusters at once
  informer watch pods --save ~/.cache/informer   restart with what changed in between

Run `informer --help` for the exit codes.";

const WAIT_AFTER: &str = "\
Examples:
  informer wait pod/front-1 --for=condition=Ready --timeout=2m
  informer wait deployment front --for=condition=Available
  informer wait pods -l app=front --for=delete
  informer wait job/import --for=create
  informer wait pod/front-1 --for=jsonpath='{.status.phase}'=Running

The exit code is 1 if the condition is not met in time. Run `informer --help` for the others.";

const RECORD_AFTER: &str = "\
Examples:
  informer record --dir ~/history                            all resources except Secrets
  informer record pods,deployments,replicasets --dir ~/history --keep 2d --max-size 5GB
  informer record --dir ~/history --redact 'configmaps:/data/*' --exclude leases

ConfigMaps, environment variables and custom resources may contain secrets: see --redact.
Run `informer --help` for the exit codes.";

const RECORDED_AFTER: &str = "\
Examples:
  informer history pod/front-1 -n shop -o diff               every version, also if it was deleted
  informer changes --since 10m --ignore status               what changed, and who changed it
  informer changes --owner deployment/front --by kubectl-edit
  informer get pods -n shop --at -10m                        as it was ten minutes ago
  informer diff --from 03:10 --to 03:20 deployments          what differs between two moments

Times are RFC 3339, local without an offset, or -10m. Run `informer --help` for the exit codes.";

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

    /// Wait until objects meet a condition
    #[command(after_help = WAIT_AFTER)]
    Wait(Box<Wait>),

    /// Show live caches on a full screen, with every object and its latest changes
    #[command(after_help = AFTER)]
    Top(Box<Top>),

    /// Serve a page with a timeline of all changes, the state of any moment, and who changed what
    #[command(after_help = AFTER)]
    Web(Box<Web>),

    /// Record every change of a cluster into a folder
    #[command(after_help = RECORD_AFTER)]
    Record(Box<Record>),

    /// Print the recorded versions of an object, also of a deleted one
    #[command(after_help = RECORDED_AFTER)]
    History(Box<ObjectHistory>),

    /// Print recorded changes
    #[command(after_help = RECORDED_AFTER)]
    Changes(Box<Changes>),

    /// Print recorded objects as they were at a moment
    #[command(after_help = RECORDED_AFTER)]
    Get(Box<Get>),

    /// Print the differences between two recorded moments
    #[command(after_help = RECORDED_AFTER)]
    Diff(Box<Diff>),

    /// Show `top` on a built-in server with continuous changes and injected faults
    Demo(Demo),

    /// Show leader elections and shard groups: members, shards, holders, ages and transitions
    #[command(after_help = LEASES_AFTER)]
    Leases(Box<Leases>),

    /// Run a Kubernetes API server without a cluster
    Devserver(Box<Devserver>),

    /// Write the project of a new operator, with tests and manifests
    NewOperator(Box<NewOperator>),

    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },

    /// Print the man page
    Man,

    /// Print the candidates for a word, for completion scripts
    #[command(name = "__complete", hide = true)]
    Complete(Complete),
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
