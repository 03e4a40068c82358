//! The options of `informer watch`.

use super::{
    cluster::Cluster,
    duration::duration,
    informer_args::InformerArgs,
    output::{Output, OutputParser},
};
use crate::jsonpath::Path;
use crate::path_pattern::PathPattern;
use clap::{Args, ValueEnum};
use regex::Regex;
use std::{path::PathBuf, time::Duration};

/// The options of `informer watch`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Watch {
    /// The resources to watch: pods, po, Pod, deployments.apps, deployments.v1.apps, all; or objects: pod/front-1
    #[arg(required = true, value_name = "RESOURCE", value_delimiter = ',')]
    pub(crate) resources: Vec<String>,

    #[command(flatten)]
    pub(crate) informer_args: InformerArgs,

    /// Only objects whose names match this regular expression; may be repeated
    #[arg(long, value_name = "REGEX", value_parser = regex)]
    pub(crate) name: Vec<Regex>,

    /// Not the objects whose names match this regular expression; may be repeated
    #[arg(long, value_name = "REGEX", value_parser = regex)]
    pub(crate) exclude: Vec<Regex>,

    /// Only updates of this field, such as status.phase, /spec/replicas or status.conditions.*.reason; may be repeated
    #[arg(long, value_name = "PATH", value_parser = PathPattern::parse)]
    pub(crate) changed: Vec<PathPattern>,

    /// Not the updates of only this field, such as status or **.lastProbeTime; may be repeated
    #[arg(long, value_name = "PATH", value_parser = PathPattern::parse)]
    pub(crate) ignore: Vec<PathPattern>,

    /// Also print updates of only heartbeats, probe times and lease renewals
    #[arg(long)]
    pub(crate) all_changes: bool,

    /// The output format
    #[arg(short, long, default_value = "table", value_name = "FORM", value_parser = OutputParser)]
    pub(crate) output: Output,

    #[command(flatten)]
    pub(crate) columns: Columns,

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

    /// Print only fatal errors to stderr
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// When to use colors; NO_COLOR is respected
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: Colour,

    #[command(flatten)]
    pub(crate) cluster: Cluster,
}

/// The options for the columns of tables, named as in kubectl.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Columns {
    /// A label that is shown as a column; may be repeated
    #[arg(short = 'L', long = "label-columns", value_name = "LABEL", value_delimiter = ',')]
    pub(crate) labels: Vec<String>,

    /// Show all labels in the last column
    #[arg(long)]
    pub(crate) show_labels: bool,

    /// Print no headers
    #[arg(long)]
    pub(crate) no_headers: bool,

    /// Sort by a field, such as .metadata.creationTimestamp
    #[arg(long, value_name = "PATH", value_parser = path, requires = "once")]
    pub(crate) sort_by: Option<Path>,
}

fn regex(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|error| error.to_string())
}

fn path(text: &str) -> Result<Path, String> {
    Path::parse(text).map_err(|error| error.to_string())
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
