//! The figures of each row: of whom they are, and what is to be reached.

use crate::bench::contender::Contender as C;
use crate::bench::row::Row;

/// One figure, of several contenders.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figure {
    pub(crate) row: Row,
    /// Under which name it is measured.
    pub(crate) key: &'static str,
    pub(crate) about: &'static str,
    pub(crate) unit: Unit,
    pub(crate) ours: &'static [C],
    pub(crate) peers: &'static [C],
    pub(crate) targets: &'static [Target],
}

/// What a number counts, and whether more of it is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    Milliseconds,
    Nanoseconds,
    Bytes,
    PerSecond,
    Events,
    Times,
    /// A part of a whole.
    Share,
}

/// What one of ours is to reach.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    pub(crate) of: C,
    pub(crate) limit: Limit,
}

/// A bound; one relative to peers is relative to the best of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Limit {
    Most(f64),
    Least(f64),
    MostTimes(f64, &'static [C]),
    LeastTimes(f64, &'static [C]),
}

impl Unit {
    pub(crate) fn is_more_better(self) -> bool {
        matches!(self, Self::PerSecond | Self::Share)
    }
}

const fn target(of: C, limit: Limit) -> Target {
    Target { of, limit }
}

const KUBE: &[C] = &[C::KubeList, C::KubeStream];
const KUBE_STRIPPED: &[C] = &[C::KubeListStripped, C::KubeStreamStripped];
const BOTH: &[C] = &[C::Ours, C::OursCompact];
const GO: &[C] = &[C::Go];
const KUBE_AND_GO: &[C] = &[C::KubeList, C::Go];
const PARTS: &[C] = &[C::OursParts];
const PEER_PARTS: &[C] = &[C::KubeParts, C::GoParts];

/// Every figure there is, in the order of rows.
pub(crate) const FIGURES: &[Figure] = &[
    Figure {
        row: Row::W1,
        key: "sync_seconds",
        about: "sync",
        unit: Unit::Seconds,
        ours: &[C::OursJson, C::OursJsonCompact],
        peers: &[C::KubeList, C::KubeStream, C::GoJson],
        targets: &[
            target(C::OursJson, Limit::MostTimes(0.6, KUBE)),
            target(C::OursJsonCompact, Limit::MostTimes(0.6, KUBE)),
        ],
    },
    Figure {
        row: Row::W1,
        key: "sync_cpu_seconds",
        about: "processor",
        unit: Unit::Seconds,
        ours: &[C::OursJson, C::OursJsonCompact],
        peers: &[C::KubeList, C::KubeStream, C::GoJson],
        targets: &[],
    },
    Figure {
        row: Row::W2,
        key: "sync_seconds",
        about: "sync",
        unit: Unit::Seconds,
        ours: BOTH,
        peers: GO,
        targets: &[
            target(C::Ours, Limit::MostTimes(0.8, GO)),
            target(C::OursCompact, Limit::MostTimes(0.8, GO)),
        ],
    },
    Figure {
        row: Row::W2,
        key: "sync_cpu_seconds",
        about: "processor",
        unit: Unit::Seconds,
        ours: BOTH,
        peers: GO,
        targets: &[],
    },
    Figure {
        row: Row::W2,
        key: "read_seconds",
        about: "reading all",
        unit: Unit::Seconds,
        ours: BOTH,
        peers: GO,
        targets: &[],
    },
    Figure {
        row: Row::W3,
        key: "bytes_per_object",
        about: "a pod",
        unit: Unit::Bytes,
        ours: BOTH,
        peers: &[C::KubeList, C::KubeStream, C::Go],
        targets: &[target(C::Ours, Limit::Most(22_000.0)), target(C::OursCompact, Limit::Most(1_000.0))],
    },
    Figure {
        row: Row::W4,
        key: "bytes_per_object",
        about: "a pod",
        unit: Unit::Bytes,
        ours: &[C::OursStripped, C::OursStrippedCompact],
        peers: &[KUBE_STRIPPED[0], KUBE_STRIPPED[1], C::GoStripped],
        targets: &[
            target(C::OursStripped, Limit::Most(17_000.0)),
            target(C::OursStrippedCompact, Limit::Most(800.0)),
        ],
    },
    Figure {
        row: Row::W5,
        key: "sync_peak",
        about: "cold sync",
        unit: Unit::Times,
        ours: BOTH,
        peers: KUBE_AND_GO,
        targets: &[target(C::Ours, Limit::Most(1.15)), target(C::OursCompact, Limit::Most(1.15))],
    },
    Figure {
        row: Row::W5,
        key: "relist_peak",
        about: "relist",
        unit: Unit::Times,
        ours: BOTH,
        peers: KUBE_AND_GO,
        targets: &[target(C::Ours, Limit::Most(1.15)), target(C::OursCompact, Limit::Most(1.15))],
    },
    Figure {
        row: Row::W6,
        key: "relist_seconds",
        about: "from the request on",
        unit: Unit::Seconds,
        ours: BOTH,
        peers: KUBE_AND_GO,
        targets: &[
            target(C::Ours, Limit::MostTimes(0.3, GO)),
            target(C::OursCompact, Limit::MostTimes(0.3, GO)),
        ],
    },
    Figure {
        row: Row::W6,
        key: "relist_cpu_seconds",
        about: "processor",
        unit: Unit::Seconds,
        ours: BOTH,
        peers: KUBE_AND_GO,
        targets: &[],
    },
    Figure {
        row: Row::W6,
        key: "relist_events",
        about: "told to the handler",
        unit: Unit::Events,
        ours: BOTH,
        peers: KUBE_AND_GO,
        targets: &[
            target(C::Ours, Limit::MostTimes(1.0, GO)),
            target(C::OursCompact, Limit::MostTimes(1.0, GO)),
        ],
    },
    Figure {
        row: Row::W7,
        key: "storm_per_core",
        about: "a core",
        unit: Unit::PerSecond,
        ours: &[C::Ours, C::OursCompact, C::OursJson],
        peers: &[C::KubeList, C::Go, C::GoJson],
        targets: &[
            target(C::Ours, Limit::LeastTimes(1.5, GO)),
            target(C::Ours, Limit::LeastTimes(5.0, &[C::KubeList])),
        ],
    },
    Figure {
        row: Row::W7,
        key: "storm_rate",
        about: "in all",
        unit: Unit::PerSecond,
        ours: &[C::Ours, C::OursCompact, C::OursJson],
        peers: &[C::KubeList, C::Go, C::GoJson],
        targets: &[],
    },
    latency("p50_100", "p50 at 100/s", &[]),
    latency("p99_100", "p99 at 100/s", LATENCY),
    latency("p50_1k", "p50 at 1k/s", &[]),
    latency("p99_1k", "p99 at 1k/s", LATENCY),
    latency("p50_5k", "p50 at 5k/s", &[]),
    latency("p99_5k", "p99 at 5k/s", LATENCY),
    parts(Row::W9, "fanout_1", "1 handler", Unit::PerSecond, &[]),
    parts(Row::W9, "fanout_10", "10 handlers", Unit::PerSecond, &[]),
    parts(Row::W9, "fanout_100", "100 handlers", Unit::PerSecond, MILLION),
    parts(Row::W10, "writes_0", "alone", Unit::PerSecond, &[]),
    parts(Row::W10, "writes_1", "beside 1", Unit::PerSecond, &[]),
    parts(Row::W10, "writes_10", "beside 10", Unit::PerSecond, HUNDRED_THOUSAND),
    parts(Row::W11, "slow_p99", "p99 of the others", Unit::Milliseconds, &[]),
    parts(Row::W11, "slow_ratio", "p99, over without", Unit::Times, UNCHANGED),
    parts(Row::W11, "slow_delivered", "told in time", Unit::Share, &[]),
    parts(Row::W11, "slow_growth", "memory grew by", Unit::Bytes, &[]),
    restart("first_read_seconds", "first read", &[]),
    restart("restart_window_seconds", "synced, known", TENTH),
    restart("restart_gone_seconds", "synced, forgotten", THIRD),
    parts(
        Row::W13,
        "queue_item",
        "add, get, done",
        Unit::Nanoseconds,
        &[target(C::OursParts, Limit::Most(200.0))],
    ),
    parts(Row::W13, "queue_add", "add to a million", Unit::Nanoseconds, &[]),
    deliveries("deliveries_per_core", "a core of the server", FIVE_TIMES),
    deliveries("deliveries", "in all", &[]),
    widgets("sync_seconds", "sync", Unit::Seconds),
    widgets("sync_cpu_seconds", "processor", Unit::Seconds),
    widgets("bytes_per_object", "an object", Unit::Bytes),
    widgets("read_seconds", "reading all", Unit::Seconds),
];

const TENTH: &[Target] = &[
    target(C::OursSaved, Limit::MostTimes(0.1, GO)),
    target(C::OursSavedCompact, Limit::MostTimes(0.1, GO)),
];
const THIRD: &[Target] = &[
    target(C::OursSaved, Limit::MostTimes(0.3, GO)),
    target(C::OursSavedCompact, Limit::MostTimes(0.3, GO)),
];
const FIVE_TIMES: &[Target] = &[target(C::OursParts, Limit::LeastTimes(5.0, &[C::ApiServer]))];
const LATENCY: &[Target] = &[target(C::Ours, Limit::MostTimes(0.5, KUBE_AND_GO))];
/// "Unchanged" with room for the noise of two short runs.
const UNCHANGED: &[Target] = &[target(C::OursParts, Limit::Most(1.5))];
const MILLION: &[Target] = &[target(C::OursParts, Limit::Least(1_000_000.0))];
const HUNDRED_THOUSAND: &[Target] = &[target(C::OursParts, Limit::Least(100_000.0))];

const fn latency(key: &'static str, about: &'static str, targets: &'static [Target]) -> Figure {
    Figure { row: Row::W8, key, about, unit: Unit::Milliseconds, ours: BOTH, peers: KUBE_AND_GO, targets }
}

/// A client without a saved cache syncs anew, and reads when it has.
const fn restart(key: &'static str, about: &'static str, targets: &'static [Target]) -> Figure {
    let ours = &[C::OursSaved, C::OursSavedCompact];
    Figure { row: Row::W12, key, about, unit: Unit::Seconds, ours, peers: GO, targets }
}

const fn widgets(key: &'static str, about: &'static str, unit: Unit) -> Figure {
    let (ours, peers) = (&[C::OursWidgets, C::OursWidgetsCompact], &[C::KubeWidgets, C::GoWidgets]);
    Figure { row: Row::W15, key, about, unit, ours, peers, targets: &[] }
}

const fn deliveries(key: &'static str, about: &'static str, targets: &'static [Target]) -> Figure {
    Figure { row: Row::W14, key, about, unit: Unit::PerSecond, ours: PARTS, peers: &[C::ApiServer], targets }
}

const fn parts(
    row: Row,
    key: &'static str,
    about: &'static str,
    unit: Unit,
    targets: &'static [Target],
) -> Figure {
    Figure { row, key, about, unit, ours: PARTS, peers: PEER_PARTS, targets }
}

impl Figure {
    pub(crate) fn contenders(&self) -> impl Iterator<Item = C> + use<> {
        self.ours.iter().chain(self.peers).copied()
    }
}
