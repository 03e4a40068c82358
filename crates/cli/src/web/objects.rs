//! Objects at a moment, and the differences between two moments.

use super::{
    change::{Change, ObjectId, Verb},
    describe::{field_changes, summary},
    mask::mask,
    query::{Filter, Range},
    source::{ChangeSource, KindInfo, NOW, SourceError},
};
use crate::cores::{on_all_cores, part_len};
use kube_informer_wire::Key;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;

/// One row of the list of objects.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    kind: String,
    key: String,
    /// The status as the command prints it; the last one of a deleted object.
    status: String,
    created: Option<String>,
    /// The time of the deletion, if the object was deleted before the moment.
    deleted: Option<i64>,
    /// The number of changes in the log up to the moment.
    changes: usize,
    last_change: Option<i64>,
}

/// The objects at a moment.
#[derive(Debug, Serialize)]
pub(super) struct Rows {
    total: usize,
    rows: Vec<Row>,
}

/// The minimum number of rows for one thread.
const MIN_PART: usize = 16;

/// An object of a row, and the time of its deletion.
struct Found {
    object: ObjectId,
    deleted: Option<i64>,
}

/// Lists the objects that existed at a moment, and those that had been deleted before it.
pub(super) fn objects_at(
    source: &dyn ChangeSource,
    filter: &Filter,
    time: i64,
    limit: usize,
) -> Result<Rows, SourceError> {
    let mut found = Vec::new();
    let mut total = 0;
    for kind in (0..source.kinds().len()).filter(|kind| filter.accepts_kind(*kind)) {
        let keys = source.keys_at(kind, time)?;
        let log = source.log();
        // The cache may have an object again whose creation is not in the log yet.
        let deleted = log.deleted_at(time).filter(|change| {
            change.object.kind == kind
                && filter.accepts_key(kind, &change.object.key)
                && keys.binary_search(&change.object.key).is_err()
        });
        let mut deleted: Vec<(&Key, i64)> = deleted.map(|change| (&change.object.key, change.time)).collect();
        deleted.sort_unstable();
        total += deleted.len();
        total += match filter.accepts_all_keys() {
            true => keys.len(),
            false => keys.iter().filter(|key| filter.accepts_key(kind, key)).count(),
        };
        let mut existing = keys.iter().filter(|key| filter.accepts_key(kind, key)).peekable();
        let mut deleted = deleted.into_iter().peekable();
        while found.len() < limit {
            let is_deleted_next = match (existing.peek(), deleted.peek()) {
                (Some(key), Some((deleted, _))) => deleted < key,
                (None, Some(_)) => true,
                (Some(_), None) => false,
                (None, None) => break,
            };
            let (key, deleted) = match is_deleted_next {
                true => deleted.next().map(|(key, time)| (key, Some(time))),
                false => existing.next().map(|key| (key, None)),
            }
            .expect("it was peeked");
            found.push(Found { object: ObjectId { kind, key: key.clone() }, deleted });
        }
    }
    Ok(Rows { total, rows: rows(source, &found, time)? })
}

/// Reads the objects of rows, on all cores.
fn rows(source: &dyn ChangeSource, found: &[Found], time: i64) -> Result<Vec<Row>, SourceError> {
    let kinds = source.kinds();
    let read = |found: &[Found]| found.iter().map(|found| row(source, &kinds, found, time)).collect();
    let parts = on_all_cores(found.chunks(part_len(found.len(), MIN_PART)), read);
    let rows: Vec<Vec<Row>> = parts.into_iter().collect::<Result<_, SourceError>>()?;
    Ok(rows.into_iter().flatten().collect())
}

fn row(source: &dyn ChangeSource, kinds: &[KindInfo], found: &Found, time: i64) -> Result<Row, SourceError> {
    let Found { object, deleted } = found;
    // A deleted object is shown as it was before.
    let state = source.state_at(object, deleted.map_or(time, |deleted| deleted - 1))?;
    let kind = &kinds[object.kind];
    let text = |pointer: &str| state.as_ref()?.pointer(pointer)?.as_str().map(str::to_owned);
    let created = text("/metadata/creationTimestamp");
    let log = source.log();
    let mut changes = log.until(object, time);
    Ok(Row {
        key: object.key.to_string(),
        changes: changes.len(),
        last_change: changes.next_back().map(|change| change.time),
        status: state.map(|state| summary(kind, state)).unwrap_or_default(),
        kind: kind.resource.clone(),
        created,
        deleted: *deleted,
    })
}

/// One changed field.
#[derive(Debug, Serialize)]
pub(super) struct FieldDiff {
    pub(super) path: String,
    pub(super) old: Option<Value>,
    pub(super) new: Option<Value>,
}

/// The difference of an object between two moments.
#[derive(Debug, Serialize)]
pub(super) struct ObjectDiff {
    existed: bool,
    exists: bool,
    fields: Vec<FieldDiff>,
}

/// Compares an object at two moments.
pub(super) fn diff(
    source: &dyn ChangeSource,
    object: &ObjectId,
    range: Range,
) -> Result<ObjectDiff, SourceError> {
    let kind = source.kinds().swap_remove(object.kind);
    let (old, new) = (source.state_at(object, range.from)?, source.state_at(object, range.to)?);
    let (existed, exists) = (old.is_some(), new.is_some());
    let empty = || Value::Object(serde_json::Map::new());
    let changes = field_changes(&kind, old.unwrap_or_else(empty), new.unwrap_or_else(empty));
    let field =
        |change: kube_history::FieldChange| FieldDiff { path: change.path, old: change.old, new: change.new };
    Ok(ObjectDiff { existed, exists, fields: changes.into_iter().map(field).collect() })
}

/// Returns the state of an object at a moment, with masked Secrets.
pub(super) fn state(
    source: &dyn ChangeSource,
    object: &ObjectId,
    time: i64,
) -> Result<Option<Value>, SourceError> {
    let mut state = source.state_at(object, time)?;
    if source.kinds()[object.kind].is_secret {
        state.iter_mut().for_each(mask);
    }
    Ok(state)
}

/// An object that differs between two moments.
#[derive(Debug, Serialize)]
pub(super) struct Difference {
    kind: String,
    key: String,
    /// `added`, `deleted` or `updated`; `recreated` if it was deleted and created again.
    what: &'static str,
    changes: usize,
    fields: BTreeSet<String>,
    managers: BTreeSet<String>,
    last: i64,
}

/// The maximum number of fields and managers of a [`Difference`].
const MAX_NAMES: usize = 12;

/// The changes of an object between two moments.
#[derive(Clone, Copy)]
struct Span {
    first: Verb,
    /// With its number.
    last: (u64, Verb),
    has_deletion: bool,
    changes: usize,
}

impl Span {
    /// Returns the type of the difference; `None` if the object existed at neither moment.
    fn what(&self) -> Option<&'static str> {
        match (self.first == Verb::Added, self.last.1 == Verb::Deleted) {
            (true, true) => None,
            (true, false) => Some("added"),
            (false, true) => Some("deleted"),
            (false, false) if self.has_deletion => Some("recreated"),
            (false, false) => Some("updated"),
        }
    }
}

/// The objects that differ between two moments.
#[derive(Debug, Serialize)]
pub(super) struct Differences {
    pub(super) total: usize,
    pub(super) differences: Vec<Difference>,
}

/// Lists the objects that differ between two moments, at most `limit`, those with the latest changes first.
pub(super) fn compare(source: &dyn ChangeSource, filter: &Filter, range: Range, limit: usize) -> Differences {
    let kinds = source.kinds();
    let log = source.log();
    let to = if range.to == NOW { log.end() } else { range.to };
    let mut spans: Vec<Option<Span>> = vec![None; log.slots()];
    for (number, fact) in filter.facts(&log, log.numbers(range.from, to)) {
        let span = spans[fact.slot as usize].get_or_insert(Span {
            first: fact.verb,
            last: (number, fact.verb),
            has_deletion: false,
            changes: 0,
        });
        span.last = (number, fact.verb);
        span.has_deletion |= fact.verb == Verb::Deleted;
        span.changes += 1;
    }
    let mut spans: Vec<_> = spans.into_iter().flatten().filter(|span| span.what().is_some()).collect();
    let total = spans.len();
    let latest = |a: &Span, b: &Span| b.last.0.cmp(&a.last.0);
    if spans.len() > limit {
        spans.select_nth_unstable_by(limit, latest);
        spans.truncate(limit);
    }
    spans.sort_unstable_by(latest);
    let difference = |span: Span| {
        let last = &log[span.last.0];
        let object = &last.object;
        let is_shown =
            |change: &&Change| change.time > range.from && change.time <= to && filter.accepts(change);
        let changes = || log.of(object).filter(is_shown);
        let fields: BTreeSet<&str> = changes()
            .flat_map(|change| change.fields.iter())
            .map(|path| &**path)
            .take(MAX_NAMES * 8)
            .collect();
        let managers: BTreeSet<&str> = changes().filter_map(|change| change.manager.as_deref()).collect();
        let names = |names: BTreeSet<&str>| names.into_iter().take(MAX_NAMES).map(str::to_owned).collect();
        Difference {
            kind: kinds[object.kind].resource.clone(),
            key: object.key.to_string(),
            what: span.what().unwrap_or("updated"),
            changes: span.changes,
            fields: names(fields),
            managers: names(managers),
            last: last.time,
        }
    };
    Differences { total, differences: spans.into_iter().map(difference).collect() }
}
