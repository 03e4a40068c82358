//! The metrics of a reflector, for the recorder that is installed with the `metrics` facade.
//!
//! Each has the label `name`, the [name](super::Reflector::named) of the reflector. A recorder that is installed while the
//! reflector runs gets what happens from then on.
//!
//! | metric | type | further label | description |
//! |---|---|---|---|
//! | [`kube_informer_reflector_lists_total`](LISTS) | counter | `via`: `list`, `stream` | full lists started |
//! | [`kube_informer_reflector_list_duration_seconds`](LIST_DURATION) | histogram | | time from the request for a full list until the sink has it |
//! | [`kube_informer_reflector_list_items`](LIST_ITEMS) | histogram | | objects in a full list |
//! | [`kube_informer_reflector_watches_total`](WATCHES) | counter | | watches started, without streaming lists |
//! | [`kube_informer_reflector_watch_duration_seconds`](WATCH_DURATION) | histogram | | time that a watch was open |
//! | [`kube_informer_reflector_events_total`](EVENTS) | counter | `type`: `added`, `modified`, `deleted`, `bookmark`, `error`, `unknown` | watch events, including those of streaming lists |
//! | [`kube_informer_reflector_relists_total`](RELISTS) | counter | `reason` | errors that led to a relist |
//! | [`kube_informer_reflector_errors_total`](ERRORS) | counter | `kind` | errors |
//! | [`kube_informer_reflector_version`](VERSION) | gauge | | the version of the sink, if it is a number |
//! | [`kube_informer_reflector_last_data_timestamp_seconds`](LAST_DATA) | gauge | | Unix time of the last data that was read; `time()` minus this is the age of the state while a watch is open |
//! | [`kube_informer_reflector_bytes_total`](BYTES) | counter | | bytes of lists and watches read, if the source counts them |
//!
//! `reason` and `kind` are [`Cause::kind`](super::Cause::kind).

use super::cursor::ListMethod;
use crate::recorder_id::RecorderId;
use ::metrics::{
    Counter, Gauge, Histogram, NoopRecorder, Unit, counter, describe_counter, describe_gauge,
    describe_histogram, gauge, histogram,
};
use kube_informer_wire::{ResourceVersion, WatchEvent};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Full lists started.
pub const LISTS: &str = "kube_informer_reflector_lists_total";
/// Time from the request for a full list until the sink has it.
pub const LIST_DURATION: &str = "kube_informer_reflector_list_duration_seconds";
/// Objects in a full list.
pub const LIST_ITEMS: &str = "kube_informer_reflector_list_items";
/// Watches started.
pub const WATCHES: &str = "kube_informer_reflector_watches_total";
/// Time that a watch was open.
pub const WATCH_DURATION: &str = "kube_informer_reflector_watch_duration_seconds";
/// Watch events.
pub const EVENTS: &str = "kube_informer_reflector_events_total";
/// Errors that led to a relist.
pub const RELISTS: &str = "kube_informer_reflector_relists_total";
/// Errors.
pub const ERRORS: &str = "kube_informer_reflector_errors_total";
/// The version of the sink.
pub const VERSION: &str = "kube_informer_reflector_version";
/// Unix time of the last data that was read.
pub const LAST_DATA: &str = "kube_informer_reflector_last_data_timestamp_seconds";
/// Bytes of lists and watches read.
pub const BYTES: &str = "kube_informer_reflector_bytes_total";

/// The metrics of one reflector.
pub(super) struct Metrics {
    handles: Handles,
    /// The recorder of the handles; `None` before they were resolved.
    recorder: Option<RecorderId>,
    /// The number of bytes already counted.
    bytes_read: u64,
}

/// Metric handles, resolved once so that an event needs no lookup.
struct Handles {
    name: String,
    lists: Counter,
    streams: Counter,
    list_duration: Histogram,
    list_items: Histogram,
    watches: Counter,
    watch_duration: Histogram,
    added: Counter,
    modified: Counter,
    deleted: Counter,
    bookmark: Counter,
    error: Counter,
    unknown: Counter,
    version: Gauge,
    last_data: Gauge,
    bytes: Counter,
}

impl Handles {
    fn new(name: &str) -> Self {
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
            added: events("added"),
            modified: events("modified"),
            deleted: events("deleted"),
            bookmark: events("bookmark"),
            error: events("error"),
            unknown: events("unknown"),
            version: gauge!(VERSION, "name" => name.clone()),
            last_data: gauge!(LAST_DATA, "name" => name.clone()),
            bytes: counter!(BYTES, "name" => name.clone()),
            name,
        }
    }
}

impl Metrics {
    /// Creates metrics that record nothing until they are [resolved](Self::resolve).
    pub(super) fn noop() -> Self {
        let handles = ::metrics::with_local_recorder(&NoopRecorder, || Handles::new(""));
        Self { handles, recorder: None, bytes_read: 0 }
    }

    /// Resolves the handles if the name or the recorder has changed. Returns true if they were resolved.
    pub(super) fn resolve(&mut self, name: &str) -> bool {
        let recorder = Some(RecorderId::current());
        let has_changed = self.recorder != recorder || self.handles.name != name;
        if has_changed {
            describe();
            self.recorder = recorder;
            self.handles = Handles::new(name);
        }
        has_changed
    }

    pub(super) fn list_started(&self, method: ListMethod) {
        match method {
            ListMethod::List => self.handles.lists.increment(1),
            ListMethod::Stream => self.handles.streams.increment(1),
        }
    }

    pub(super) fn list_delivered(&self, duration: Duration, items: usize) {
        self.handles.list_duration.record(duration);
        self.handles.list_items.record(items as f64);
    }

    pub(super) fn watch_started(&self) {
        self.handles.watches.increment(1);
    }

    pub(super) fn watch_duration(&self) -> Histogram {
        self.handles.watch_duration.clone()
    }

    pub(super) fn event_received<K>(&self, event: &WatchEvent<K>) {
        let counter = match event {
            WatchEvent::Added(_) => &self.handles.added,
            WatchEvent::Modified(_) => &self.handles.modified,
            WatchEvent::Deleted(_) => &self.handles.deleted,
            WatchEvent::Bookmark { .. } => &self.handles.bookmark,
            WatchEvent::Error(_) => &self.handles.error,
            _ => &self.handles.unknown,
        };
        counter.increment(1);
    }

    pub(super) fn failed(&self, kind: &'static str) {
        failed(&self.handles.name, kind);
    }

    pub(super) fn relisting(&self, reason: &'static str) {
        counter!(RELISTS, "name" => self.handles.name.clone(), "reason" => reason).increment(1);
    }

    pub(super) fn set_version(&self, version: Option<&ResourceVersion>) {
        if let Some(number) = version.and_then(ResourceVersion::to_number) {
            self.handles.version.set(number as f64);
        }
    }

    /// Records that data was just read.
    pub(super) fn set_last_data(&self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.handles.last_data.set(now.as_secs_f64());
    }

    pub(super) fn bytes_read(&mut self, total: u64) {
        self.handles.bytes.increment(total.saturating_sub(self.bytes_read));
        self.bytes_read = self.bytes_read.max(total);
    }
}

fn describe() {
    describe_counter!(LISTS, Unit::Count, "Full lists started");
    describe_histogram!(
        LIST_DURATION,
        Unit::Seconds,
        "Time from the request for a full list until the sink has it"
    );
    describe_histogram!(LIST_ITEMS, Unit::Count, "Objects in a full list");
    describe_counter!(WATCHES, Unit::Count, "Watches started, without streaming lists");
    describe_histogram!(WATCH_DURATION, Unit::Seconds, "Time that a watch was open");
    describe_counter!(EVENTS, Unit::Count, "Watch events");
    describe_counter!(RELISTS, Unit::Count, "Errors that led to a relist");
    describe_counter!(ERRORS, Unit::Count, "Errors");
    describe_gauge!(VERSION, "The version up to which the sink has everything");
    describe_gauge!(LAST_DATA, Unit::Seconds, "Unix time of the last data that was read");
    describe_counter!(BYTES, Unit::Bytes, "Bytes of lists and watches read");
}

/// Counts an error of the reflector of this name.
pub(crate) fn failed(name: &str, kind: &'static str) {
    counter!(ERRORS, "name" => name.to_owned(), "kind" => kind).increment(1);
}
