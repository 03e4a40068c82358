//! The objects, fields and managers with most changes.

use super::{
    change::Change,
    query::{Filter, Range},
    source::{ChangeSource, NOW},
};
use serde::Serialize;
use std::collections::HashMap;

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

#[derive(Default)]
struct Counted {
    count: usize,
    bytes: u64,
    heat: Vec<u32>,
}

impl Counted {
    fn add(&mut self, change: &Change, bucket: usize) {
        self.count += 1;
        self.bytes += u64::from(change.bytes);
        self.heat.resize(BUCKETS as usize, 0);
        self.heat[bucket] += 1;
    }

    fn row(self, kind: String, name: String) -> ChurnRow {
        ChurnRow { kind, name, count: self.count, bytes: self.bytes, heat: self.heat }
    }
}

/// Counts the changes of objects, fields and managers.
pub(super) fn churn(source: &dyn ChangeSource, filter: &Filter, range: Range) -> Churn {
    let kinds = source.kinds();
    let log = source.log();
    let from = range.from.max(log.start() - 1);
    let to = if range.to == NOW { log.end() } else { range.to }.max(from + 1);
    let (mut total, mut bytes) = (0, 0);
    let mut objects: HashMap<_, Counted> = HashMap::new();
    let mut fields: HashMap<_, Counted> = HashMap::new();
    let mut managers: HashMap<_, Counted> = HashMap::new();
    for change in log.between(from, to).filter(|change| filter.accepts(change)) {
        total += 1;
        bytes += u64::from(change.bytes);
        let bucket = ((change.time - from) * BUCKETS / (to - from)).clamp(0, BUCKETS - 1) as usize;
        objects.entry(&change.object).or_default().add(change, bucket);
        managers.entry(change.manager.as_ref()).or_default().add(change, bucket);
        for field in &change.fields {
            fields.entry((change.object.kind, field)).or_default().add(change, bucket);
        }
    }
    let resource = |kind: usize| kinds[kind].resource.clone();
    Churn {
        from,
        to,
        total,
        bytes,
        objects: top(objects
            .into_iter()
            .map(|(object, row)| row.row(resource(object.kind), object.key.to_string()))),
        fields: top(fields
            .into_iter()
            .map(|((kind, field), row)| row.row(resource(kind), field.to_string()))),
        managers: top(managers.into_iter().map(|(manager, row)| {
            let name = manager.map_or_else(|| "(unknown)".to_owned(), ToString::to_string);
            row.row(String::new(), name)
        })),
    }
}

fn top(rows: impl Iterator<Item = ChurnRow>) -> Vec<ChurnRow> {
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
    rows.truncate(ROWS);
    rows
}
