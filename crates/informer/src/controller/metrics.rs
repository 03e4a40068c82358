//! Metrics of a controller, recorded through the `metrics` facade.
//!
//! Every metric has the label `controller`, the [name](super::Controller::named) of the controller. Controllers with the same name
//! share their metrics. A recorder may be installed at any time.
//!
//! | metric | type | further label | meaning |
//! |---|---|---|---|
//! | [`kube_informer_controller_queue_depth`](QUEUE_DEPTH) | gauge | | keys that are ready to be reconciled, or wait for the debounce |
//! | [`kube_informer_controller_scheduled`](SCHEDULED) | gauge | | keys that wait for a requeue or a retry |
//! | [`kube_informer_controller_queue_adds_total`](QUEUE_ADDS) | counter | | keys added to the queue; a key that is queued already is not counted |
//! | [`kube_informer_controller_queue_duration_seconds`](QUEUE_DURATION) | histogram | | time that a key was ready before its reconcile started |
//! | [`kube_informer_controller_reconciles_total`](RECONCILES) | counter | `result`: `success`, `requeue`, `error`, `panic`, `gone` | reconciles |
//! | [`kube_informer_controller_reconcile_duration_seconds`](RECONCILE_DURATION) | histogram | | duration of a reconcile |
//! | [`kube_informer_controller_retries_total`](RETRIES) | counter | | retries scheduled after a failure |
//! | [`kube_informer_controller_active_workers`](ACTIVE_WORKERS) | gauge | | reconciles that are running |
//! | [`kube_informer_controller_max_workers`](MAX_WORKERS) | gauge | | the configured concurrency |
//! | [`kube_informer_controller_unfinished_work_seconds`](UNFINISHED_WORK) | gauge | | total duration of the running reconciles until now |
//! | [`kube_informer_controller_longest_running_seconds`](LONGEST_RUNNING) | gauge | | duration of the oldest running reconcile until now |
//! | [`kube_informer_controller_shard_held`](SHARD_HELD) | gauge | `shard`: the index | 1 while this process reconciles the keys of the shard, otherwise 0; the leader has shard 0 |

use super::outcome::ReconcileResult;
use crate::recorder_id::RecorderId;
use ::metrics::{Counter, Gauge, Histogram, NoopRecorder, Unit, counter, gauge, histogram};
use ::metrics::{describe_counter, describe_gauge, describe_histogram};
use std::time::Duration;

/// Keys that are ready to be reconciled.
pub const QUEUE_DEPTH: &str = "kube_informer_controller_queue_depth";
/// Keys that wait for a requeue or a retry.
pub const SCHEDULED: &str = "kube_informer_controller_scheduled";
/// Keys added to the queue.
pub const QUEUE_ADDS: &str = "kube_informer_controller_queue_adds_total";
/// Time that a key was ready before its reconcile started.
pub const QUEUE_DURATION: &str = "kube_informer_controller_queue_duration_seconds";
/// Reconciles by result.
pub const RECONCILES: &str = "kube_informer_controller_reconciles_total";
/// Duration of a reconcile.
pub const RECONCILE_DURATION: &str = "kube_informer_controller_reconcile_duration_seconds";
/// Retries scheduled after a failure.
pub const RETRIES: &str = "kube_informer_controller_retries_total";
/// Reconciles that are running.
pub const ACTIVE_WORKERS: &str = "kube_informer_controller_active_workers";
/// The configured concurrency.
pub const MAX_WORKERS: &str = "kube_informer_controller_max_workers";
/// Total duration of the running reconciles until now.
pub const UNFINISHED_WORK: &str = "kube_informer_controller_unfinished_work_seconds";
/// Duration of the oldest running reconcile until now.
pub const LONGEST_RUNNING: &str = "kube_informer_controller_longest_running_seconds";

/// Whether this process reconciles the keys of a shard.
pub const SHARD_HELD: &str = "kube_informer_controller_shard_held";

/// Sets whether this process reconciles the keys of a shard.
#[cfg(feature = "leases")]
pub(super) fn set_shard_held(controller: &str, shard: u32, is_held: f64) {
    gauge!(SHARD_HELD, "controller" => controller.to_owned(), "shard" => shard.to_string()).set(is_held);
}

/// The metrics of one controller.
pub(super) struct ControllerMetrics {
    name: String,
    /// The recorder of the handles; `None` before they were resolved.
    recorder: Option<RecorderId>,
    handles: Handles,
}

/// Metric handles, resolved once so that a reconcile needs no lookup.
struct Handles {
    depth: Gauge,
    scheduled: Gauge,
    adds: Counter,
    queue_duration: Histogram,
    succeeded: Counter,
    requeued: Counter,
    failed: Counter,
    panicked: Counter,
    gone: Counter,
    reconcile_duration: Histogram,
    retries: Counter,
    active: Gauge,
    max_workers: Gauge,
    unfinished: Gauge,
    longest: Gauge,
}

/// The gauges of a controller at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gauges {
    pub(super) depth: usize,
    pub(super) scheduled: usize,
    pub(super) active: usize,
    pub(super) max_workers: usize,
    pub(super) unfinished: Duration,
    pub(super) longest: Duration,
}

impl Handles {
    fn new(name: &str) -> Self {
        let name = || name.to_owned();
        let reconciles =
            |result: &'static str| counter!(RECONCILES, "controller" => name(), "result" => result);
        Self {
            depth: gauge!(QUEUE_DEPTH, "controller" => name()),
            scheduled: gauge!(SCHEDULED, "controller" => name()),
            adds: counter!(QUEUE_ADDS, "controller" => name()),
            queue_duration: histogram!(QUEUE_DURATION, "controller" => name()),
            succeeded: reconciles("success"),
            requeued: reconciles("requeue"),
            failed: reconciles("error"),
            panicked: reconciles("panic"),
            gone: reconciles("gone"),
            reconcile_duration: histogram!(RECONCILE_DURATION, "controller" => name()),
            retries: counter!(RETRIES, "controller" => name()),
            active: gauge!(ACTIVE_WORKERS, "controller" => name()),
            max_workers: gauge!(MAX_WORKERS, "controller" => name()),
            unfinished: gauge!(UNFINISHED_WORK, "controller" => name()),
            longest: gauge!(LONGEST_RUNNING, "controller" => name()),
        }
    }
}

impl ControllerMetrics {
    /// Creates metrics that record nothing until they are [resolved](Self::resolve).
    pub(super) fn noop(name: &str) -> Self {
        let handles = ::metrics::with_local_recorder(&NoopRecorder, || Handles::new(name));
        Self { name: name.to_owned(), recorder: None, handles }
    }

    /// Resolves the handles if the recorder has changed.
    pub(super) fn resolve(&mut self) {
        let recorder = Some(RecorderId::current());
        if self.recorder != recorder {
            describe();
            self.recorder = recorder;
            self.handles = Handles::new(&self.name);
        }
    }

    pub(super) fn added(&self) {
        self.handles.adds.increment(1);
    }

    pub(super) fn started(&self, queued: Duration) {
        self.handles.queue_duration.record(queued);
    }

    pub(super) fn finished(&self, result: &ReconcileResult, duration: Duration) {
        let counter = match result {
            ReconcileResult::Succeeded(action) if action.requeue_after().is_some() => &self.handles.requeued,
            ReconcileResult::Succeeded(_) => &self.handles.succeeded,
            ReconcileResult::Failed(_) => &self.handles.failed,
            ReconcileResult::Panicked(_) => &self.handles.panicked,
            ReconcileResult::Gone => &self.handles.gone,
        };
        counter.increment(1);
        self.handles.reconcile_duration.record(duration);
    }

    pub(super) fn retry_scheduled(&self) {
        self.handles.retries.increment(1);
    }

    pub(super) fn set(&self, gauges: Gauges) {
        self.handles.depth.set(gauges.depth as f64);
        self.handles.scheduled.set(gauges.scheduled as f64);
        self.handles.active.set(gauges.active as f64);
        self.handles.max_workers.set(gauges.max_workers as f64);
        self.handles.unfinished.set(gauges.unfinished.as_secs_f64());
        self.handles.longest.set(gauges.longest.as_secs_f64());
    }
}

fn describe() {
    describe_gauge!(QUEUE_DEPTH, Unit::Count, "Keys that are ready to be reconciled");
    describe_gauge!(SCHEDULED, Unit::Count, "Keys that wait for a requeue or a retry");
    describe_counter!(QUEUE_ADDS, Unit::Count, "Keys added to the queue");
    describe_histogram!(
        QUEUE_DURATION,
        Unit::Seconds,
        "Time that a key was ready before its reconcile started"
    );
    describe_counter!(RECONCILES, Unit::Count, "Reconciles by result");
    describe_histogram!(RECONCILE_DURATION, Unit::Seconds, "Duration of a reconcile");
    describe_counter!(RETRIES, Unit::Count, "Retries scheduled after a failure");
    describe_gauge!(ACTIVE_WORKERS, Unit::Count, "Reconciles that are running");
    describe_gauge!(MAX_WORKERS, Unit::Count, "The configured concurrency");
    describe_gauge!(UNFINISHED_WORK, Unit::Seconds, "Total duration of the running reconciles until now");
    describe_gauge!(SHARD_HELD, Unit::Count, "Whether this process reconciles the keys of the shard");
    describe_gauge!(LONGEST_RUNNING, Unit::Seconds, "Duration of the oldest running reconcile until now");
}
