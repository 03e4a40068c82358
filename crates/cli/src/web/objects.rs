//! Objects at a moment, and the differences between two moments.

use super::{
    change::{Change, ObjectId, Verb},
    describe::{field_changes, summary},
    mask::mask,
    query::{Filter, Range},
    source::{ChangeSource, NOW, SourceError},
};
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
    for kind in (0..source.kinds().len()).filter(|kind| filter.accepts_kind(*kind)) {
        let objects = source.keys_at(kind, time)?.into_iter().map(|key| ObjectId { kind, key });
        let objects = objects.filter(|object| filter.accepts_object(object));
        found.extend(objects.map(|object| Found { object, deleted: None }));
    }
    let log = source.log();
    let deleted = log.deleted_at(time).filter(|change| filter.accepts_object(&change.object));
    found.extend(deleted.map(|change| Found { object: change.object.clone(), deleted: Some(change.time) }));
    drop(log);
    // The keys of each kind are in order, which makes this fast.
    found.sort_by(|a, b| {
        (a.object.kind, &a.object.key, a.deleted).cmp(&(b.object.kind, &b.object.key, b.deleted))
    });
    // The cache may have an object again whose creation is not in the log yet.
    found.dedup_by(|later, first| later.object == first.object);
    let total = found.len();
    let rows =
        found.into_iter().take(limit).map(|found| row(source, found, time)).collect::<Result<_, _>>()?;
    Ok(Rows { total, rows })
}

fn row(source: &dyn ChangeSource, found: Found, time: i64) -> Result<Row, SourceError> {
    let Found { object, deleted } = found;
    // A deleted object is shown as it was before.
    let state = source.state_at(&object, deleted.map_or(time, |deleted| deleted - 1))?;
    let kind = source.kinds().swap_remove(object.kind);
    let text = |pointer: &str| state.as_ref()?.pointer(pointer)?.as_str().map(str::to_owned);
    let created = text("/metadata/creationTimestamp");
    let log = source.log();
    let mut changes = log.until(&object, time);
    Ok(Row {
        key: object.key.to_string(),
        changes: changes.len(),
        last_change: changes.next_back().map(|change| change.time),
        status: state.map(|state| summary(&kind, state)).unwrap_or_default(),
        kind: kind.resource,
        created,
        deleted,
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
struct Span<'l> {
    first: &'l Change,
    last: &'l Change,
    has_deletion: bool,
    changes: usize,
}

impl Span<'_> {
    /// Returns the type of the difference; `None` if the object existed at neither moment.
    fn what(&self) -> Option<&'static str> {
        match (self.first.verb == Verb::Added, self.last.verb == Verb::Deleted) {
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
    let mut spans: Vec<Option<Span<'_>>> = vec![None; log.slots()];
    for change in log.between(range.from, to).filter(|change| filter.accepts(change)) {
        let span = spans[change.slot as usize].get_or_insert(Span {
            first: change,
            last: change,
            has_deletion: false,
            changes: 0,
        });
        span.last = change;
        span.has_deletion |= change.verb == Verb::Deleted;
        span.changes += 1;
    }
    let mut spans: Vec<_> = spans.into_iter().flatten().filter(|span| span.what().is_some()).collect();
    let total = spans.len();
    let latest = |a: &Span<'_>, b: &Span<'_>| b.last.number.cmp(&a.last.number);
    if spans.len() > limit {
        spans.select_nth_unstable_by(limit, latest);
        spans.truncate(limit);
    }
    spans.sort_unstable_by(latest);
    let difference = |span: Span<'_>| {
        let object = &span.last.object;
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
            last: span.last.time,
        }
    };
    Differences { total, differences: spans.into_iter().map(difference).collect() }
}
