//! What an informer counts, beyond what its [reflectors](crate::reflector::metrics) do, for whatever recorder is installed
//! with the `metrics` facade.
//!
//! Each has the label `name`, which is the informer's. The recorder is asked for when the informer is built and when a
//! follower comes; those without a name share the label `subscriber`. Gauges of followers are set once a second while something
//! happens, so one that is stuck shows too.
//!
//! | metric | type | further label | what it tells |
//! |---|---|---|---|
//! | [`kube_informer_events_total`](EVENTS) | counter | | changes told to followers, each counted once |
//! | [`kube_informer_objects`](OBJECTS) | gauge | | how many objects the cache holds |
//! | [`kube_informer_version`](VERSION) | gauge | | up to which version the cache has everything, where it is a number |
//! | [`kube_informer_queue_depth`](QUEUE_DEPTH) | gauge | | deltas that were queued when a batch was last taken, from any of its sources |
//! | [`kube_informer_handler_depth`](HANDLER_DEPTH) | gauge | `handler` | events that a follower has not been told |
//! | [`kube_informer_handler_lag_seconds`](HANDLER_LAG) | gauge | `handler` | how long the oldest event that it has not handled has been there |
//! | [`kube_informer_handler_latency_seconds`](HANDLER_LATENCY) | histogram | `handler` | from the arrival of a change until it was handled, of the oldest of each run of events |
//! | [`kube_informer_handler_panics_total`](HANDLER_PANICS) | counter | `handler` | how often a handler panicked |
//! | [`kube_informer_save_failures_total`](SAVE_FAILURES) | counter | | how often the cache could not be saved, where it is to be |

use ::metrics::{Counter, Gauge, Histogram, Unit, counter, gauge, histogram};
use ::metrics::{describe_counter, describe_gauge, describe_histogram};

/// Changes told to followers.
pub const EVENTS: &str = "kube_informer_events_total";
/// How many objects the cache holds.
pub const OBJECTS: &str = "kube_informer_objects";
/// Up to which version the cache has everything.
pub const VERSION: &str = "kube_informer_version";
/// Deltas that were queued when the last batch was taken.
pub const QUEUE_DEPTH: &str = "kube_informer_queue_depth";
/// Events that a follower has not been told.
pub const HANDLER_DEPTH: &str = "kube_informer_handler_depth";
/// How long the oldest unhandled event of a follower has been there.
pub const HANDLER_LAG: &str = "kube_informer_handler_lag_seconds";
/// From the arrival of a change until it was handled.
pub const HANDLER_LATENCY: &str = "kube_informer_handler_latency_seconds";
/// How often a handler panicked.
pub const HANDLER_PANICS: &str = "kube_informer_handler_panics_total";

/// How often the cache could not be saved.
pub const SAVE_FAILURES: &str = "kube_informer_save_failures_total";

/// The handles of one informer.
pub(crate) struct HubMetrics {
    name: String,
    pub(super) events: Counter,
    pub(super) objects: Gauge,
    pub(super) version: Gauge,
    pub(crate) queue_depth: Gauge,
}

/// The handles of one follower.
pub(super) struct SeatMetrics {
    pub(super) depth: Gauge,
    pub(super) lag: Gauge,
    pub(super) latency: Histogram,
    pub(super) panics: Counter,
}

impl HubMetrics {
    /// Asks the recorder for the handles of the informer of this name.
    pub(crate) fn of(name: &str) -> Self {
        describe();
        let name = name.to_owned();
        Self {
            events: counter!(EVENTS, "name" => name.clone()),
            objects: gauge!(OBJECTS, "name" => name.clone()),
            version: gauge!(VERSION, "name" => name.clone()),
            queue_depth: gauge!(QUEUE_DEPTH, "name" => name.clone()),
            name,
        }
    }

    /// Asks the recorder for the handles of a follower.
    pub(super) fn seat(&self, handler: &str) -> SeatMetrics {
        let (name, handler) = (self.name.clone(), handler.to_owned());
        SeatMetrics {
            depth: gauge!(HANDLER_DEPTH, "name" => name.clone(), "handler" => handler.clone()),
            lag: gauge!(HANDLER_LAG, "name" => name.clone(), "handler" => handler.clone()),
            latency: histogram!(HANDLER_LATENCY, "name" => name.clone(), "handler" => handler.clone()),
            panics: counter!(HANDLER_PANICS, "name" => name, "handler" => handler),
        }
    }
}

fn describe() {
    describe_counter!(SAVE_FAILURES, Unit::Count, "How often the cache could not be saved");
    describe_counter!(EVENTS, Unit::Count, "Changes told to followers");
    describe_gauge!(OBJECTS, Unit::Count, "How many objects the cache holds");
    describe_gauge!(VERSION, "Up to which version the cache has everything");
    describe_gauge!(QUEUE_DEPTH, Unit::Count, "Deltas that were queued when the last batch was taken");
    describe_gauge!(HANDLER_DEPTH, Unit::Count, "Events that a follower has not been told");
    describe_gauge!(HANDLER_LAG, Unit::Seconds, "How long the oldest unhandled event has been there");
    describe_histogram!(HANDLER_LATENCY, Unit::Seconds, "From the arrival of a change until it was handled");
    describe_counter!(HANDLER_PANICS, Unit::Count, "How often a handler panicked");
}
