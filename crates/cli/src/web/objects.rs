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
use std::collections::{BTreeSet, HashMap};

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

/// Lists the objects that differ between two moments, those with the latest changes first.
pub(super) fn compare(source: &dyn ChangeSource, filter: &Filter, range: Range) -> Vec<Difference> {
    let kinds = source.kinds();
    let log = source.log();
    let mut by_object: HashMap<&ObjectId, Vec<&Change>> = HashMap::new();
    let to = if range.to == NOW { log.end() } else { range.to };
    for change in log.between(range.from, to).filter(|change| filter.accepts(change)) {
        by_object.entry(&change.object).or_default().push(change);
    }
    let mut found: Vec<Difference> = Vec::new();
    for (object, changes) in by_object {
        let (Some(first), Some(last)) = (changes.first(), changes.last()) else { continue };
        let what = match (first.verb == Verb::Added, last.verb == Verb::Deleted) {
            // It existed at neither moment.
            (true, true) => continue,
            (true, false) => "added",
            (false, true) => "deleted",
            (false, false) if changes.iter().any(|change| change.verb == Verb::Deleted) => "recreated",
            (false, false) => "updated",
        };
        let fields = changes.iter().flat_map(|change| change.fields.iter());
        let managers = changes.iter().filter_map(|change| change.manager.as_ref());
        found.push(Difference {
            kind: kinds[object.kind].resource.clone(),
            key: object.key.to_string(),
            what,
            changes: changes.len(),
            fields: fields
                .map(ToString::to_string)
                .take(MAX_NAMES * 8)
                .collect::<BTreeSet<_>>()
                .into_iter()
                .take(MAX_NAMES)
                .collect(),
            managers: managers
                .map(ToString::to_string)
                .collect::<BTreeSet<_>>()
                .into_iter()
                .take(MAX_NAMES)
                .collect(),
            last: last.time,
        });
    }
    found.sort_by(|a, b| b.last.cmp(&a.last).then_with(|| a.key.cmp(&b.key)));
    found
}
