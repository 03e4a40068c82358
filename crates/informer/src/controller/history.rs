//! The recent events and outcomes of each key, which explain why a key was or was not reconciled.

use super::{outcome::Outcome, reason::Reason, recent::Recent};
use kube_informer_wire::{Key, KeyHasher};
use std::{collections::VecDeque, fmt, hash::BuildHasherDefault, time::Duration};
use tokio::time::Instant;

/// The recent history of a key; see [`ControllerHandle::explain`](super::ControllerHandle::explain).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KeyReport {
    /// The key.
    pub key: Key,
    /// The reason for which the key is in the queue.
    pub queued: Option<Reason>,
    /// True if the key is being reconciled.
    pub is_running: bool,
    /// The number of consecutive failures.
    pub failures: u32,
    /// The requeue or retry that is scheduled.
    pub scheduled: Option<ScheduledReconcile>,
    /// The last event of the object or of a related object.
    pub last_event: Option<EventReport>,
    /// The number of events that a predicate rejected.
    pub rejected_events: u64,
    /// The last outcomes, the oldest first.
    pub outcomes: Vec<Outcome>,
}

/// A requeue or a retry that is scheduled.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScheduledReconcile {
    /// [`Reason::Requeue`] or [`Reason::Retry`].
    pub reason: Reason,
    /// The time from now.
    pub after: Duration,
}

/// An event, and the result of the predicate.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventReport {
    /// The reason that the event is for a reconcile.
    pub reason: Reason,
    /// When it was received.
    pub received: Instant,
    /// Whether the predicate accepted it.
    pub is_accepted: bool,
}

impl fmt::Display for KeyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.key)?;
        match (&self.queued, &self.scheduled) {
            _ if self.is_running => f.write_str("is being reconciled")?,
            (Some(reason), _) => write!(f, "is queued ({reason})")?,
            (None, Some(next)) => write!(f, "{} in {:?}", next.reason, next.after)?,
            (None, None) => f.write_str("waits for a change")?,
        }
        if self.failures > 0 {
            write!(f, ", {} failures in a row", self.failures)?;
        }
        if let Some(event) = &self.last_event {
            let verdict = if event.is_accepted { "accepted" } else { "rejected by the predicate" };
            write!(f, "; last event: {}, {verdict}", event.reason)?;
        }
        if let Some(last) = self.outcomes.last() {
            write!(f, "; last reconcile: {} after {:?} ({})", last.result, last.duration, last.reason)?;
        }
        Ok(())
    }
}

/// The record of a key.
#[derive(Debug, Default)]
pub(super) struct KeyHistory {
    pub(super) last_event: Option<EventReport>,
    pub(super) rejected_events: u64,
    last_outcome: Option<Outcome>,
}

/// The histories of the keys that were used last.
///
/// Each key has its last outcome. Earlier outcomes are stored for all keys together, because most controllers have many keys that
/// are rarely reconciled.
#[derive(Debug)]
pub(super) struct History {
    keys: Recent<Key, Box<KeyHistory>, BuildHasherDefault<KeyHasher>>,
    /// The last outcomes of all keys, the oldest first.
    outcomes: VecDeque<Outcome>,
}

const MAX_KEYS: usize = 10_000;
/// The maximum number of outcomes of all keys.
const MAX_OUTCOMES: usize = 2_048;
/// The maximum number of outcomes that are reported for a key.
const MAX_KEY_OUTCOMES: usize = 4;

impl Default for History {
    fn default() -> Self {
        Self { keys: Recent::new(MAX_KEYS), outcomes: VecDeque::new() }
    }
}

impl History {
    pub(super) fn event_received(&mut self, key: &Key, event: EventReport) {
        let history = self.entry(key);
        if !event.is_accepted {
            history.rejected_events += 1;
        }
        history.last_event = Some(event);
    }

    pub(super) fn reconciled(&mut self, outcome: Outcome) {
        self.entry(&outcome.key).last_outcome = Some(outcome.clone());
        if self.outcomes.len() == MAX_OUTCOMES {
            self.outcomes.pop_front();
        }
        self.outcomes.push_back(outcome);
    }

    pub(super) fn get(&self, key: &Key) -> Option<&KeyHistory> {
        self.keys.get(key).map(|history| &**history)
    }

    /// Returns the last outcomes of a key, the oldest first.
    pub(super) fn outcomes(&self, key: &Key) -> Vec<Outcome> {
        let of_key = self.outcomes.iter().rev().filter(|outcome| outcome.key == *key);
        let mut outcomes: Vec<_> = of_key.take(MAX_KEY_OUTCOMES).cloned().collect();
        outcomes.reverse();
        if outcomes.is_empty() {
            outcomes.extend(self.get(key).and_then(|history| history.last_outcome.clone()));
        }
        outcomes
    }

    /// Returns the keys with a history.
    pub(super) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.keys.keys()
    }

    fn entry(&mut self, key: &Key) -> &mut KeyHistory {
        self.keys.entry(key, Box::default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::outcome::ReconcileResult;

    #[tokio::test(start_paused = true)]
    async fn the_number_of_keys_is_bounded_and_the_last_ones_are_stored() {
        let mut history = History::default();
        let key = |number: usize| Key::new(None, &format!("k{number}")).expect("valid");
        for number in 0..30_000 {
            let received = Instant::now();
            let event = EventReport { reason: Reason::Changed, received, is_accepted: number % 2 == 0 };
            history.event_received(&key(number), event);
        }
        let count = history.keys().count();
        assert!((MAX_KEYS / 2..=MAX_KEYS).contains(&count), "{count}");
        assert!((25_000..30_000).all(|number| history.get(&key(number)).is_some()));
        assert_eq!(history.get(&key(29_999)).map(|last| last.rejected_events), Some(1));
    }

    #[tokio::test(start_paused = true)]
    async fn each_key_has_its_last_outcome_and_recent_ones_have_four() {
        let mut history = History::default();
        let key = |number: u32| Key::new(None, &format!("k{number}")).expect("valid");
        let mut reconciled = |number, attempt| {
            history.reconciled(Outcome {
                key: key(number),
                reason: Reason::Changed,
                attempt,
                started: Instant::now(),
                duration: Duration::ZERO,
                result: ReconcileResult::Gone,
                next: None,
            });
        };
        for attempt in 1..=3 {
            reconciled(0, attempt);
        }
        for number in 1..3_000 {
            reconciled(number, 1);
        }
        for attempt in 2..=7 {
            reconciled(2_999, attempt);
        }
        let attempts = |number| -> Vec<u32> {
            history.outcomes(&key(number)).iter().map(|outcome| outcome.attempt).collect()
        };
        assert_eq!(attempts(0), [3]);
        assert_eq!(attempts(2_999), [4, 5, 6, 7]);
        assert!(attempts(3_000).is_empty());
        assert_eq!(history.outcomes.len(), MAX_OUTCOMES);
    }
}
