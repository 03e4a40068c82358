//! What a handler has seen, and what one waits for it to see.

use crate::{hash::fnv, latency::Timed, subject::Subject};
use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// The annotation in which the server writes when it sent an object, in nanoseconds since 1970.
pub const SENT: &str = "bench.kube-informer.dev/sent";

/// Counts the events of one handler, and wakes whoever waits for a certain number of them.
#[derive(Debug, Default)]
pub struct Seen {
    state: Mutex<State>,
    reached: Condvar,
}

/// Which events are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// So many of any kind, at none of which the handler looks: it counts, as one that adds keys to a queue.
    Count(u64),
    /// So many of any kind, and of each the handler reads a field deep in it.
    Any(u64),
    /// So many with a version above.
    Newer(u64, u64),
    /// So many that say when they were sent.
    Timed(u64),
}

/// What was seen since a goal was set.
#[derive(Clone, Debug, Default)]
pub struct Sight {
    /// Events of any kind.
    pub events: u64,
    /// When the first event came, in nanoseconds since 1970.
    pub first_at: u64,
    /// When the goal was reached, in nanoseconds since 1970.
    pub done_at: u64,
    /// The events that say when they were sent.
    pub timed: Vec<Timed>,
}

#[derive(Debug, Default)]
struct State {
    goal: Option<Goal>,
    found: u64,
    is_listing: bool,
    sight: Sight,
    addresses: u64,
}

impl Seen {
    /// Begins to wait for something.
    pub fn expect(&self, goal: Goal) {
        let mut state = self.lock();
        let timed = match goal {
            Goal::Timed(count) => Vec::with_capacity(count as usize),
            Goal::Count(_) | Goal::Any(_) | Goal::Newer(..) => Vec::new(),
        };
        *state = State {
            goal: Some(goal),
            is_listing: state.is_listing,
            sight: Sight { timed, ..Sight::default() },
            ..State::default()
        };
    }

    /// A handler was told of an object, at which it looks if the goal wants that.
    pub fn told<S: Subject>(&self, look: impl FnOnce() -> S) {
        let mut state = self.lock();
        state.told(look);
        self.wake(state);
    }

    /// The client began to list anew, and is not done before it says so.
    pub fn listing(&self) {
        self.lock().is_listing = true;
    }

    /// The client has listed all there is.
    pub fn listed(&self) {
        let mut state = self.lock();
        state.is_listing = false;
        self.wake(state);
    }

    /// Waits until the goal is reached; nothing if that takes longer than a deadline.
    #[must_use]
    pub fn wait(&self, deadline: Duration) -> Option<Sight> {
        let waited = self.reached.wait_timeout_while(self.lock(), deadline, |state| !state.is_done());
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.is_done().then(|| state.sight.clone())
    }

    /// What was seen since the goal was set, whether it is reached or not.
    #[must_use]
    pub fn so_far(&self) -> Sight {
        self.lock().sight.clone()
    }

    /// How many events came since the goal was set.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.lock().sight.events
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self, mut state: MutexGuard<'_, State>) {
        if state.is_done() && state.sight.done_at == 0 {
            state.sight.done_at = now();
            self.reached.notify_all();
        }
    }
}

impl State {
    fn told<S: Subject>(&mut self, look: impl FnOnce() -> S) {
        if self.sight.events == 0 {
            self.sight.first_at = now();
        }
        self.sight.events += 1;
        match self.goal {
            None => {}
            Some(Goal::Count(_)) => self.found += 1,
            Some(Goal::Any(_)) => {
                self.addresses ^= fnv(&[look().deep()]);
                self.found += 1;
            }
            Some(Goal::Newer(_, version)) => self.found += u64::from(version_of(&look()) > version),
            Some(Goal::Timed(_)) => {
                if let Some(sent) = sent(&look()) {
                    self.found += 1;
                    self.sight.timed.push(Timed { sent, took: now().saturating_sub(sent) });
                }
            }
        }
    }

    fn is_done(&self) -> bool {
        let wanted = match self.goal {
            None => return false,
            Some(Goal::Count(wanted) | Goal::Any(wanted) | Goal::Newer(wanted, _) | Goal::Timed(wanted)) => {
                wanted
            }
        };
        self.found >= wanted && !self.is_listing
    }
}

/// Nanoseconds since 1970.
#[must_use]
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

fn version_of(subject: &impl Subject) -> u64 {
    subject.metadata().resource_version.as_ref().and_then(|version| version.parse().ok()).unwrap_or(0)
}

fn sent(subject: &impl Subject) -> Option<u64> {
    let sent = subject.metadata().annotations.as_ref()?.get(SENT)?.parse().ok()?;
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
        let seen = Seen::default();
        seen.expect(goal);
        pods.iter().for_each(|pod| seen.told(|| pod));
        seen.wait(Duration::ZERO).is_some()
    }

    #[test]
    fn goals_are_reached_by_what_they_name() {
        assert!(is_reached(Goal::Any(1), &[pod(1, 0)]));
        assert!(!is_reached(Goal::Any(2), &[pod(1, 0)]));
        assert!(is_reached(Goal::Newer(1, 5), &[pod(5, 0), pod(6, 0)]));
        assert!(!is_reached(Goal::Newer(1, 5), &[pod(5, 0)]));
        assert!(is_reached(Goal::Timed(1), &[pod(1, 7)]));
        assert!(!is_reached(Goal::Timed(1), &[pod(1, 0)]));
    }

    #[test]
    fn a_list_is_waited_for() {
        let seen = Seen::default();
        seen.expect(Goal::Any(1));
        seen.listing();
        let first = pod(1, 0);
        seen.told(|| &first);
        assert!(seen.wait(Duration::ZERO).is_none());
        seen.listed();
        assert!(seen.wait(Duration::ZERO).is_some_and(|sight| sight.done_at > 0));
    }
}
