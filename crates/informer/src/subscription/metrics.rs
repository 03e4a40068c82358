//! Metrics of an informer, in addition to those of its [reflectors](crate::reflector::metrics), recorded through the
//! `metrics` facade.
//!
//! Every metric has the label `name`, the informer's name. Subscribers without a name share the label `subscriber`. The
//! gauges of handlers are updated at most once a second, when events are published or a handler blocks the informer. A
//! recorder may be installed at any time: it receives everything from the next published event on.
//!
//! | metric | type | further label | meaning |
//! |---|---|---|---|
//! | [`kube_informer_events_total`](EVENTS) | counter | | changes of the cache, each counted once |
//! | [`kube_informer_objects`](OBJECTS) | gauge | | objects in the cache |
//! | [`kube_informer_version`](VERSION) | gauge | | resource version of the cache, if it is a number |
//! | [`kube_informer_readable_timestamp_seconds`](READABLE) | gauge | | Unix time at which the cache became readable, by a restored state or the initial list; 0 before |
//! | [`kube_informer_confirmed_timestamp_seconds`](CONFIRMED) | gauge | | Unix time at which the server confirmed the cache; 0 before |
//! | [`kube_informer_handler_depth`](HANDLER_DEPTH) | gauge | `handler` | events not yet delivered to a handler |
//! | [`kube_informer_handler_lag_seconds`](HANDLER_LAG) | gauge | `handler` | age of the oldest event that a handler has not handled |
//! | [`kube_informer_handler_latency_seconds`](HANDLER_LATENCY) | histogram | `handler` | time from the arrival of a change until it was handled, for the oldest event of each chunk |
//! | [`kube_informer_handler_panics_total`](HANDLER_PANICS) | counter | `handler` | panics of a handler |
//! | [`kube_informer_save_failures_total`](SAVE_FAILURES) | counter | | failed attempts to save the cache |

use crate::recorder_id::RecorderId;
use ::metrics::{Counter, Gauge, Histogram, Unit, counter, gauge, histogram};
use ::metrics::{describe_counter, describe_gauge, describe_histogram};

/// Counts changes of the cache.
pub const EVENTS: &str = "kube_informer_events_total";
/// Number of objects in the cache.
pub const OBJECTS: &str = "kube_informer_objects";
/// Resource version of the cache.
pub const VERSION: &str = "kube_informer_version";
/// Unix time at which the cache became readable.
pub const READABLE: &str = "kube_informer_readable_timestamp_seconds";
/// Unix time at which the server confirmed the cache.
pub const CONFIRMED: &str = "kube_informer_confirmed_timestamp_seconds";
/// Events not yet delivered to a handler.
pub const HANDLER_DEPTH: &str = "kube_informer_handler_depth";
/// Age of the oldest event that a handler has not handled.
pub const HANDLER_LAG: &str = "kube_informer_handler_lag_seconds";
/// Time from the arrival of a change until it was handled.
pub const HANDLER_LATENCY: &str = "kube_informer_handler_latency_seconds";
/// Counts panics of a handler.
pub const HANDLER_PANICS: &str = "kube_informer_handler_panics_total";
/// Counts failed attempts to save the cache.
pub const SAVE_FAILURES: &str = "kube_informer_save_failures_total";

/// The metrics of one informer.
pub(super) struct InformerMetrics {
    pub(super) events: Counter,
    pub(super) objects: Gauge,
    pub(super) version: Gauge,
    /// The recorder that the metrics belong to.
    recorder: RecorderId,
}

/// The metrics of one subscriber.
pub(super) struct SubscriberMetrics {
    pub(super) depth: Gauge,
    pub(super) lag: Gauge,
    pub(super) latency: Histogram,
    pub(super) panics: Counter,
}

impl InformerMetrics {
    /// Registers the metrics of an informer with the current recorder.
    pub(super) fn register(name: &str) -> Self {
        describe();
        let name = name.to_owned();
        Self {
            events: counter!(EVENTS, "name" => name.clone()),
            objects: gauge!(OBJECTS, "name" => name.clone()),
            version: gauge!(VERSION, "name" => name),
            recorder: RecorderId::current(),
        }
    }

    /// Returns whether a recorder was installed after these metrics were registered.
    pub(super) fn is_outdated(&self) -> bool {
        self.recorder != RecorderId::current()
    }
}

impl SubscriberMetrics {
    /// Registers the metrics of a subscriber with the current recorder.
    pub(super) fn register(informer: &str, handler: &str) -> Self {
        let name = informer.to_owned();
        let handler = handler.to_owned();
        Self {
            depth: gauge!(HANDLER_DEPTH, "name" => name.clone(), "handler" => handler.clone()),
            lag: gauge!(HANDLER_LAG, "name" => name.clone(), "handler" => handler.clone()),
            latency: histogram!(HANDLER_LATENCY, "name" => name.clone(), "handler" => handler.clone()),
            panics: counter!(HANDLER_PANICS, "name" => name, "handler" => handler),
        }
    }
}

fn describe() {
    describe_counter!(EVENTS, Unit::Count, "Changes of the cache");
    describe_gauge!(OBJECTS, Unit::Count, "Objects in the cache");
    describe_gauge!(VERSION, "Resource version of the cache");
    describe_gauge!(READABLE, Unit::Seconds, "Unix time at which the cache became readable");
    describe_gauge!(CONFIRMED, Unit::Seconds, "Unix time at which the server confirmed the cache");
    describe_gauge!(HANDLER_DEPTH, Unit::Count, "Events not yet delivered to a handler");
    describe_gauge!(HANDLER_LAG, Unit::Seconds, "Age of the oldest event that a handler has not handled");
    describe_histogram!(
        HANDLER_LATENCY,
        Unit::Seconds,
        "Time from the arrival of a change until it was handled"
    );
    describe_counter!(HANDLER_PANICS, Unit::Count, "Panics of a handler");
    describe_counter!(SAVE_FAILURES, Unit::Count, "Failed attempts to save the cache");
}
