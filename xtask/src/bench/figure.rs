//! The figures of each row: of whom they are, and what is to be reached.

use crate::bench::contender::Contender as C;
use crate::bench::row::{Pace, Phase, Row};

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
    /// The share that has to be told in time; where it is less, this is a figure of the length of the run.
    pub(crate) in_time: Option<&'static str>,
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

impl Limit {
    /// Those whom it is relative to.
    pub(crate) fn peers(&self) -> &'static [C] {
        match self {
            Self::Most(_) | Self::Least(_) => &[],
            Self::MostTimes(_, peers) | Self::LeastTimes(_, peers) => peers,
        }
    }
}

impl Unit {
    pub(crate) fn is_more_better(self) -> bool {
        matches!(self, Self::PerSecond | Self::Share)
    }

    /// Whether a value is better than another.
    pub(crate) fn is_better(self, one: f64, other: f64) -> bool {
        if self.is_more_better() { one > other } else { one < other }
    }
}

const fn target(of: C, limit: Limit) -> Target {
    Target { of, limit }
}

const fn figure(row: Row, key: &'static str, about: &'static str, unit: Unit) -> Figure {
    Figure { row, key, about, unit, ours: &[], peers: &[], targets: &[], in_time: None }
}

impl Figure {
    const fn of(self, ours: &'static [C], peers: &'static [C]) -> Self {
        Self { ours, peers, ..self }
    }

    const fn to_reach(self, targets: &'static [Target]) -> Self {
        Self { targets, ..self }
    }

    pub(crate) fn contenders(&self) -> impl Iterator<Item = C> + use<> {
        self.ours.iter().chain(self.peers).copied()
    }

    /// What has to run for it.
    pub(crate) fn phase(&self) -> Phase {
        if self.is_rush() { Phase::Rush } else { self.row.phase() }
    }

    /// How often that has to run.
    pub(crate) fn pace(&self) -> Pace {
        if self.is_rush() { Pace::Noisy } else { self.row.pace() }
    }

    /// Whether it is of events that come as fast as some can take them.
    fn is_rush(&self) -> bool {
        self.key.ends_with("_5k")
    }

    /// Whether a target is of this contender, or relative to it.
    pub(crate) fn rests_on(&self, contender: C) -> bool {
        let rests = |target: &Target| target.of == contender || target.limit.peers().contains(&contender);
        self.targets.iter().any(rests)
    }
}

/// Whether something is to be reached in a row.
pub(crate) fn has_target(row: Row) -> bool {
    FIGURES.iter().any(|figure| figure.row == row && !figure.targets.is_empty())
}

const KUBE: &[C] = &[C::KubeList, C::KubeStream];
const BOTH: &[C] = &[C::Ours, C::OursCompact];
const ALL_OURS: &[C] = &[C::Ours, C::OursLazy, C::OursCompact, C::OursLazyCompact];
const IN_TIME: &[C] = &[C::Ours, C::OursLazy, C::OursCompact];
const GO: &[C] = &[C::Go];
const KUBE_AND_GO: &[C] = &[C::KubeList, C::Go];
const JSON: &[C] = &[C::OursJson, C::OursJsonCompact];
const JSON_PEERS: &[C] = &[C::KubeList, C::KubeStream, C::GoJson];
const STORM: &[C] = &[C::Ours, C::OursLazy, C::OursCompact, C::OursLazyCompact, C::OursJson];
const STORM_PEERS: &[C] = &[C::KubeList, C::Go, C::GoJson];
const STRIPPED: &[C] = &[C::OursStripped, C::OursStrippedLazy, C::OursStrippedCompact];
const STRIPPED_PEERS: &[C] = &[C::KubeListStripped, C::KubeStreamStripped, C::GoStripped];
const SAVED: &[C] = &[C::OursSaved, C::OursSavedCompact];
const PARTS: &[C] = &[C::OursParts];
const PEER_PARTS: &[C] = &[C::KubeParts, C::GoParts];

/// Every figure there is, in the order of rows.
pub(crate) const FIGURES: &[Figure] = &[
    figure(Row::W1, "sync_seconds", "sync", Unit::Seconds).of(JSON, JSON_PEERS).to_reach(&[
        target(C::OursJson, Limit::MostTimes(0.6, KUBE)),
        target(C::OursJsonCompact, Limit::MostTimes(0.6, KUBE)),
    ]),
    figure(Row::W1, "sync_cpu_seconds", "processor", Unit::Seconds).of(JSON, JSON_PEERS),
    figure(Row::W2, "sync_seconds", "sync", Unit::Seconds).of(ALL_OURS, GO).to_reach(&[
        target(C::Ours, Limit::MostTimes(0.8, GO)),
        target(C::OursLazy, Limit::MostTimes(0.8, GO)),
        target(C::OursCompact, Limit::MostTimes(0.8, GO)),
    ]),
    figure(Row::W2, "sync_cpu_seconds", "processor", Unit::Seconds).of(ALL_OURS, GO),
    figure(Row::W2, "read_seconds", "reading all", Unit::Seconds).of(ALL_OURS, GO),
    figure(Row::W3, "bytes_per_object", "a pod", Unit::Bytes)
        .of(ALL_OURS, &[C::KubeList, C::KubeStream, C::Go])
        .to_reach(&[
            target(C::Ours, Limit::Most(22_000.0)),
            target(C::OursLazy, Limit::Most(22_000.0)),
            target(C::OursCompact, Limit::Most(1_000.0)),
        ]),
    figure(Row::W4, "bytes_per_object", "a pod", Unit::Bytes).of(STRIPPED, STRIPPED_PEERS).to_reach(&[
        target(C::OursStripped, Limit::Most(17_000.0)),
        target(C::OursStrippedLazy, Limit::Most(17_000.0)),
        target(C::OursStrippedCompact, Limit::Most(800.0)),
    ]),
    figure(Row::W5, "sync_peak", "cold sync", Unit::Times).of(BOTH, KUBE_AND_GO).to_reach(HARDLY_MORE),
    figure(Row::W5, "relist_peak", "relist", Unit::Times).of(BOTH, KUBE_AND_GO).to_reach(HARDLY_MORE),
    figure(Row::W6, "relist_seconds", "from the request on", Unit::Seconds).of(BOTH, KUBE_AND_GO).to_reach(
        &[target(C::Ours, Limit::MostTimes(0.3, GO)), target(C::OursCompact, Limit::MostTimes(0.3, GO))],
    ),
    figure(Row::W6, "relist_cpu_seconds", "processor", Unit::Seconds).of(BOTH, KUBE_AND_GO),
    figure(Row::W6, "relist_events", "told to the handler", Unit::Events).of(BOTH, KUBE_AND_GO).to_reach(&[
        target(C::Ours, Limit::MostTimes(1.0, GO)),
        target(C::OursCompact, Limit::MostTimes(1.0, GO)),
    ]),
    figure(Row::W7, "storm_per_core", "a core", Unit::PerSecond).of(STORM, STORM_PEERS).to_reach(&[
        target(C::Ours, Limit::LeastTimes(1.5, GO)),
        target(C::Ours, Limit::LeastTimes(5.0, &[C::KubeList])),
        target(C::OursLazy, Limit::LeastTimes(1.5, GO)),
        target(C::OursLazy, Limit::LeastTimes(5.0, &[C::KubeList])),
    ]),
    figure(Row::W7, "storm_rate", "in all", Unit::PerSecond).of(STORM, STORM_PEERS),
    // Of a real server, of which an event may take longer than a client does.
    latency("p50_100", "p50 at 100/s, calm", None),
    latency("p99_100", "p99 at 100/s, calm", None).to_reach(HALF),
    in_time("in_time_100", "in time at 100/s"),
    latency("p50_1k", "p50 at 1k/s, one cpu", Some("in_time_1k")),
    latency("p99_1k", "p99 at 1k/s, one cpu", Some("in_time_1k")).to_reach(HALF),
    in_time("in_time_1k", "in time at 1k/s"),
    latency("p50_5k", "p50 at 5k/s", Some("in_time_5k")),
    latency("p99_5k", "p99 at 5k/s", Some("in_time_5k")).to_reach(HALF),
    in_time("in_time_5k", "in time at 5k/s"),
    parts(Row::W9, "fanout_1", "1 handler", Unit::PerSecond),
    parts(Row::W9, "fanout_10", "10 handlers", Unit::PerSecond),
    parts(Row::W9, "fanout_100", "100 handlers", Unit::PerSecond)
        .to_reach(&[target(C::OursParts, Limit::Least(1_000_000.0))]),
    parts(Row::W10, "writes_0", "alone", Unit::PerSecond),
    parts(Row::W10, "writes_1", "beside 1", Unit::PerSecond),
    parts(Row::W10, "writes_10", "beside 10", Unit::PerSecond)
        .to_reach(&[target(C::OursParts, Limit::Least(100_000.0))]),
    parts(Row::W11, "slow_p99", "p99 of the others", Unit::Milliseconds),
    // "Unchanged" with room for the noise of short runs.
    parts(Row::W11, "slow_ratio", "p99, over without", Unit::Times)
        .to_reach(&[target(C::OursParts, Limit::Most(1.5))]),
    parts(Row::W11, "slow_delivered", "told in time", Unit::Share),
    parts(Row::W11, "slow_growth", "memory grew by", Unit::Bytes),
    restart("first_read_seconds", "first read"),
    restart("restart_window_seconds", "synced, known").to_reach(&[
        target(C::OursSaved, Limit::MostTimes(0.1, GO)),
        target(C::OursSavedCompact, Limit::MostTimes(0.1, GO)),
    ]),
    restart("restart_gone_seconds", "synced, forgotten").to_reach(&[
        target(C::OursSaved, Limit::MostTimes(0.3, GO)),
        target(C::OursSavedCompact, Limit::MostTimes(0.3, GO)),
    ]),
    parts(Row::W13, "queue_item", "add, get, done", Unit::Nanoseconds)
        .to_reach(&[target(C::OursParts, Limit::Most(200.0))]),
    parts(Row::W13, "queue_add", "add to a million", Unit::Nanoseconds),
    deliveries("deliveries_per_core", "a core of the server")
        .to_reach(&[target(C::OursParts, Limit::LeastTimes(5.0, &[C::ApiServer]))]),
    deliveries("deliveries", "in all"),
    widgets("sync_seconds", "sync", Unit::Seconds),
    widgets("sync_cpu_seconds", "processor", Unit::Seconds),
    widgets("bytes_per_object", "an object", Unit::Bytes),
    widgets("read_seconds", "reading all", Unit::Seconds),
];

const HARDLY_MORE: &[Target] =
    &[target(C::Ours, Limit::Most(1.15)), target(C::OursCompact, Limit::Most(1.15))];
const HALF: &[Target] = &[
    target(C::Ours, Limit::MostTimes(0.5, KUBE_AND_GO)),
    target(C::OursLazy, Limit::MostTimes(0.5, KUBE_AND_GO)),
];

const fn latency(key: &'static str, about: &'static str, in_time: Option<&'static str>) -> Figure {
    let figure = figure(Row::W8, key, about, Unit::Milliseconds).of(IN_TIME, KUBE_AND_GO);
    Figure { in_time, ..figure }
}

const fn in_time(key: &'static str, about: &'static str) -> Figure {
    figure(Row::W8, key, about, Unit::Share).of(IN_TIME, KUBE_AND_GO)
}

/// A client without a saved cache syncs anew, and reads when it has.
const fn restart(key: &'static str, about: &'static str) -> Figure {
    figure(Row::W12, key, about, Unit::Seconds).of(SAVED, GO)
}

const fn widgets(key: &'static str, about: &'static str, unit: Unit) -> Figure {
    let (ours, peers) = (&[C::OursWidgets, C::OursWidgetsCompact], &[C::KubeWidgets, C::GoWidgets]);
    figure(Row::W15, key, about, unit).of(ours, peers)
}

const fn deliveries(key: &'static str, about: &'static str) -> Figure {
    figure(Row::W14, key, about, Unit::PerSecond).of(PARTS, &[C::ApiServer])
}

const fn parts(row: Row, key: &'static str, about: &'static str, unit: Unit) -> Figure {
    figure(row, key, about, unit).of(PARTS, PEER_PARTS)
}
