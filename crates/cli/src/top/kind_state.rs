//! The state of a kind at one moment.

use std::{collections::BTreeMap, time::Duration};

/// The state of a kind at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct KindState {
    /// The position of the kind among those that are watched.
    pub(super) at: usize,
    pub(super) resource: String,
    pub(super) phase: Phase,
    pub(super) objects: u64,
    pub(super) version: String,
    /// Changes per second.
    pub(super) rate: f64,
    /// The age of the oldest change that is not shown yet.
    pub(super) lag: Duration,
    /// The number of lists, including streamed ones.
    pub(super) lists: u64,
    pub(super) relists: BTreeMap<String, u64>,
    pub(super) errors: BTreeMap<String, u64>,
    pub(super) bytes: u64,
    /// The size of its objects in bytes, if they are compressed.
    pub(super) kept: Option<u64>,
    /// The current error.
    pub(super) last_error: Option<String>,
    /// The time since data was received from the server.
    pub(super) since_received: Option<Duration>,
}

/// The phase of a kind's reflectors.
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

/// The resource usage of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ProcessUsage {
    pub(super) uptime: Duration,
    pub(super) rss_bytes: Option<u64>,
    /// Processor time since the last reading, in hundredths of one core.
    pub(super) cpu_percent: Option<f64>,
}

/// Formats counts: `expired 2, transport 1`.
pub(super) fn counts_text(counts: &BTreeMap<String, u64>) -> String {
    counts.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
}
