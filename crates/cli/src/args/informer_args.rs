//! The options that select objects and tune the watch.

use super::duration::duration;
use clap::{Args, ValueEnum};
use std::time::Duration;

/// The options that select objects and tune the watch.
#[derive(Args, Clone, Debug)]
pub(crate) struct InformerArgs {
    /// The namespace to watch; may be repeated
    #[arg(short, long = "namespace", value_name = "NS", value_delimiter = ',')]
    pub(crate) namespaces: Vec<String>,

    /// Watch all namespaces
    #[arg(short = 'A', long, conflicts_with = "namespaces")]
    pub(crate) all_namespaces: bool,

    /// The label selector, such as 'tier=front,env in (a, b)'
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    pub(crate) selector: Option<String>,

    /// The field selector, such as spec.nodeName=node-17
    #[arg(long, value_name = "SELECTOR")]
    pub(crate) field_selector: Option<String>,

    /// How to fetch the initial list
    #[arg(long, value_enum, default_value_t, value_name = "HOW", help_heading = "Tuning")]
    pub(crate) strategy: ListStrategy,

    /// The encoding of responses
    #[arg(long, value_enum, default_value_t, value_name = "HOW", help_heading = "Tuning")]
    pub(crate) encoding: Encoding,

    /// The number of objects per list page [default: 500, or everything at once from the server's watch cache]
    #[arg(long, value_name = "OBJECTS", help_heading = "Tuning")]
    pub(crate) page_size: Option<u64>,

    /// Re-emit every cached object at this interval
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = "Tuning")]
    pub(crate) resync: Option<Duration>,

    /// The storage of objects in memory
    #[arg(long, value_enum, default_value_t, value_name = "HOW", help_heading = "Tuning")]
    pub(crate) storage: StorageArg,
}

/// How to fetch the initial list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListStrategy {
    /// Streaming (WatchList), with LIST as the fallback
    #[default]
    Auto,
    /// Streaming (WatchList) only, never LIST
    Stream,
    /// LIST
    List,
}

/// The storage of objects in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum StorageArg {
    /// Compressed bytes: a tenth of the memory, decoded on each access
    #[default]
    Compressed,
    /// Decoded objects
    Decoded,
}

/// The encoding of responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Encoding {
    /// Protobuf if the kind has it and the server is not newer than this command, otherwise JSON
    #[default]
    Auto,
    /// JSON
    Json,
    /// Protobuf only; custom resources do not have it
    Protobuf,
}
