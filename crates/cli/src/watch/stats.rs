//! The figures of a run, whose fields docs/command.md promises.

use super::told::Told;
use crate::args::Encoding;
use crate::follow::Followed;
use crate::meter::{Tally, Usage};
use kube_informer::reflector::metrics::{BYTES, ERRORS, EVENTS, RELISTS};
use serde::Serialize;
use std::collections::BTreeMap;

/// The figures of a run.
#[derive(Debug, Serialize)]
pub(super) struct Stats {
    objects: u64,
    sync_seconds: Option<f64>,
    strategy: &'static str,
    encoding: &'static str,
    lists: u64,
    streams: u64,
    relists: BTreeMap<String, u64>,
    watches: u64,
    events: Told,
    watch_events: BTreeMap<String, u64>,
    errors: BTreeMap<String, u64>,
    bytes_received: u64,
    peak_rss_bytes: Option<u64>,
    cpu_seconds: Option<f64>,
    kinds: BTreeMap<String, Figures>,
}

/// The figures of one kind.
#[derive(Debug, Serialize)]
struct Figures {
    objects: u64,
    version: Option<String>,
    sync_seconds: Option<f64>,
    lists: u64,
    streams: u64,
    relists: BTreeMap<String, u64>,
    watches: u64,
    watch_events: BTreeMap<String, u64>,
    errors: BTreeMap<String, u64>,
    bytes_received: u64,
}

impl Stats {
    /// What there is to say about these informers.
    pub(super) fn of(followed: &[Followed], encoding: Encoding, told: Told, tally: &Tally) -> Self {
        let kinds: BTreeMap<_, _> = followed
            .iter()
            .map(|followed| (followed.kind.resource(), Figures::of(followed, tally)))
            .collect();
        let sum = |read: fn(&Figures) -> u64| kinds.values().map(read).sum();
        let merge = |read: fn(&Figures) -> &BTreeMap<String, u64>| {
            let mut all = BTreeMap::new();
            for (name, count) in kinds.values().flat_map(read) {
                *all.entry(name.clone()).or_insert(0) += count;
            }
            all
        };
        let (lists, streams): (u64, u64) = (sum(|one| one.lists), sum(|one| one.streams));
        let times: Option<Vec<f64>> = kinds.values().map(|one| one.sync_seconds).collect();
        let usage = Usage::now();
        Self {
            objects: sum(|one| one.objects),
            sync_seconds: times.map(|times| times.into_iter().fold(0.0, f64::max)),
            strategy: match (lists, streams) {
                (0, _) => "stream",
                (_, 0) => "list",
                _ => "mixed",
            },
            encoding: match encoding {
                // Objects of any kind are asked for in JSON unless told otherwise.
                Encoding::Auto | Encoding::Json => "json",
                Encoding::Protobuf => "protobuf",
            },
            lists,
            streams,
            relists: merge(|one| &one.relists),
            watches: sum(|one| one.watches),
            events: told,
            watch_events: merge(|one| &one.watch_events),
            errors: merge(|one| &one.errors),
            bytes_received: sum(|one| one.bytes_received),
            peak_rss_bytes: usage.peak_rss_bytes,
            cpu_seconds: usage.cpu_seconds,
            kinds,
        }
    }
}

impl Figures {
    fn of(followed: &Followed, tally: &Tally) -> Self {
        let (status, name) = (followed.informer.status(), followed.informer.name());
        let (counts, times) = (status.counts, status.times);
        let synced = times.started.zip(times.synced);
        Self {
            objects: status.objects as u64,
            version: status.version.map(|version| version.to_string()),
            sync_seconds: synced.map(|(started, synced)| (synced - started).as_secs_f64()),
            lists: counts.lists,
            streams: counts.streams,
            relists: tally.by(RELISTS, name, "reason"),
            watches: counts.watches,
            watch_events: tally.by(EVENTS, name, "type"),
            errors: tally.by(ERRORS, name, "kind"),
            bytes_received: tally.total(BYTES, name),
        }
    }
}
