//! Where a kind stands at one moment.

use std::{collections::BTreeMap, time::Duration};

/// Where a kind stands at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Reading {
    pub(super) resource: String,
    pub(super) phase: Phase,
    pub(super) objects: u64,
    pub(super) version: String,
    /// Changes a second.
    pub(super) rate: f64,
    /// How long the oldest change has waited to be shown.
    pub(super) lag: Duration,
    /// How often the whole state was asked for, as a list or as a stream.
    pub(super) lists: u64,
    pub(super) relists: BTreeMap<String, u64>,
    pub(super) errors: BTreeMap<String, u64>,
    pub(super) bytes: u64,
    /// How many bytes its objects take, where they are kept compact.
    pub(super) kept: Option<u64>,
    /// What is wrong just now.
    pub(super) trouble: Option<String>,
    /// How long ago something last came from the server.
    pub(super) heard: Option<Duration>,
}

/// What a kind's reflectors are at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    #[default]
    Starting,
    Listing,
    Watching,
    Waiting,
    Stopped,
}

impl Phase {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Listing => "listing",
            Self::Watching => "watching",
            Self::Waiting => "waiting",
            Self::Stopped => "stopped",
        }
    }
}

/// What the process uses of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Machine {
    pub(super) uptime: Duration,
    pub(super) rss_bytes: Option<u64>,
    /// Processor time since the last reading, in hundredths of one core.
    pub(super) cpu_percent: Option<f64>,
}

/// `expired 2, transport 1`, or nothing.
pub(super) fn told(counts: &BTreeMap<String, u64>) -> String {
    counts.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
}
