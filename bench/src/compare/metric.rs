//! The metrics of each workload, and the clients that they are measured for.

use crate::compare::workload::{Phase, Workload};

/// A metric of several clients.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Metric {
    pub(crate) workload: Workload,
    /// The key of its samples.
    pub(crate) key: &'static str,
    pub(crate) label: &'static str,
    pub(crate) unit: Unit,
    pub(crate) clients: &'static [&'static str],
    /// Clients of other projects; ratios are relative to the best of them.
    pub(crate) peers: &'static [&'static str],
}

/// The unit of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    Milliseconds,
    Nanoseconds,
    Bytes,
    PerSecond,
    Events,
    Ratio,
    /// A percentage of which more is better.
    Percent,
    /// A percentage of which less is better.
    Share,
}

impl Unit {
    /// Returns true if `one` is better than `other`.
    pub(crate) fn is_better(self, one: f64, other: f64) -> bool {
        match self {
            Self::PerSecond | Self::Percent => one > other,
            Self::Seconds
            | Self::Milliseconds
            | Self::Nanoseconds
            | Self::Bytes
            | Self::Events
            | Self::Ratio
            | Self::Share => one < other,
        }
    }

    pub(crate) fn format(self, value: f64) -> String {
        match self {
            Self::Seconds => format!("{value:.3} s"),
            Self::Milliseconds => format!("{value:.3} ms"),
            Self::Nanoseconds => format!("{value:.0} ns"),
            Self::Bytes if value >= 1e7 => format!("{:.1} MB", value / 1e6),
            Self::Bytes if value >= 1e4 => format!("{:.1} KB", value / 1e3),
            Self::Bytes => format!("{value:.0} B"),
            Self::PerSecond if value >= 1e3 => format!("{:.1}k/s", value / 1e3),
            Self::PerSecond => format!("{value:.0}/s"),
            Self::Events => format!("{value:.0}"),
            Self::Ratio => format!("{value:.2}x"),
            Self::Percent => format!("{:.1} %", value * 100.0),
            Self::Share => format!("{:.2} %", value * 100.0),
        }
    }
}

impl Metric {
    pub(crate) fn all_clients(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.clients.iter().chain(self.peers).copied()
    }

    pub(crate) fn phase(&self) -> Phase {
        self.workload.phase()
    }
}

const fn metric(workload: Workload, key: &'static str, label: &'static str, unit: Unit) -> Metric {
    Metric { workload, key, label, unit, clients: &["kube-informer"], peers: &["kube-rs", "client-go"] }
}

impl Metric {
    const fn of(self, clients: &'static [&'static str], peers: &'static [&'static str]) -> Self {
        Self { clients, peers, ..self }
    }
}

const JSON: &[&str] = &["decoded, JSON", "compressed, JSON"];
const JSON_PEERS: &[&str] = &["kube-rs", "kube-rs, tuned", "client-go, JSON"];
const PROTOBUF: &[&str] = &["decoded", "lazy", "compressed"];
const BOTH_PEERS: &[&str] = &["kube-rs", "client-go"];
const ALL_PEERS: &[&str] = &["kube-rs", "kube-rs, tuned", "client-go", "client-go, tuned"];
const CLIENT_GO: &[&str] = &["client-go"];
const CLIENT_GO_TUNED: &[&str] = &["client-go", "client-go, tuned"];
const ALL_FIELDS: &[&str] = &["decoded, all fields", "lazy, all fields", "compressed, all fields"];
const SAVED: &[&str] = &["decoded, saved", "compressed, saved"];
const UNTYPED: &[&str] = &["decoded, untyped", "compressed, untyped"];
const UNTYPED_PEERS: &[&str] = &["kube-rs, untyped", "client-go, untyped"];

/// All metrics, in the order of the workloads.
pub(crate) const METRICS: &[Metric] = &[
    metric(Workload::ColdSyncJson, "sync_seconds", "until synced", Unit::Seconds).of(JSON, JSON_PEERS),
    metric(Workload::ColdSyncJson, "sync_cpu_seconds", "processor time", Unit::Seconds).of(JSON, JSON_PEERS),
    metric(Workload::ColdSync, "sync_seconds", "until synced", Unit::Seconds).of(PROTOBUF, CLIENT_GO_TUNED),
    metric(Workload::ColdSync, "sync_cpu_seconds", "processor time", Unit::Seconds)
        .of(PROTOBUF, CLIENT_GO_TUNED),
    metric(Workload::ColdSync, "read_seconds", "read all objects", Unit::Seconds)
        .of(PROTOBUF, CLIENT_GO_TUNED),
    metric(Workload::Memory, "bytes_per_object", "per pod", Unit::Bytes).of(PROTOBUF, ALL_PEERS),
    metric(Workload::MemoryAllFields, "bytes_per_object", "per pod", Unit::Bytes).of(ALL_FIELDS, BOTH_PEERS),
    metric(Workload::PeakMemory, "sync_peak", "of a cold sync", Unit::Ratio).of(PROTOBUF, BOTH_PEERS),
    metric(Workload::PeakMemory, "relist_peak", "of a relist", Unit::Ratio).of(PROTOBUF, BOTH_PEERS),
    metric(Workload::Relist, "relist_seconds", "from the request", Unit::Seconds).of(PROTOBUF, BOTH_PEERS),
    metric(Workload::Relist, "relist_cpu_seconds", "processor time", Unit::Seconds).of(PROTOBUF, BOTH_PEERS),
    metric(Workload::Relist, "relist_events", "delivered events", Unit::Events).of(PROTOBUF, BOTH_PEERS),
    metric(Workload::Updates, "updates_per_core", "per core", Unit::PerSecond).of(PROTOBUF, ALL_PEERS),
    metric(Workload::Updates, "updates", "total", Unit::PerSecond).of(PROTOBUF, ALL_PEERS),
    metric(Workload::Latency, "p50_100", "p50 at 100/s", Unit::Milliseconds).of(PROTOBUF, BOTH_PEERS),
    metric(Workload::Latency, "p99_100", "p99 at 100/s", Unit::Milliseconds).of(PROTOBUF, BOTH_PEERS),
    metric(Workload::Latency, "p50_1000", "p50 at 1,000/s", Unit::Milliseconds).of(PROTOBUF, BOTH_PEERS),
    metric(Workload::Latency, "p99_1000", "p99 at 1,000/s", Unit::Milliseconds).of(PROTOBUF, BOTH_PEERS),
    metric(Workload::Latency, "p50_5000", "p50 at 5,000/s", Unit::Milliseconds).of(PROTOBUF, BOTH_PEERS),
    metric(Workload::Latency, "p99_5000", "p99 at 5,000/s", Unit::Milliseconds).of(PROTOBUF, BOTH_PEERS),
    metric(Workload::Fanout, "fanout_1", "1 handler", Unit::PerSecond),
    metric(Workload::Fanout, "fanout_10", "10 handlers", Unit::PerSecond),
    metric(Workload::Fanout, "fanout_100", "100 handlers", Unit::PerSecond),
    metric(Workload::ConcurrentReads, "writes_0", "0 readers", Unit::PerSecond),
    metric(Workload::ConcurrentReads, "writes_1", "1 reader", Unit::PerSecond),
    metric(Workload::ConcurrentReads, "writes_10", "10 readers", Unit::PerSecond),
    metric(Workload::SlowHandler, "slow_p99", "p99 of the others", Unit::Milliseconds),
    metric(Workload::SlowHandler, "slow_ratio", "relative to no slow one", Unit::Ratio),
    metric(Workload::SlowHandler, "slow_delivered", "delivered", Unit::Percent),
    metric(Workload::SlowHandler, "slow_growth", "memory growth", Unit::Bytes),
    metric(Workload::Restart, "first_read_seconds", "first read", Unit::Seconds).of(SAVED, CLIENT_GO),
    metric(Workload::Restart, "restart_seconds", "synced by a watch", Unit::Seconds).of(SAVED, CLIENT_GO),
    metric(Workload::Restart, "restart_expired_seconds", "synced by a list", Unit::Seconds)
        .of(SAVED, CLIENT_GO),
    metric(Workload::WorkQueue, "queue_item", "add, get, done", Unit::Nanoseconds)
        .of(&["kube-informer"], CLIENT_GO),
    metric(Workload::WorkQueue, "queue_add", "add to a million", Unit::Nanoseconds)
        .of(&["kube-informer"], CLIENT_GO),
    metric(Workload::Controller, "reconciles", "reconciles", Unit::PerSecond),
    metric(Workload::Controller, "reconcile_p50", "p50 at 1,000 events/s", Unit::Milliseconds),
    metric(Workload::Controller, "reconcile_p99", "p99 at 1,000 events/s", Unit::Milliseconds),
    metric(Workload::Controller, "controller_memory", "memory", Unit::Bytes),
    metric(Workload::Watchers, "deliveries_per_core", "per core", Unit::PerSecond)
        .of(&["kube-informer"], &["kube-apiserver"]),
    metric(Workload::Watchers, "deliveries", "total", Unit::PerSecond)
        .of(&["kube-informer"], &["kube-apiserver"]),
    metric(Workload::CustomResources, "sync_seconds", "until synced", Unit::Seconds)
        .of(UNTYPED, UNTYPED_PEERS),
    metric(Workload::CustomResources, "bytes_per_object", "per object", Unit::Bytes)
        .of(UNTYPED, UNTYPED_PEERS),
    metric(Workload::CustomResources, "read_seconds", "read all objects", Unit::Seconds)
        .of(UNTYPED, UNTYPED_PEERS),
    metric(Workload::ManyKinds, "kinds_sync_seconds", "until all have synced", Unit::Seconds)
        .of(&["kube-informer"], CLIENT_GO),
    metric(Workload::ManyKinds, "kinds_sync_cpu_seconds", "processor time", Unit::Seconds)
        .of(&["kube-informer"], CLIENT_GO),
    metric(Workload::ManyKinds, "kinds_idle", "idle, of a core", Unit::Share)
        .of(&["kube-informer"], CLIENT_GO),
    metric(Workload::ManyKinds, "kinds_memory", "per informer", Unit::Bytes)
        .of(&["kube-informer"], CLIENT_GO),
    metric(Workload::ManyKinds, "kinds_threads", "threads", Unit::Events).of(&["kube-informer"], CLIENT_GO),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::client::CLIENTS;

    #[test]
    fn every_client_of_a_metric_exists_and_every_client_has_a_metric() {
        let is_known = |name: &&str| CLIENTS.iter().any(|client| client.name == *name);
        assert!(METRICS.iter().flat_map(Metric::all_clients).all(|name| is_known(&name)));
        let is_used = |name: &str| METRICS.iter().flat_map(Metric::all_clients).any(|used| used == name);
        assert!(CLIENTS.iter().all(|client| is_used(client.name)));
    }

    #[test]
    fn units_are_formatted_for_people() {
        assert_eq!(Unit::Bytes.format(913.4), "913 B");
        assert_eq!(Unit::Bytes.format(30_600.0), "30.6 KB");
        assert_eq!(Unit::PerSecond.format(54_600.0), "54.6k/s");
        assert_eq!(Unit::Percent.format(0.995), "99.5 %");
    }
}
