//! The statistics of a run.
//!
//! The fields are documented in docs/command.md.

use super::event_counts::EventCounts;
use crate::args::{InformerArgs, StorageArg};
use crate::informers::WatchedResource;
use crate::meter::{MetricValues, Usage};
use kube_informer::{
    informer::InformerStatus,
    reflector::metrics::{BYTES, ERRORS, EVENTS, RELISTS},
    source::ContentType,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The statistics of a run.
#[derive(Debug, Serialize)]
pub(super) struct Stats {
    objects: u64,
    sync_seconds: Option<f64>,
    strategy: Option<&'static str>,
    encoding: Option<&'static str>,
    storage: &'static str,
    compressed_bytes: Option<u64>,
    restored: Option<Restored>,
    lists: u64,
    streams: u64,
    relists: BTreeMap<String, u64>,
    watches: u64,
    events: EventCounts,
    watch_events: BTreeMap<String, u64>,
    errors: BTreeMap<String, u64>,
    bytes_received: u64,
    peak_rss_bytes: Option<u64>,
    cpu_seconds: Option<f64>,
    kinds: BTreeMap<String, ResourceStats>,
}

/// The statistics of one resource.
#[derive(Debug, Serialize)]
struct ResourceStats {
    objects: u64,
    version: Option<String>,
    sync_seconds: Option<f64>,
    strategy: Option<&'static str>,
    encoding: Option<&'static str>,
    compressed_bytes: Option<u64>,
    restored: Option<Restored>,
    lists: u64,
    streams: u64,
    relists: BTreeMap<String, u64>,
    watches: u64,
    watch_events: BTreeMap<String, u64>,
    errors: BTreeMap<String, u64>,
    bytes_received: u64,
}

/// The state that was restored.
#[derive(Clone, Copy, Debug, Serialize)]
struct Restored {
    objects: u64,
    age_seconds: f64,
}

impl Stats {
    /// Returns the statistics of informers.
    pub(super) fn of(
        watched: &[WatchedResource],
        args: &InformerArgs,
        event_counts: EventCounts,
        metric_values: &MetricValues,
    ) -> Self {
        let one = |one: &WatchedResource| {
            let mut figures = ResourceStats::of(one, metric_values);
            let is_compact = args.storage == StorageArg::Compressed;
            figures.compressed_bytes = is_compact.then(|| one.informer.snapshot().compact_bytes() as u64);
            (one.resource(), figures)
        };
        let kinds: BTreeMap<_, _> = watched.iter().map(one).collect();
        let sum = |read: fn(&ResourceStats) -> u64| kinds.values().map(read).sum();
        let merge = |read: fn(&ResourceStats) -> &BTreeMap<String, u64>| {
            let mut all = BTreeMap::new();
            for (name, count) in kinds.values().flat_map(read) {
                *all.entry(name.clone()).or_insert(0) += count;
            }
            all
        };
        let times: Option<Vec<f64>> = kinds.values().map(|one| one.sync_seconds).collect();
        let usage = Usage::now();
        Self {
            objects: sum(|one| one.objects),
            sync_seconds: times.map(|times| times.into_iter().fold(0.0, f64::max)),
            strategy: common(kinds.values().map(|one| one.strategy)),
            encoding: common(kinds.values().map(|one| one.encoding)),
            storage: match args.storage {
                StorageArg::Decoded => "decoded",
                StorageArg::Compressed => "compressed",
            },
            compressed_bytes: kinds.values().map(|one| one.compressed_bytes).sum(),
            restored: kinds.values().filter_map(|one| one.restored).reduce(Restored::and),
            lists: sum(|one| one.lists),
            streams: sum(|one| one.streams),
            relists: merge(|one| &one.relists),
            watches: sum(|one| one.watches),
            events: event_counts,
            watch_events: merge(|one| &one.watch_events),
            errors: merge(|one| &one.errors),
            bytes_received: sum(|one| one.bytes_received),
            peak_rss_bytes: usage.peak_rss_bytes,
            cpu_seconds: usage.cpu_seconds,
            kinds,
        }
    }
}

impl ResourceStats {
    fn of(watched: &WatchedResource, metric_values: &MetricValues) -> Self {
        let (status, name) = (watched.informer.status(), watched.informer.name());
        let (counts, times) = (status.counts, status.times);
        let synced = times.started.zip(times.synced);
        Self {
            objects: status.objects as u64,
            version: status.version.as_ref().map(ToString::to_string),
            sync_seconds: synced.map(|(started, synced)| (synced - started).as_secs_f64()),
            strategy: strategy(&status),
            encoding: encoding(&status),
            compressed_bytes: None,
            restored: status.restored.map(|restored| Restored {
                objects: restored.objects as u64,
                age_seconds: restored.age.as_secs_f64(),
            }),
            lists: counts.lists,
            streams: counts.streams,
            relists: metric_values.by(RELISTS, name, "reason"),
            watches: counts.watches,
            watch_events: metric_values.by(EVENTS, name, "type"),
            errors: metric_values.by(ERRORS, name, "kind"),
            bytes_received: metric_values.total(BYTES, name),
        }
    }
}

impl Restored {
    /// Adds another restored state; the age is the higher one.
    fn and(self, other: Self) -> Self {
        let age_seconds = self.age_seconds.max(other.age_seconds);
        Self { objects: self.objects + other.objects, age_seconds }
    }
}

/// Returns the strategy of the complete lists; `None` if there is none.
fn strategy(status: &InformerStatus) -> Option<&'static str> {
    let counts = status.counts;
    match (counts.streamed, counts.replaces - counts.streamed) {
        (0, 0) => None,
        (_, 0) => Some("stream"),
        (0, _) => Some("list"),
        _ => Some(MIXED),
    }
}

/// The encoding of the responses; `None` before the first.
fn encoding(status: &InformerStatus) -> Option<&'static str> {
    common(status.sources.iter().map(|source| {
        source.status.content_type.map(|content_type| match content_type {
            ContentType::Json => "json",
            ContentType::Protobuf => "protobuf",
        })
    }))
}

const MIXED: &str = "mixed";

/// Returns the common value of those that are known.
fn common(words: impl Iterator<Item = Option<&'static str>>) -> Option<&'static str> {
    let words: BTreeSet<_> = words.flatten().collect();
    if words.len() > 1 { Some(MIXED) } else { words.first().copied() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_values_are_mixed_and_unknown_ones_do_not_count() {
        assert_eq!(common([None, Some("json"), Some("json")].into_iter()), Some("json"));
        assert_eq!(common([Some("json"), Some("protobuf")].into_iter()), Some(MIXED));
        assert_eq!(common([None, None].into_iter()), None);
    }
}
