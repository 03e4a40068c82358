//! What is followed, and how.

use super::duration::duration;
use clap::{Args, ValueEnum};
use std::time::Duration;

/// What is followed, and how.
#[derive(Args, Clone, Debug)]
pub(crate) struct Following {
    /// A namespace to follow; may be repeated
    #[arg(short, long = "namespace", value_name = "NS", value_delimiter = ',')]
    pub(crate) namespaces: Vec<String>,

    /// Follows all namespaces
    #[arg(short = 'A', long, conflicts_with = "namespaces")]
    pub(crate) all_namespaces: bool,

    /// Only objects with these labels, such as 'tier=front,env in (a, b)'
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    pub(crate) selector: Option<String>,

    /// Only objects with these fields, such as spec.nodeName=node-17
    #[arg(long, value_name = "SELECTOR")]
    pub(crate) field_selector: Option<String>,

    /// How the initial state is asked for
    #[arg(long, value_enum, default_value_t, value_name = "HOW", help_heading = "Tuning")]
    pub(crate) strategy: Approach,

    /// How objects travel
    #[arg(long, value_enum, default_value_t, value_name = "HOW", help_heading = "Tuning")]
    pub(crate) encoding: Encoding,

    /// How many objects a page of a list has [default: 500, or all in one answer of the server's cache]
    #[arg(long, value_name = "OBJECTS", help_heading = "Tuning")]
    pub(crate) page_size: Option<u64>,

    /// Tells everything known again, this often
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = "Tuning")]
    pub(crate) resync: Option<Duration>,

    /// What is kept of the objects
    #[arg(long, value_enum, default_value_t, value_name = "HOW", help_heading = "Tuning")]
    pub(crate) keep: Keeping,
}

/// How the initial state is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Approach {
    /// As a stream, and by a list where the server has no streams
    #[default]
    Auto,
    /// As a stream or not at all
    Stream,
    /// By a list
    List,
}

/// What is kept of the objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Keeping {
    /// All of them, decoded
    #[default]
    Whole,
    /// Their bytes, compressed: a fraction of the memory, and some work for each look at one
    Compact,
}

/// How objects travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Encoding {
    /// As protobuf, where the server is not newer than this command and the kind has it, and as JSON otherwise
    #[default]
    Auto,
    /// As JSON
    Json,
    /// As protobuf or not at all; custom resources have none
    Protobuf,
}
