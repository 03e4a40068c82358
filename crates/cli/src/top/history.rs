//! The latest changes of all objects.
//!
//! A change is kept as text, not as two states of an object, so that many fit into little memory.

use crate::change::{Line, changes, description, diff, manager, verb};
use crate::paint::Highlight;
use jiff::Zoned;
use kube_core::DynamicObject;
use kube_informer::Event;
use kube_informer_wire::Key;
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// A change of an object.
#[derive(Clone, Debug)]
pub(super) struct Change {
    /// Its position among all changes.
    pub(super) number: u64,
    /// The position of its kind.
    pub(super) at: usize,
    pub(super) key: Key,
    pub(super) time: Zoned,
    pub(super) verb: &'static str,
    pub(super) highlight: Highlight,
    pub(super) words: String,
    /// The field manager that made the change.
    pub(super) manager: Option<String>,
    pub(super) lines: Vec<Line>,
}

/// The latest changes of all objects, within a memory budget.
#[derive(Debug, Default)]
pub(super) struct History(Mutex<Changes>);

#[derive(Debug, Default)]
struct Changes {
    all: VecDeque<Change>,
    /// The numbers of the changes of each object, the oldest first.
    by_object: HashMap<(usize, Key), VecDeque<u64>>,
    bytes: usize,
    next: u64,
    /// The deleted objects, the oldest first.
    deleted: VecDeque<Deleted>,
}

/// An object that was deleted.
#[derive(Clone, Debug)]
pub(super) struct Deleted {
    /// The position of its kind.
    pub(super) at: usize,
    pub(super) key: Key,
    pub(super) time: Zoned,
    pub(super) since: Instant,
    pub(super) last: Arc<DynamicObject>,
}

/// The retention time of deleted objects, and their maximum number.
const DELETED_FOR: Duration = Duration::from_secs(3600);
const MAX_DELETED: usize = 3_000;

/// A change that was just received.
#[derive(Debug)]
pub(super) struct ReceivedChange<'e> {
    pub(super) at: usize,
    pub(super) kind: &'e str,
    pub(super) event: &'e Event<DynamicObject>,
}

/// The memory that changes may take, roughly.
const BUDGET: usize = 64 << 20;
/// The memory of one change without its text, roughly.
const OVERHEAD: usize = 256;

impl History {
    /// Adds a change.
    pub(super) fn push(&self, ReceivedChange { at, kind, event }: ReceivedChange<'_>) {
        let lines = match event {
            Event::Updated { old, new, .. } => diff(&changes(old.get(), new.get()), kind),
            _ => Vec::new(),
        };
        let last = match event {
            Event::Deleted { last_known, .. } => Some(Arc::new(last_known.get().clone())),
            _ => None,
        };
        let manager = match event {
            Event::Updated { old, new, .. } => manager(Some(old.get()), new.get()),
            Event::Added { object, .. } => manager(None, object.get()),
            _ => None,
        };
        let (verb, highlight) = verb(event);
        let words = description(event);
        let key = event.key().clone();
        let mut changes = self.lock();
        let number = changes.next;
        let time = Zoned::now();
        if let Some(last) = &last {
            let deleted = Deleted {
                at,
                key: key.clone(),
                time: time.clone(),
                since: Instant::now(),
                last: Arc::clone(last),
            };
            changes.add_deleted(deleted);
        }
        changes.add(Change { number, at, key, time, verb, highlight, words, manager, lines });
    }

    /// Returns the objects of a kind that were deleted within the last hour, the latest first.
    pub(super) fn deleted(&self, at: usize, now: Instant) -> Vec<Deleted> {
        let mut changes = self.lock();
        changes.expire(now);
        changes.deleted.iter().rev().filter(|deleted| deleted.at == at).cloned().collect()
    }

    /// Returns an object that was deleted within the last hour.
    pub(super) fn deleted_object(&self, at: usize, key: &Key) -> Option<Deleted> {
        let changes = self.lock();
        changes.deleted.iter().rev().find(|deleted| deleted.at == at && deleted.key == *key).cloned()
    }

    /// Returns the latest changes of all objects, the newest first.
    pub(super) fn latest(&self, count: usize) -> Vec<Change> {
        self.lock().all.iter().rev().take(count).cloned().collect()
    }

    /// Returns the changes of one object, the newest first.
    pub(super) fn of(&self, at: usize, key: &Key) -> Vec<Change> {
        let changes = self.lock();
        let numbers = changes.by_object.get(&(at, key.clone()));
        numbers.into_iter().flatten().rev().filter_map(|number| changes.get(*number)).cloned().collect()
    }

    /// Returns the number of the latest change of one object.
    pub(super) fn last_of(&self, at: usize, key: &Key) -> Option<u64> {
        self.lock().by_object.get(&(at, key.clone()))?.back().copied()
    }

    /// Returns the time of the oldest change if older ones were dropped to stay within the budget.
    pub(super) fn since(&self) -> Option<Zoned> {
        let changes = self.lock();
        changes.all.front().filter(|first| first.number > 0).map(|first| first.time.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Changes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Changes {
    /// Adds a deleted object, instead of an earlier one with the same key.
    fn add_deleted(&mut self, deleted: Deleted) {
        self.expire(deleted.since);
        self.deleted.retain(|other| other.at != deleted.at || other.key != deleted.key);
        self.deleted.push_back(deleted);
        if self.deleted.len() > MAX_DELETED {
            self.deleted.pop_front();
        }
    }

    fn expire(&mut self, now: Instant) {
        let is_old = |deleted: &Deleted| now.saturating_duration_since(deleted.since) >= DELETED_FOR;
        while self.deleted.front().is_some_and(is_old) {
            self.deleted.pop_front();
        }
    }

    fn add(&mut self, change: Change) {
        self.next += 1;
        self.bytes += size(&change);
        self.by_object.entry((change.at, change.key.clone())).or_default().push_back(change.number);
        self.all.push_back(change);
        while self.bytes > BUDGET && self.all.len() > 1 {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        let Some(oldest) = self.all.pop_front() else { return };
        self.bytes -= size(&oldest);
        let object = (oldest.at, oldest.key);
        if let Some(numbers) = self.by_object.get_mut(&object) {
            numbers.pop_front();
            if numbers.is_empty() {
                self.by_object.remove(&object);
            }
        }
    }

    fn get(&self, number: u64) -> Option<&Change> {
        let first = self.all.front()?.number;
        self.all.get(usize::try_from(number.checked_sub(first)?).ok()?)
    }
}

fn size(change: &Change) -> usize {
    let text = |line: &Line| match line {
        Line::Went(text) | Line::Came(text) => text.len(),
    };
    let lines: usize = change.lines.iter().map(|line| text(line) + 32).sum();
    OVERHEAD + change.words.len() + lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube_informer::event::Deletion;
    use serde_json::json;

    fn pod(name: &str, version: u64, value: &str) -> Arc<DynamicObject> {
        let pod = json!({"metadata": {"name": name, "namespace": "n", "uid": name, "resourceVersion": version.to_string()},
            "spec": {"value": value}});
        Arc::new(serde_json::from_value(pod).unwrap())
    }

    #[test]
    fn changes_are_found_by_object_until_the_budget_is_used_up() {
        let history = History::default();
        let push = |event: &Event<DynamicObject>| history.push(ReceivedChange { at: 0, kind: "Pod", event });
        let update = |name: &str, version: u64, size: usize| {
            Event::update(pod(name, version, "old"), pod(name, version + 1, &"x".repeat(size))).unwrap()
        };
        let (a, b): (Key, Key) = ("n/a".parse().unwrap(), "n/b".parse().unwrap());
        push(&update("a", 1, 10));
        push(&update("b", 1, 10));
        push(&update("a", 2, 10));
        assert_eq!((history.of(0, &a).len(), history.of(0, &b).len(), history.since()), (2, 1, None));
        assert_eq!(history.of(1, &a).len(), 0);
        assert_eq!(history.last_of(0, &a), Some(2));
        for version in 3..80 {
            push(&update("b", version, 1 << 20));
        }
        assert_eq!(history.of(0, &a).len(), 0);
        assert!(history.since().is_some());
        let kept = history.of(0, &b);
        assert!(kept.len() > 40 && kept.len() < 70, "{}", kept.len());
        assert!(kept.windows(2).all(|pair| pair[0].number > pair[1].number));
    }

    #[test]
    fn deleted_objects_are_kept_for_an_hour_whatever_else_changes() {
        let history = History::default();
        let push = |event: &Event<DynamicObject>| history.push(ReceivedChange { at: 0, kind: "Pod", event });
        push(&Event::delete(pod("a", 1, "first"), Deletion::Observed).unwrap());
        push(&Event::delete(pod("a", 2, "second"), Deletion::Observed).unwrap());
        for version in 3..80 {
            push(
                &Event::update(pod("b", version, "old"), pod("b", version + 1, &"x".repeat(1 << 20)))
                    .unwrap(),
            );
        }
        let now = Instant::now();
        let kept = history.deleted(0, now);
        assert_eq!(kept.len(), 1);
        assert_eq!(kept[0].last.data["spec"]["value"], "second");
        assert!(history.deleted_object(0, &kept[0].key).is_some() && history.deleted(1, now).is_empty());
        assert!(history.deleted(0, now + DELETED_FOR + Duration::from_secs(1)).is_empty());
        assert!(history.deleted_object(0, &kept[0].key).is_none());
    }
}
