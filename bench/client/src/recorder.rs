//! Records the events that a handler receives, and waits for a number of them.

use crate::{fingerprint::fnv, latency::Latencies, object::BenchObject};
use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// The annotation with the time at which the server sent the object, in nanoseconds since 1970.
pub const SENT: &str = "bench.kube-informer.dev/sent";

/// Counts the events of one handler, and wakes threads that wait for a number of them.
#[derive(Debug, Default)]
pub struct Recorder {
    state: Mutex<State>,
    reached: Condvar,
}

/// The events to wait for, with their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Any events. The handler only counts them, as a handler does that adds keys to a queue.
    Count(u64),
    /// Any events. The handler reads the nested field of each object.
    Any(u64),
    /// Events with a version above the second number.
    Newer(u64, u64),
    /// Events with the annotation [`SENT`], whose latency is recorded.
    Timed(u64),
}

/// The events since a goal was set.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// The number of events.
    pub events: u64,
    /// The time of the first event, in nanoseconds since 1970.
    pub first_at: u64,
    /// The time at which the goal was reached, in nanoseconds since 1970.
    pub done_at: u64,
    /// The latencies of [`Goal::Timed`].
    pub latencies: Latencies,
}

#[derive(Debug, Default)]
struct State {
    goal: Option<Goal>,
    matching: u64,
    is_listing: bool,
    record: Record,
    /// Uses the nested fields, so that reading them is not optimized away.
    checksum: u64,
}

impl Recorder {
    /// Sets a new goal and discards the record of the previous one.
    pub fn expect(&self, goal: Goal) {
        let mut state = self.lock();
        *state = State { goal: Some(goal), is_listing: state.is_listing, ..State::default() };
    }

    /// Records an event. `object` is called only if the goal requires the object.
    pub fn event<O: BenchObject>(&self, object: impl FnOnce() -> O) {
        let mut state = self.lock();
        state.event(object);
        self.wake_if_done(state);
    }

    /// Marks the start of a list: the goal is not reached before its end.
    pub fn list_started(&self) {
        self.lock().is_listing = true;
    }

    /// Marks the end of a list.
    pub fn list_finished(&self) {
        let mut state = self.lock();
        state.is_listing = false;
        self.wake_if_done(state);
    }

    /// Waits until the goal is reached; `None` after the timeout.
    #[must_use]
    pub fn wait(&self, timeout: Duration) -> Option<Record> {
        let waited = self.reached.wait_timeout_while(self.lock(), timeout, |state| !state.is_done());
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.is_done().then(|| state.record.clone())
    }

    /// Returns the record of the current goal, whether it is reached or not.
    #[must_use]
    pub fn record(&self) -> Record {
        self.lock().record.clone()
    }

    /// Returns the number of events since the goal was set.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.lock().record.events
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake_if_done(&self, mut state: MutexGuard<'_, State>) {
        if state.is_done() && state.record.done_at == 0 {
            state.record.done_at = now();
            self.reached.notify_all();
        }
    }
}

impl State {
    fn event<O: BenchObject>(&mut self, object: impl FnOnce() -> O) {
        if self.record.events == 0 {
            self.record.first_at = now();
        }
        self.record.events += 1;
        match self.goal {
            None => {}
            Some(Goal::Count(_)) => self.matching += 1,
            Some(Goal::Any(_)) => {
                self.checksum ^= fnv(&[object().nested_field()]);
                self.matching += 1;
            }
            Some(Goal::Newer(_, version)) => self.matching += u64::from(version_of(&object()) > version),
            Some(Goal::Timed(_)) => {
                if let Some(sent) = sent(&object()) {
                    self.matching += 1;
                    self.record.latencies.record(now().saturating_sub(sent));
                }
            }
        }
    }

    fn is_done(&self) -> bool {
        let (Some(Goal::Count(wanted))
        | Some(Goal::Any(wanted))
        | Some(Goal::Newer(wanted, _))
        | Some(Goal::Timed(wanted))) = self.goal
        else {
            return false;
        };
        self.matching >= wanted && !self.is_listing
    }
}

/// Returns the nanoseconds since 1970.
#[must_use]
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

fn version_of(object: &impl BenchObject) -> u64 {
    object.metadata().resource_version.as_ref().and_then(|version| version.parse().ok()).unwrap_or(0)
}

fn sent(object: &impl BenchObject) -> Option<u64> {
    let sent = object.metadata().annotations.as_ref()?.get(SENT)?.parse().ok()?;
    (sent > 0).then_some(sent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::Pod;

    fn pod(version: u64, sent: u64) -> Pod {
        let mut pod = Pod::default();
        pod.metadata.resource_version = Some(version.to_string());
        pod.metadata.annotations = Some([(SENT.to_owned(), sent.to_string())].into());
        pod
    }

    fn is_reached(goal: Goal, pods: &[Pod]) -> bool {
        let recorder = Recorder::default();
        recorder.expect(goal);
        pods.iter().for_each(|pod| recorder.event(|| pod));
        recorder.wait(Duration::ZERO).is_some()
    }

    #[test]
    fn a_goal_is_reached_by_matching_events_only() {
        assert!(is_reached(Goal::Any(1), &[pod(1, 0)]));
        assert!(!is_reached(Goal::Any(2), &[pod(1, 0)]));
        assert!(is_reached(Goal::Newer(1, 5), &[pod(5, 0), pod(6, 0)]));
        assert!(!is_reached(Goal::Newer(1, 5), &[pod(5, 0)]));
        assert!(is_reached(Goal::Timed(1), &[pod(1, 7)]));
        assert!(!is_reached(Goal::Timed(1), &[pod(1, 0)]));
    }

    #[test]
    fn a_goal_is_not_reached_during_a_list() {
        let recorder = Recorder::default();
        recorder.expect(Goal::Any(1));
        recorder.list_started();
        let first = pod(1, 0);
        recorder.event(|| &first);
        assert!(recorder.wait(Duration::ZERO).is_none());
        recorder.list_finished();
        assert!(recorder.wait(Duration::ZERO).is_some_and(|record| record.done_at > 0));
    }
}
