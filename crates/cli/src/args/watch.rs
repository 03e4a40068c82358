//! The options of `informer watch`.

use super::{cluster::Cluster, duration::duration, following::Following};
use clap::{Args, ValueEnum};
use std::{path::PathBuf, time::Duration};

/// The options of `informer watch`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Watch {
    /// What to follow: pods, po, Pod, deployments.apps, deployments.v1.apps, all; several at once; or one object: pod/front-1
    #[arg(required = true, value_name = "RESOURCE", value_delimiter = ',')]
    pub(crate) resources: Vec<String>,

    #[command(flatten)]
    pub(crate) following: Following,

    /// How events are printed
    #[arg(short, long, value_enum, default_value_t, value_name = "FORM")]
    pub(crate) output: Output,

    /// Prints everything once it is there, sorted, and ends
    #[arg(long)]
    pub(crate) once: bool,

    /// Prints what is there at the beginning too, not only what changes
    #[arg(long, conflicts_with = "once")]
    pub(crate) initial: bool,

    /// Ends after this long
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    pub(crate) period: Option<Duration>,

    /// Keeps what is there in a folder, one for each resource below it: the next run with it goes on from there
    #[arg(long, value_name = "DIR")]
    pub(crate) save: Option<PathBuf>,

    /// Saves Secrets too, in files that only you may read
    #[arg(long, requires = "save")]
    pub(crate) save_secrets: bool,

    /// At the end, writes one JSON line per object: key, uid, resourceVersion
    #[arg(long, value_name = "FILE")]
    pub(crate) dump: Option<PathBuf>,

    /// At the end, writes figures as JSON: objects, times, lists, events, errors, bytes, memory
    #[arg(long, value_name = "FILE")]
    pub(crate) stats: Option<PathBuf>,

    /// Says nothing on stderr but why it fails
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// When to use colours; NO_COLOR is respected
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: Colour,

    #[command(flatten)]
    pub(crate) cluster: Cluster,
}

/// How events are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// Time, what happened, namespace/name, and what changed in words
    #[default]
    Table,
    /// The name as kubectl prints it: pod/front-1, deployment.apps/front
    Name,
    /// One JSON document a line
    Json,
    /// The same as YAML, each document after ---
    Yaml,
    /// Old and new, field by field
    Diff,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    Always,
    Never,
}
