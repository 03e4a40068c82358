//! The objects, fields and managers with most changes.

use super::{
    address::{TextMap, address},
    change::{Change, ObjectId},
    query::{Filter, Range},
    source::{ChangeSource, NOW},
};
use kube_informer_wire::Key;
use serde::Serialize;
use std::{collections::HashMap, hash::Hash, sync::Arc};

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
#[derive(Clone, Debug, Default)]
struct Counted {
    count: usize,
    bytes: u64,
    /// Empty, or the number of changes in each part of the range.
    heat: Vec<u32>,
}

impl Counted {
    fn add(&mut self, change: &Change, bucket: usize) {
        self.count += 1;
        self.bytes += u64::from(change.bytes);
        self.heat.resize(BUCKETS as usize, 0);
        self.heat[bucket] += 1;
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.heat.resize(BUCKETS as usize, 0);
        self.heat.iter_mut().zip(&other.heat).for_each(|(sum, more)| *sum += more);
    }

    fn row(&self, kind: String, name: String) -> ChurnRow {
        ChurnRow { kind, name, count: self.count, bytes: self.bytes, heat: self.heat.clone() }
    }
}

/// The changes with the same fields of objects of one kind.
struct FieldList<'l> {
    kind: usize,
    fields: &'l [Arc<str>],
    counted: Counted,
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
    let bucket = |time: i64| ((time - from) * BUCKETS / (to - from)).clamp(0, BUCKETS - 1) as usize;
    let (mut total, mut bytes) = (0, 0);
    // The number of changes in each slot, and the last one of them.
    let mut objects: Vec<(usize, Option<&Change>)> = vec![(0, None); log.slots()];
    let mut lists: TextMap<(usize, usize), FieldList<'_>> = HashMap::default();
    let mut managers: TextMap<usize, (Option<&str>, Counted)> = HashMap::default();
    for change in log.between(from, to).filter(|change| filter.accepts(change)) {
        total += 1;
        bytes += u64::from(change.bytes);
        let bucket = bucket(change.time);
        let object = &mut objects[change.slot as usize];
        *object = (object.0 + 1, Some(change));
        let manager = change.manager.as_deref();
        let counted = managers.entry(manager.map_or(0, address));
        counted.or_insert_with(|| (manager, Counted::default())).1.add(change, bucket);
        let (kind, fields) = (change.object.kind, &*change.fields);
        let list = lists.entry((kind, fields.as_ptr() as usize));
        list.or_insert_with(|| FieldList { kind, fields, counted: Counted::default() })
            .counted
            .add(change, bucket);
    }
    let resource = |kind: usize| kinds[kind].resource.clone();
    let objects = objects.into_iter().filter_map(|(count, last)| {
        let ObjectId { kind, key } = &last?.object;
        Some(((*kind, key), count))
    });
    let object = |(kind, key): (usize, &Key)| {
        let object = ObjectId { kind, key: key.clone() };
        let changes = log.of(&object);
        let mut counted = Counted::default();
        let is_shown = |change: &&Change| change.time > from && change.time <= to && filter.accepts(change);
        changes.filter(is_shown).for_each(|change| counted.add(change, bucket(change.time)));
        counted.row(resource(kind), key.to_string())
    };
    let fields = lists.values().flat_map(|list| list.fields.iter().map(move |field| (list, field)));
    let fields = merged(fields.map(|(list, field)| ((list.kind, &**field), &list.counted)));
    let managers = merged(managers.values().map(|(name, counted)| (*name, counted)));
    let count = |counted: &Counted| counted.count;
    Churn {
        from,
        to,
        total,
        bytes,
        objects: top(objects.collect(), |count| *count).into_iter().map(|(name, _)| object(name)).collect(),
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
