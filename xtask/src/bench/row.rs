//! The rows of the benchmarks, and what has to run for each.

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Row {
    W1,
    W2,
    W3,
    W4,
    W5,
    W6,
    W7,
    W8,
    W9,
    W10,
    W11,
    W12,
    W13,
    W14,
    W15,
}

/// What a contender is put through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    Sync,
    Relist,
    Storm,
    Latency,
    /// Latency where events come as fast as some can take them.
    Rush,
    Fanout,
    Readers,
    SlowHandler,
    Queue,
    Watchers,
    Restart,
}

/// How often a row has to run until its figures can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Once: it takes long, and has several turns.
    Long,
    /// In a few rounds: memory.
    Steady,
    /// In all rounds, as far as a target rests on it.
    Noisy,
    /// In all rounds and some more, as far as a target rests on it: it takes a second or two, and others' figures are held against it.
    Brief,
    /// In twice as many more: it takes a second, and differs most from one to the next.
    Briefest,
}

impl Row {
    pub(crate) const ALL: [Self; 15] = [
        Self::W1,
        Self::W2,
        Self::W3,
        Self::W4,
        Self::W5,
        Self::W6,
        Self::W7,
        Self::W8,
        Self::W9,
        Self::W10,
        Self::W11,
        Self::W12,
        Self::W13,
        Self::W14,
        Self::W15,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::W1 => "W1",
            Self::W2 => "W2",
            Self::W3 => "W3",
            Self::W4 => "W4",
            Self::W5 => "W5",
            Self::W6 => "W6",
            Self::W7 => "W7",
            Self::W8 => "W8",
            Self::W9 => "W9",
            Self::W10 => "W10",
            Self::W11 => "W11",
            Self::W12 => "W12",
            Self::W13 => "W13",
            Self::W14 => "W14",
            Self::W15 => "W15",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|row| row.name().eq_ignore_ascii_case(name))
    }

    pub(crate) fn about(self) -> &'static str {
        match self {
            Self::W1 => "cold sync in JSON, until synced and one handler saw all",
            Self::W2 => "cold sync in protobuf",
            Self::W3 => "bytes kept per pod, managedFields kept",
            Self::W4 => "bytes kept per pod, managedFields dropped",
            Self::W5 => "peak memory over a cold sync and over a relist, relative to steady",
            Self::W6 => "relist with 0.1 % changed",
            Self::W7 => "storm of changes on a full store, one handler, one index",
            Self::W8 => {
                "from the server's write to the handler, at 1k events/s on one processor and at 5k on all"
            }
            Self::W9 => "decoded events to 1, 10 and 100 handlers",
            Self::W10 => "one writer beside 0, 1 and 10 who list everything, 10,000 objects",
            Self::W11 => "one slow handler (10 ms) among ten at 5k events/s",
            Self::W12 => "restart with a saved cache, 0.1 % changed meanwhile",
            Self::W13 => "work queue: an item added, taken and done; an item added to a million",
            Self::W14 => "devserver: 100 watchers, events of 1 KB",
            Self::W15 => "custom resources of 4 KB, untyped, in JSON: cold sync, and bytes kept of each",
        }
    }

    pub(crate) fn phase(self) -> Phase {
        match self {
            Self::W1 | Self::W2 | Self::W3 | Self::W4 | Self::W15 => Phase::Sync,
            Self::W5 | Self::W6 => Phase::Relist,
            Self::W7 => Phase::Storm,
            Self::W8 => Phase::Latency,
            Self::W9 => Phase::Fanout,
            Self::W10 => Phase::Readers,
            Self::W11 => Phase::SlowHandler,
            Self::W12 => Phase::Restart,
            Self::W13 => Phase::Queue,
            Self::W14 => Phase::Watchers,
        }
    }

    pub(crate) fn pace(self) -> Pace {
        match self {
            Self::W3 | Self::W4 | Self::W5 => Pace::Steady,
            Self::W1 | Self::W6 => Pace::Brief,
            Self::W2 | Self::W7 | Self::W8 => Pace::Briefest,
            Self::W9 | Self::W10 | Self::W12 | Self::W13 | Self::W15 => Pace::Noisy,
            Self::W11 | Self::W14 => Pace::Long,
        }
    }

    /// Whether it can be measured against a real server.
    pub(crate) fn has_real(self) -> bool {
        matches!(self, Self::W1 | Self::W2 | Self::W3 | Self::W5 | Self::W8)
    }
}
