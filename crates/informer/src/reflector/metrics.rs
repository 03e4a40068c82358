//! What a reflector counts, for whatever recorder is installed with the `metrics` facade.
//!
//! Each has the label `name`, which is the reflector's; give it [one](super::Reflector::named) that says more than a line
//! of code. The recorder is asked for once, when the reflector begins to run.
//!
//! | metric | type | further label | what it tells |
//! |---|---|---|---|
//! | [`kube_informer_reflector_lists_total`](LISTS) | counter | `via`: `list`, `stream` | how often the whole state was asked for |
//! | [`kube_informer_reflector_list_duration_seconds`](LIST_DURATION) | histogram | | from asking for the whole state until the sink has it |
//! | [`kube_informer_reflector_list_items`](LIST_ITEMS) | histogram | | how many objects the whole state had |
//! | [`kube_informer_reflector_watches_total`](WATCHES) | counter | | how often a watch was asked for, but for those that begin with the whole state |
//! | [`kube_informer_reflector_watch_duration_seconds`](WATCH_DURATION) | histogram | | how long a watch was open |
//! | [`kube_informer_reflector_events_total`](EVENTS) | counter | `type`: `added`, `modified`, `deleted`, `bookmark`, `error`, `unknown` | events of watches, those of the whole state included |
//! | [`kube_informer_reflector_relists_total`](RELISTS) | counter | `reason` | how often it went back to asking for the whole state, by what went wrong |
//! | [`kube_informer_reflector_errors_total`](ERRORS) | counter | `kind` | what went wrong |
//! | [`kube_informer_reflector_version`](VERSION) | gauge | | up to which version the sink has everything, where it is a number |
//! | [`kube_informer_reflector_bytes_total`](BYTES) | counter | | bytes of lists and watches read, where the source counts them |
//!
//! A `reason` or `kind` is what [`Cause::kind`](super::Cause::kind) says.

use super::step::Via;
use ::metrics::{Counter, Gauge, Histogram, NoopRecorder, Unit, counter, gauge, histogram};
use kube_informer_wire::{ResourceVersion, WatchEvent};
use std::time::Duration;

/// How often the whole state was asked for.
pub const LISTS: &str = "kube_informer_reflector_lists_total";
/// From asking for the whole state until the sink has it.
pub const LIST_DURATION: &str = "kube_informer_reflector_list_duration_seconds";
/// How many objects the whole state had.
pub const LIST_ITEMS: &str = "kube_informer_reflector_list_items";
/// How often a watch was asked for.
pub const WATCHES: &str = "kube_informer_reflector_watches_total";
/// How long a watch was open.
pub const WATCH_DURATION: &str = "kube_informer_reflector_watch_duration_seconds";
/// Events of watches.
pub const EVENTS: &str = "kube_informer_reflector_events_total";
/// How often it went back to asking for the whole state.
pub const RELISTS: &str = "kube_informer_reflector_relists_total";
/// What went wrong.
pub const ERRORS: &str = "kube_informer_reflector_errors_total";
/// Up to which version the sink has everything.
pub const VERSION: &str = "kube_informer_reflector_version";
/// Bytes of lists and watches read.
pub const BYTES: &str = "kube_informer_reflector_bytes_total";

/// The handles of one reflector, so that an event looks nothing up.
pub(super) struct Metrics {
    name: String,
    lists: Counter,
    streams: Counter,
    list_duration: Histogram,
    list_items: Histogram,
    watches: Counter,
    watch_duration: Histogram,
    events: Events,
    version: Gauge,
    bytes: Counter,
    /// How many bytes were counted.
    bytes_seen: u64,
}

struct Events {
    added: Counter,
    modified: Counter,
    deleted: Counter,
    bookmark: Counter,
    error: Counter,
    unknown: Counter,
}

impl Metrics {
    /// Asks the recorder for the handles of the reflector of this name.
    pub(super) fn of(name: &str) -> Self {
        describe();
        let name = name.to_owned();
        let lists = |via: &'static str| counter!(LISTS, "name" => name.clone(), "via" => via);
        let events = |kind: &'static str| counter!(EVENTS, "name" => name.clone(), "type" => kind);
        Self {
            lists: lists("list"),
            streams: lists("stream"),
            list_duration: histogram!(LIST_DURATION, "name" => name.clone()),
            list_items: histogram!(LIST_ITEMS, "name" => name.clone()),
            watches: counter!(WATCHES, "name" => name.clone()),
            watch_duration: histogram!(WATCH_DURATION, "name" => name.clone()),
            events: Events {
                added: events("added"),
                modified: events("modified"),
                deleted: events("deleted"),
                bookmark: events("bookmark"),
                error: events("error"),
                unknown: events("unknown"),
            },
            version: gauge!(VERSION, "name" => name.clone()),
            bytes: counter!(BYTES, "name" => name.clone()),
            bytes_seen: 0,
            name,
        }
    }

    /// Handles that count nothing.
    pub(super) fn silent() -> Self {
        ::metrics::with_local_recorder(&NoopRecorder, || Self::of(""))
    }

    pub(super) fn list_begins(&self, via: Via) {
        match via {
            Via::List => self.lists.increment(1),
            Via::Stream => self.streams.increment(1),
        }
    }

    pub(super) fn list_ended(&self, took: Duration, items: usize) {
        self.list_duration.record(took);
        self.list_items.record(items as f64);
    }

    pub(super) fn watch_begins(&self) {
        self.watches.increment(1);
    }

    /// Where to record how long a watch was open.
    pub(super) fn watch_duration(&self) -> Histogram {
        self.watch_duration.clone()
    }

    pub(super) fn event<K>(&self, event: &WatchEvent<K>) {
        let events = &self.events;
        let counter = match event {
            WatchEvent::Added(_) => &events.added,
            WatchEvent::Modified(_) => &events.modified,
            WatchEvent::Deleted(_) => &events.deleted,
            WatchEvent::Bookmark { .. } => &events.bookmark,
            WatchEvent::Error(_) => &events.error,
            _ => &events.unknown,
        };
        counter.increment(1);
    }

    pub(super) fn failed(&self, kind: &'static str) {
        failed(&self.name, kind);
    }

    pub(super) fn relist(&self, reason: &'static str) {
        counter!(RELISTS, "name" => self.name.clone(), "reason" => reason).increment(1);
    }

    pub(super) fn version(&self, version: &ResourceVersion) {
        if let Some(number) = version.to_number() {
            self.version.set(number as f64);
        }
    }

    /// Takes note of how many bytes the source has read in all.
    pub(super) fn bytes(&mut self, total: u64) {
        if total > self.bytes_seen {
            self.bytes.increment(total - self.bytes_seen);
            self.bytes_seen = total;
        }
    }
}

fn describe() {
    use ::metrics::{describe_counter, describe_gauge, describe_histogram};
    describe_counter!(LISTS, Unit::Count, "How often the whole state was asked for");
    describe_histogram!(
        LIST_DURATION,
        Unit::Seconds,
        "From asking for the whole state until the sink has it"
    );
    describe_histogram!(LIST_ITEMS, Unit::Count, "How many objects the whole state had");
    describe_counter!(WATCHES, Unit::Count, "How often a watch was asked for");
    describe_histogram!(WATCH_DURATION, Unit::Seconds, "How long a watch was open");
    describe_counter!(EVENTS, Unit::Count, "Events of watches");
    describe_counter!(RELISTS, Unit::Count, "How often it went back to asking for the whole state");
    describe_counter!(ERRORS, Unit::Count, "What went wrong");
    describe_gauge!(VERSION, "Up to which version the sink has everything");
    describe_counter!(BYTES, Unit::Bytes, "Bytes of lists and watches read");
}

/// Counts a failure of the reflector of this name.
pub(crate) fn failed(name: &str, kind: &'static str) {
    counter!(ERRORS, "name" => name.to_owned(), "kind" => kind).increment(1);
}
