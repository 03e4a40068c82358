//! The changes that the page shows, in memory and within a budget.

use super::{
    change::{Change, ObjectId, Verb},
    fact::Fact,
};
use crate::cores::part_len;
use std::collections::{HashMap, HashSet, VecDeque};
use std::{
    ops::{Index, Range},
    sync::Arc,
};

/// The changes that the page shows, oldest first.
#[derive(Debug)]
pub(super) struct ChangeLog {
    all: VecDeque<Change>,
    /// One for each change.
    facts: VecDeque<Fact>,
    by_object: HashMap<ObjectId, ObjectChanges>,
    /// The slots of objects whose changes were dropped.
    free_slots: Vec<u32>,
    slots: u32,
    /// The objects of each owner, with the number of their changes.
    by_owner: HashMap<Arc<str>, HashMap<ObjectId, u32>>,
    /// The numbers of the changes that added or deleted an object, by kind.
    existence: HashMap<usize, VecDeque<u64>>,
    /// The objects that have been deleted, and may have been created again.
    deleted: HashSet<ObjectId>,
    /// Field paths, managers and owners repeat, so they are shared.
    texts: HashSet<Arc<str>>,
    lists: HashSet<Arc<[Arc<str>]>>,
    bytes: usize,
    budget: usize,
    next: u64,
    /// The time since which no change is missing.
    start: i64,
}

/// The changes of one object.
#[derive(Debug)]
struct ObjectChanges {
    slot: u32,
    /// Their numbers, oldest first.
    numbers: VecDeque<u64>,
}

/// The minimum number of changes that a view computes on a thread of its own.
const MIN_PART: usize = 20_000;

/// The maximum number of shared texts, and of shared lists of texts, because a server may send a different path with each change.
const MAX_TEXTS: usize = 50_000;

impl ChangeLog {
    /// Creates a log that is complete from `start` on.
    pub(super) fn new(budget: usize, start: i64) -> Self {
        Self {
            all: VecDeque::new(),
            facts: VecDeque::new(),
            by_object: HashMap::new(),
            free_slots: Vec::new(),
            slots: 0,
            by_owner: HashMap::new(),
            existence: HashMap::new(),
            deleted: HashSet::new(),
            texts: HashSet::new(),
            lists: HashSet::new(),
            bytes: 0,
            budget,
            next: 0,
            start,
        }
    }

    /// Appends a change, with its number and a time that does not decrease, and drops the oldest ones beyond the budget.
    pub(super) fn push(&mut self, mut change: Change) -> u64 {
        change.number = self.next;
        change.time = change.time.max(self.end());
        self.next += 1;
        self.bytes += change.size();
        let (slots, free_slots) = (&mut self.slots, &mut self.free_slots);
        let changes = self.by_object.entry(change.object.clone()).or_insert_with(|| ObjectChanges {
            slot: free_slots.pop().unwrap_or_else(|| {
                *slots += 1;
                *slots - 1
            }),
            numbers: VecDeque::new(),
        });
        change.slot = changes.slot;
        changes.numbers.push_back(change.number);
        for owner in change.owners() {
            let objects = self.by_owner.entry(Arc::clone(owner)).or_default();
            *objects.entry(change.object.clone()).or_default() += 1;
        }
        if change.verb == Verb::Deleted {
            self.deleted.insert(change.object.clone());
        }
        if change.verb != Verb::Updated {
            self.existence.entry(change.object.kind).or_default().push_back(change.number);
        }
        self.facts.push_back(Fact::of(&change));
        self.all.push_back(change);
        while self.bytes > self.budget && self.all.len() > 1 {
            self.drop_oldest();
        }
        self.next - 1
    }

    /// Returns the shared copy of a text.
    pub(super) fn share(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return Arc::clone(known);
        }
        let text: Arc<str> = text.into();
        if self.texts.len() < MAX_TEXTS {
            self.texts.insert(Arc::clone(&text));
        }
        text
    }

    /// Returns the shared copy of a list of texts.
    pub(super) fn share_list<'t>(&mut self, texts: impl Iterator<Item = &'t str>) -> Arc<[Arc<str>]> {
        let list: Vec<Arc<str>> = texts.map(|text| self.share(text)).collect();
        if let Some(known) = self.lists.get(list.as_slice()) {
            return Arc::clone(known);
        }
        let list: Arc<[Arc<str>]> = list.into();
        if self.lists.len() < MAX_TEXTS {
            self.lists.insert(Arc::clone(&list));
        }
        list
    }

    /// Returns the shared copy of a list of texts; `None` if there is none yet.
    pub(super) fn known_list(&self, texts: &[String]) -> Option<Arc<[Arc<str>]>> {
        let list = texts.iter().map(|text| self.texts.get(text.as_str()).map(Arc::clone));
        self.lists.get(list.collect::<Option<Vec<_>>>()?.as_slice()).map(Arc::clone)
    }

    fn drop_oldest(&mut self) {
        let Some(oldest) = self.all.pop_front() else { return };
        self.facts.pop_front();
        if oldest.verb != Verb::Updated {
            self.existence.get_mut(&oldest.object.kind).map(VecDeque::pop_front);
        }
        self.bytes -= oldest.size();
        self.start = oldest.time;
        for owner in oldest.owners() {
            let Some(objects) = self.by_owner.get_mut(owner) else { continue };
            match objects.get_mut(&oldest.object) {
                Some(count) if *count > 1 => *count -= 1,
                _ => _ = objects.remove(&oldest.object),
            }
            if objects.is_empty() {
                self.by_owner.remove(owner);
            }
        }
        if let Some(changes) = self.by_object.get_mut(&oldest.object) {
            changes.numbers.pop_front();
            if changes.numbers.is_empty() {
                self.free_slots.push(changes.slot);
                self.by_object.remove(&oldest.object);
                self.deleted.remove(&oldest.object);
            }
        }
    }

    /// Returns the time since which no change is missing.
    pub(super) fn start(&self) -> i64 {
        self.start
    }

    /// Returns the time of the last change.
    pub(super) fn end(&self) -> i64 {
        self.all.back().map_or(self.start, |change| change.time)
    }

    /// Returns the number that the next change gets.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Returns the number of changes that were dropped.
    pub(super) fn dropped(&self) -> u64 {
        self.all.front().map_or(self.next, |first| first.number)
    }

    /// Returns a number that is larger than the [slot](Change::slot) of every change.
    pub(super) fn slots(&self) -> usize {
        self.slots as usize
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn get(&self, number: u64) -> Option<&Change> {
        let first = self.all.front()?.number;
        self.all.get(usize::try_from(number.checked_sub(first)?).ok()?)
    }

    /// Returns the changes after `from` up to and including `to`, oldest first.
    pub(super) fn between(&self, from: i64, to: i64) -> impl DoubleEndedIterator<Item = &Change> {
        let first = self.all.partition_point(|change| change.time <= from);
        let last = self.all.partition_point(|change| change.time <= to).max(first);
        self.all.range(first..last)
    }

    /// Returns the numbers of the changes after `from` up to and including `to`.
    pub(super) fn numbers(&self, from: i64, to: i64) -> Range<u64> {
        let first = self.number_after(from);
        first..self.number_after(to).max(first)
    }

    /// Returns the facts of the changes with these numbers, oldest first.
    pub(super) fn facts(&self, numbers: Range<u64>) -> impl Iterator<Item = &Fact> {
        let position = |number: u64| {
            let position = usize::try_from(number.saturating_sub(self.dropped())).unwrap_or(usize::MAX);
            position.min(self.facts.len())
        };
        self.facts.range(position(numbers.start)..position(numbers.end))
    }

    /// Returns the changes of a kind with at least this number that added or deleted an object, oldest first.
    pub(super) fn existence(&self, kind: usize, from: u64) -> impl DoubleEndedIterator<Item = &Change> {
        let none = const { &VecDeque::new() };
        let numbers = self.existence.get(&kind).unwrap_or(none);
        let first = numbers.partition_point(|number| *number < from);
        numbers.range(first..).map(|number| &self[*number])
    }

    /// Returns the number of the first change after `time`.
    pub(super) fn number_after(&self, time: i64) -> u64 {
        self.dropped() + self.facts.partition_point(|fact| fact.time <= time) as u64
    }

    /// Returns the changes with at least this number, oldest first.
    pub(super) fn since(&self, number: u64) -> impl DoubleEndedIterator<Item = &Change> {
        let skipped = usize::try_from(number.saturating_sub(self.dropped())).unwrap_or(usize::MAX);
        self.all.range(skipped.min(self.all.len())..)
    }

    /// Returns the changes of one object, oldest first.
    pub(super) fn of(&self, object: &ObjectId) -> impl DoubleEndedIterator<Item = &Change> {
        let changes = self.by_object.get(object).into_iter();
        changes.flat_map(|changes| &changes.numbers).filter_map(|number| self.get(*number))
    }

    /// Returns the changes of one object up to and including `time`, oldest first.
    pub(super) fn until(
        &self,
        object: &ObjectId,
        time: i64,
    ) -> impl ExactSizeIterator<Item = &Change> + DoubleEndedIterator {
        let none = const { &VecDeque::new() };
        let numbers = self.by_object.get(object).map_or(none, |changes| &changes.numbers);
        let end = numbers.partition_point(|number| self[*number].time <= time);
        numbers.range(..end).map(|number| &self[*number])
    }

    /// Returns the objects that were deleted and not created again up to and including `time`, with their deletion.
    pub(super) fn deleted_at(&self, time: i64) -> impl Iterator<Item = &Change> {
        let last = move |object| self.until(object, time).next_back();
        self.deleted.iter().filter_map(last).filter(|last| last.verb == Verb::Deleted)
    }

    /// Returns the objects with changes at which they had this owner.
    pub(super) fn owned_by(&self, owner: &str) -> impl Iterator<Item = &ObjectId> {
        self.by_owner.get(owner).into_iter().flat_map(HashMap::keys)
    }

    /// Returns the objects with changes.
    pub(super) fn objects(&self) -> impl Iterator<Item = &ObjectId> {
        self.by_object.keys()
    }
}

/// Splits a range of numbers of changes into consecutive parts, for all cores.
pub(super) fn parts(numbers: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let len = usize::try_from(numbers.end - numbers.start).unwrap_or(usize::MAX);
    let part = part_len(len, MIN_PART);
    numbers.clone().step_by(part).map(move |start| start..start.saturating_add(part as u64).min(numbers.end))
}

impl Index<u64> for ChangeLog {
    type Output = Change;

    fn index(&self, number: u64) -> &Change {
        self.get(number).expect("the numbers of objects are those of changes in the log")
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::web::undo::Undo;

    pub(in crate::web) fn change(key: &str, time: i64) -> Change {
        Change {
            number: 0,
            slot: 0,
            time,
            object: ObjectId { kind: 0, key: key.parse().unwrap() },
            verb: Verb::Updated,
            manager: None,
            owner: None,
            other_owners: Box::default(),
            version: None,
            bytes: 0,
            words: "".into(),
            fields: Arc::default(),
            undo: Undo::Absent,
        }
    }

    #[test]
    fn every_number_is_in_one_part() {
        let min = MIN_PART as u64;
        for (first, last) in [(5, 5), (0, 1), (3, 3 + min), (7, 7 + 5 * min)] {
            assert!(parts(first..last).flatten().eq(first..last), "{first} {last}");
        }
    }

    #[test]
    fn the_oldest_changes_are_dropped_beyond_the_budget() {
        let size = change("n/a", 0).size();
        let mut log = ChangeLog::new(3 * size, 5);
        for time in [10, 20, 30] {
            log.push(change("n/a", time));
        }
        assert_eq!((log.start(), log.end(), log.dropped()), (5, 30, 0));
        log.push(change("n/b", 40));
        assert_eq!((log.start(), log.end(), log.dropped(), log.next()), (10, 40, 1, 4));
        let a = ObjectId { kind: 0, key: "n/a".parse().unwrap() };
        assert_eq!(log.of(&a).map(|change| change.time).collect::<Vec<_>>(), [20, 30]);
        assert!(log.bytes() <= 3 * size && log.get(0).is_none());
        log.push(change("n/b", 50));
        log.push(change("n/b", 60));
        assert_eq!(log.of(&a).count(), 0);
        assert_eq!(log.objects().count(), 1);
    }

    #[test]
    fn each_object_has_a_slot_while_it_has_changes() {
        let size = change("n/a", 0).size();
        let mut log = ChangeLog::new(3 * size, 0);
        for key in ["n/a", "n/b", "n/a", "n/c", "n/d", "n/e"] {
            log.push(change(key, 1));
            let mut slots: HashMap<u32, &ObjectId> = HashMap::new();
            for change in log.since(0) {
                assert!((change.slot as usize) < log.slots());
                let object = slots.entry(change.slot).or_insert(&change.object);
                assert_eq!(**object, change.object, "two objects have the same slot");
            }
        }
        assert!(log.slots() <= 4, "slots are used again");
    }

    #[test]
    fn equal_lists_are_shared() {
        let mut log = ChangeLog::new(1 << 20, 0);
        let (one, other) = (log.share_list(["a", "b"].into_iter()), log.share_list(["a", "b"].into_iter()));
        assert!(Arc::ptr_eq(&one, &other) && one.iter().map(|text| &**text).eq(["a", "b"]));
        assert!(!Arc::ptr_eq(&one, &log.share_list(["b", "a"].into_iter())));
    }

    #[test]
    fn objects_are_found_by_each_of_their_owners_until_their_changes_are_dropped() {
        let mut log = ChangeLog::new(1 << 20, 0);
        let owned = |log: &ChangeLog, owner: &str| {
            let mut keys: Vec<_> = log.owned_by(owner).map(|object| object.key.to_string()).collect();
            keys.sort();
            keys
        };
        for (key, time) in [("n/a", 10), ("n/b", 20), ("n/a", 30)] {
            let others: Box<[Arc<str>]> =
                if key == "n/a" { ["Y/2".into(), "Z/3".into()].into() } else { Box::default() };
            log.push(Change { owner: Some("X/1".into()), other_owners: others, ..change(key, time) });
        }
        assert_eq!(
            (owned(&log, "X/1"), owned(&log, "Z/3")),
            (vec!["n/a".to_owned(), "n/b".into()], vec!["n/a".to_owned()])
        );
        log.drop_oldest();
        assert_eq!(owned(&log, "Y/2"), ["n/a"]);
        log.drop_oldest();
        assert_eq!(owned(&log, "X/1"), ["n/a"]);
        log.drop_oldest();
        assert!(owned(&log, "X/1").is_empty() && log.by_owner.is_empty());
    }

    #[test]
    fn ranges_exclude_their_start_and_include_their_end() {
        let mut log = ChangeLog::new(1 << 20, 0);
        // A clock that was set back does not break the order.
        for time in [10, 20, 15, 30] {
            log.push(change("n/a", time));
        }
        let times = |from, to| log.between(from, to).map(|change| change.time).collect::<Vec<_>>();
        assert_eq!(times(10, 20), [20, 20]);
        assert_eq!(times(0, 100), [10, 20, 20, 30]);
        assert_eq!(times(100, 0), [0; 0]);
        let a = ObjectId { kind: 0, key: "n/a".parse().unwrap() };
        let until = |time| log.until(&a, time).map(|change| change.time).collect::<Vec<_>>();
        assert_eq!((until(9), until(20), until(100)), (vec![], vec![10, 20, 20], vec![10, 20, 20, 30]));
        let after = |time| log.get(log.number_after(time)).map(|change| change.time);
        assert_eq!((after(0), after(10), after(20), after(30)), (Some(10), Some(20), Some(30), None));
        let unknown = ObjectId { kind: 1, key: "n/a".parse().unwrap() };
        assert_eq!(log.until(&unknown, 100).len(), 0);
        assert_eq!(log.since(2).count(), 2);
        assert_eq!(log.since(9).count(), 0);
    }
}
