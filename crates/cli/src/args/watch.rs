//! The options of `informer watch`.

use super::{cluster::Cluster, duration::duration, following::Following};
use clap::{Args, ValueEnum};
use std::{path::PathBuf, time::Duration};

/// The options of `informer watch`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Watch {
    /// The resources to watch: pods, po, Pod, deployments.apps, deployments.v1.apps, all; or objects: pod/front-1
    #[arg(required = true, value_name = "RESOURCE", value_delimiter = ',')]
    pub(crate) resources: Vec<String>,

    #[command(flatten)]
    pub(crate) following: Following,

    /// The output format
    #[arg(short, long, value_enum, default_value_t, value_name = "FORM")]
    pub(crate) output: Output,

    /// Print the current state, sorted, and exit
    #[arg(long)]
    pub(crate) once: bool,

    /// Also print the objects of the initial list
    #[arg(long, conflicts_with = "once")]
    pub(crate) initial: bool,

    /// Stop after this time
    #[arg(long = "timeout", visible_alias = "for", value_name = "DURATION", value_parser = duration)]
    pub(crate) period: Option<Duration>,

    /// Save the caches to a folder; the next run continues from there and prints what changed in between
    #[arg(long, value_name = "DIR")]
    pub(crate) save: Option<PathBuf>,

    /// Save Secrets too, in files that only you can read
    #[arg(long, requires = "save")]
    pub(crate) save_secrets: bool,

    /// At the end, write one JSON line per object: key, uid, resourceVersion; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) dump: Option<PathBuf>,

    /// At the end, write statistics as JSON: objects, times, lists, events, errors, bytes, memory; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) stats: Option<PathBuf>,

    /// Print nothing but fatal errors to stderr
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// When to use colors; NO_COLOR is respected
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: Colour,

    #[command(flatten)]
    pub(crate) cluster: Cluster,
}

/// The output format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// Time, event, namespace/name, and a summary of the change
    #[default]
    Table,
    /// The name as in kubectl: pod/front-1, deployment.apps/front
    Name,
    /// One JSON document per line
    Json,
    /// The same as YAML documents
    Yaml,
    /// The old and the new value of each changed field
    Diff,
}

/// When to use colors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    Always,
    Never,
}
