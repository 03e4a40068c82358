//! The objects, fields and managers with most changes.

use super::{
    address::TextMap,
    change::Change,
    fact::Fact,
    log::parts,
    query::{Filter, Range},
    source::{ChangeSource, NOW},
};
use crate::cores::on_all_cores;
use serde::Serialize;
use std::{cmp::Reverse, collections::HashMap, hash::Hash, ops::Range as Numbers};

/// The number of rows of each table, and of buckets of each row.
const ROWS: usize = 30;
const BUCKETS: i64 = 60;

/// What changes most.
#[derive(Debug, Serialize)]
pub(super) struct Churn {
    from: i64,
    to: i64,
    total: usize,
    bytes: u64,
    objects: Vec<ChurnRow>,
    fields: Vec<ChurnRow>,
    managers: Vec<ChurnRow>,
}

/// One row: an object, a field or a manager.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct ChurnRow {
    /// The resource of an object; empty otherwise.
    kind: String,
    name: String,
    count: usize,
    bytes: u64,
    /// The number of changes in each part of the range.
    heat: Vec<u32>,
}

/// The changes of a field or a manager.
#[derive(Clone, Debug)]
struct Counted {
    count: usize,
    bytes: u64,
    /// The number of changes in each part of the range.
    heat: Vec<u32>,
}

impl Default for Counted {
    fn default() -> Self {
        Self { count: 0, bytes: 0, heat: vec![0; BUCKETS as usize] }
    }
}

impl Counted {
    fn add(&mut self, fact: &Fact, bucket: usize) {
        self.count += 1;
        self.bytes += u64::from(fact.bytes);
        self.heat[bucket] += 1;
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.heat.iter_mut().zip(&other.heat).for_each(|(sum, more)| *sum += more);
    }

    fn row(&self, kind: String, name: String) -> ChurnRow {
        ChurnRow { kind, name, count: self.count, bytes: self.bytes, heat: self.heat.clone() }
    }
}

/// Finds the part of the range in which a time is. Consecutive changes are usually in the same part, which saves a division for each.
#[derive(Clone, Debug)]
struct Buckets {
    from: i64,
    to: i64,
    /// The last result, and the times for which it is the result.
    last: (usize, Numbers<i64>),
}

impl Buckets {
    fn new(from: i64, to: i64) -> Self {
        Self { from, to, last: (0, 0..0) }
    }

    fn of(&mut self, time: i64) -> usize {
        if !self.last.1.contains(&time) {
            let len = self.to - self.from;
            let bucket = ((time - self.from) * BUCKETS / len).clamp(0, BUCKETS - 1);
            // In 128 bits, because the end of the range is any number of a query string.
            let start = |bucket: i64| {
                let offset =
                    (i128::from(bucket) * i128::from(len) + i128::from(BUCKETS - 1)) / i128::from(BUCKETS);
                self.from + offset as i64
            };
            self.last = (bucket as usize, start(bucket)..start(bucket + 1));
        }
        self.last.0
    }
}

/// Counts by an identifier of texts.
struct Groups<K> {
    positions: TextMap<K, usize>,
    /// The last identifier, because consecutive changes often have the same.
    last: Option<(K, usize)>,
    /// Each with the number of its first change.
    all: Vec<(u64, Counted)>,
}

impl<K> Default for Groups<K> {
    fn default() -> Self {
        Self { positions: TextMap::default(), last: None, all: Vec::new() }
    }
}

impl<K: Copy + Eq + Hash> Groups<K> {
    /// Returns the count of the identifier of the change with this number.
    fn of(&mut self, id: K, number: u64) -> &mut Counted {
        let position = match self.last {
            Some((last, position)) if last == id => position,
            _ => {
                let next = self.all.len();
                let position = *self.positions.entry(id).or_insert(next);
                if position == next {
                    self.all.push((number, Counted::default()));
                }
                position
            }
        };
        self.last = Some((id, position));
        &mut self.all[position].1
    }

    fn merge(&mut self, later: Self) {
        for (id, position) in later.positions {
            let (number, counted) = &later.all[position];
            self.of(id, *number).merge(counted);
        }
    }
}

/// The counts of a part of the changes.
struct Counts {
    total: usize,
    bytes: u64,
    /// The number of changes in each slot, and the number of the last one, relative to the first change of the range. In 32 bits, so that
    /// the counts of 100,000 objects fit into the cache of a core; the size limit of the log allows far fewer than 2^32 changes.
    objects: Vec<(u32, u32)>,
    lists: Groups<(u32, usize)>,
    managers: Groups<usize>,
}

impl Counts {
    fn new(slots: usize) -> Self {
        let (lists, managers) = (Groups::default(), Groups::default());
        Self { total: 0, bytes: 0, objects: vec![(0, 0); slots], lists, managers }
    }

    fn add(&mut self, number: u64, first: u64, fact: &Fact, bucket: usize) {
        self.total += 1;
        self.bytes += u64::from(fact.bytes);
        let object = &mut self.objects[fact.slot as usize];
        *object = (object.0 + 1, (number - first) as u32);
        self.managers.of(fact.manager, number).add(fact, bucket);
        self.lists.of((fact.kind, fact.fields), number).add(fact, bucket);
    }

    /// Returns the counts of both, of which `later` has the later changes.
    fn and(mut self, later: Self) -> Self {
        self.total += later.total;
        self.bytes += later.bytes;
        for (sum, more) in self.objects.iter_mut().zip(later.objects).filter(|(_, more)| more.0 > 0) {
            *sum = (sum.0 + more.0, more.1);
        }
        self.lists.merge(later.lists);
        self.managers.merge(later.managers);
        self
    }
}

/// Counts the changes of objects, fields and managers.
///
/// There may be a million changes. Managers and lists of fields are counted by their addresses, because changes usually share them, and
/// objects by their slots, without their distribution over time, which is needed for a few of them.
pub(super) fn churn(source: &dyn ChangeSource, filter: &Filter, range: Range) -> Churn {
    let kinds = source.kinds();
    let log = source.log();
    let from = range.from.max(log.start() - 1);
    let to = if range.to == NOW { log.end() } else { range.to }.max(from + 1);
    let buckets = Buckets::new(from, to);
    let numbers = log.numbers(from, to);
    let first = numbers.start;
    let counts = on_all_cores(parts(numbers), |numbers| {
        let (mut counts, mut buckets) = (Counts::new(log.slots()), buckets.clone());
        filter
            .facts(&log, numbers)
            .for_each(|(number, fact)| counts.add(number, first, fact, buckets.of(fact.time)));
        counts
    });
    let counts = counts.into_iter().reduce(Counts::and).unwrap_or_else(|| Counts::new(log.slots()));
    let Counts { total, bytes, objects, lists, managers } = counts;
    let resource = |kind: usize| kinds[kind].resource.clone();
    // The one with the latest change comes first of those with as many: comparing 100,000 keys would take most of the time.
    let objects =
        objects.into_iter().filter(|(count, _)| *count > 0).map(|(count, last)| (Reverse(last), count));
    let object = |last: u32| {
        let object = log[first + u64::from(last)].object.clone();
        let changes = log.of(&object);
        let (mut counted, mut buckets) = (Counted::default(), buckets.clone());
        let is_shown = |change: &&Change| change.time > from && change.time <= to && filter.accepts(change);
        changes.filter(is_shown).for_each(|change| counted.add(&Fact::of(change), buckets.of(change.time)));
        counted.row(resource(object.kind), object.key.to_string())
    };
    let fields = lists.all.iter().flat_map(|(number, counted)| {
        let change = &log[*number];
        change.fields.iter().map(move |field| ((change.object.kind, &**field), counted))
    });
    let fields = merged(fields);
    let managers = managers.all.iter().map(|(number, counted)| (log[*number].manager.as_deref(), counted));
    let managers = merged(managers);
    let count = |counted: &Counted| counted.count;
    Churn {
        from,
        to,
        total,
        bytes,
        objects: top(objects.collect(), |count| *count as usize)
            .into_iter()
            .map(|(Reverse(last), _)| object(last))
            .collect(),
        fields: top(fields, count)
            .into_iter()
            .map(|((kind, field), counted)| counted.row(resource(kind), field.to_owned()))
            .collect(),
        managers: top(managers, count)
            .into_iter()
            .map(|(manager, counted)| counted.row(String::new(), manager.unwrap_or("(unknown)").to_owned()))
            .collect(),
    }
}

/// Adds the counts of equal names.
fn merged<'c, N: Eq + Hash>(counted: impl Iterator<Item = (N, &'c Counted)>) -> Vec<(N, Counted)> {
    let mut merged: HashMap<N, Counted> = HashMap::new();
    counted.for_each(|(name, counted)| merged.entry(name).or_default().merge(counted));
    merged.into_iter().collect()
}

/// Returns the names with most changes, the one with most first.
fn top<N: Ord, C>(mut all: Vec<(N, C)>, count: impl Fn(&C) -> usize) -> Vec<(N, C)> {
    let order = |a: &(N, C), b: &(N, C)| count(&b.1).cmp(&count(&a.1)).then_with(|| a.0.cmp(&b.0));
    if all.len() > ROWS {
        all.select_nth_unstable_by(ROWS, order);
        all.truncate(ROWS);
    }
    all.sort_unstable_by(order);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_range_without_an_end_has_buckets() {
        let mut buckets = Buckets::new(0, i64::MAX);
        assert_eq!([buckets.of(5), buckets.of(6)], [0, 0]);
    }

    proptest! {
        #[test]
        fn a_time_is_in_the_same_bucket_as_without_the_last_one(
            from in 0_i64..1_000,
            len in 1_i64..1_000,
            times in proptest::collection::vec(0_i64..1_000, 1..50),
        ) {
            let mut buckets = Buckets::new(from, from + len);
            for time in times.into_iter().filter(|time| *time <= len) {
                let expected = (time * BUCKETS / len).min(BUCKETS - 1);
                prop_assert_eq!(buckets.of(from + time), expected as usize);
            }
        }
    }
}
