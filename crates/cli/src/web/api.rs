//! The resources below `/api/v1`, as JSON.

use super::{
    cause::cause,
    change::Change,
    churn::churn,
    managers::{fights, managed_fields},
    objects::{compare, diff, objects_at, state},
    query::{Query, QueryError},
    source::{ChangeSource, KindInfo, NOW, SourceError},
    timeline::{Lanes, TimelineQuery, timeline},
};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

/// The maximum numbers of items in a response.
const MAX_OBJECTS: usize = 500;
const MAX_CHANGES: usize = 1_000;
const MAX_BUCKETS: usize = 2_000;
const MAX_DIFFERENCES: usize = 500;
const MAX_VERSIONS: usize = 500;
/// The maximum number of paths of a change in a list.
const MAX_PATHS: usize = 8;

/// The error of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ApiError {
    pub(super) code: u16,
    pub(super) message: String,
}

/// Returns a resource below `/api/v1`. It may block.
pub(super) fn answer(source: &dyn ChangeSource, path: &str, query: &str) -> Result<Value, ApiError> {
    let query = Query::parse(query);
    match path {
        "kinds" => to_json(&source.kinds()),
        "timeline" => get_timeline(source, &query),
        "changes" => get_changes(source, &query),
        "change" => get_change(source, &query),
        "objects" => {
            let limit = query.number("limit", MAX_OBJECTS, MAX_OBJECTS)?;
            to_json(&objects_at(source, &query.filter(source)?, query.moment()?, limit)?)
        }
        "object" => get_object(source, &query),
        "diff" => to_json(&diff(source, &query.object(source)?, query.range()?)?),
        "compare" => to_json(&compare(source, &query.filter(source)?, query.range()?, MAX_DIFFERENCES)),
        "fights" => to_json(&fights(source, &query.filter(source)?, query.range()?)),
        "churn" => to_json(&churn(source, &query.filter(source)?, query.range()?)),
        "cause" => to_json(&cause(source, &query.object(source)?, query.range()?)?),
        _ => Err(ApiError { code: 404, message: "no such resource; docs/web.md lists them".to_owned() }),
    }
}

/// Returns the status of the source and of the log.
pub(super) fn status_json(source: &dyn ChangeSource, streams: usize) -> Value {
    let status = source.status();
    let log = source.log();
    json!({
        "status": status,
        "start": log.start(),
        "end": log.end(),
        "next": log.next(),
        "dropped": log.dropped(),
        "log_bytes": log.bytes(),
        "now": Timestamp::now().as_microsecond(),
        "pages": streams,
    })
}

/// Returns a change as the lists show it.
pub(super) fn change_json(kinds: &[KindInfo], change: &Change) -> Value {
    json!({
        "n": change.number,
        "t": change.time,
        "kind": kinds[change.object.kind].resource,
        "key": change.object.key.as_str(),
        "verb": change.verb,
        "manager": change.manager.as_deref(),
        "owner": change.owner.as_deref(),
        "version": change.version.as_deref(),
        "bytes": change.bytes,
        "words": change.words,
        "fields": change.fields.iter().take(MAX_PATHS).map(|path| &**path).collect::<Vec<_>>(),
    })
}

fn get_timeline(source: &dyn ChangeSource, query: &Query<'_>) -> Result<Value, ApiError> {
    let text = query.get("lanes").unwrap_or("kind");
    let lanes = Lanes::parse(text).ok_or_else(|| {
        let text: String = text.chars().take(100).collect();
        QueryError(format!("invalid lanes {text:?}: expected kind, namespace, owner, manager or object"))
    })?;
    let timeline_query = TimelineQuery {
        range: query.range()?,
        filter: query.filter(source)?,
        lanes,
        buckets: query.number("buckets", 300, MAX_BUCKETS)?,
    };
    to_json(&timeline(source, &timeline_query))
}

/// Returns changes, the newest first.
fn get_changes(source: &dyn ChangeSource, query: &Query<'_>) -> Result<Value, ApiError> {
    let (range, filter) = (query.range()?, query.filter(source)?);
    let limit = query.number("limit", 200, MAX_CHANGES)?;
    let kinds = source.kinds();
    let log = source.log();
    let object = query.get("key").map(|_| query.object(source)).transpose()?;
    let is_shown = |change: &&Change| {
        object.as_ref().map_or_else(|| filter.accepts(change), |object| change.object == *object)
    };
    let mut found = log.between(range.from, range.to).rev().filter(is_shown);
    let changes: Vec<Value> = found.by_ref().take(limit).map(|change| change_json(&kinds, change)).collect();
    Ok(json!({"changes": changes, "more": found.next().is_some()}))
}

/// Returns one change by its number.
fn get_change(source: &dyn ChangeSource, query: &Query<'_>) -> Result<Value, ApiError> {
    let text = query.get("n").unwrap_or_default();
    let number = text
        .parse()
        .map_err(|_| QueryError("missing or invalid parameter n: expected a number".to_owned()))?;
    let kinds = source.kinds();
    let log = source.log();
    let change = log.get(number).map(|change| change_json(&kinds, change));
    let missing = || ApiError { code: 404, message: format!("change {number} is not in the log any more") };
    change.ok_or_else(missing)
}

/// Returns an object at a moment, with its versions and field managers.
fn get_object(source: &dyn ChangeSource, query: &Query<'_>) -> Result<Value, ApiError> {
    let (object, time) = (query.object(source)?, query.moment()?);
    let deleted = {
        let log = source.log();
        let last = log.of(&object).take_while(|change| change.time <= time).last();
        last.filter(|last| last.verb == super::change::Verb::Deleted).map(|last| last.time)
    };
    // A deleted object is shown as it was before.
    let mut found = state(source, &object, deleted.map_or(time, |deleted| deleted - 1))?;
    let managers = found.as_ref().map(managed_fields).unwrap_or_default();
    if let Some(Value::Object(metadata)) = found.as_mut().and_then(|state| state.get_mut("metadata")) {
        metadata.remove("managedFields");
    }
    let kinds = source.kinds();
    let log = source.log();
    let total = log.of(&object).count();
    let versions: Vec<Value> =
        log.of(&object).rev().take(MAX_VERSIONS).map(|change| change_json(&kinds, change)).collect();
    if found.is_none() && versions.is_empty() {
        let at = if time == NOW { "now".to_owned() } else { format!("at {time}") };
        return Err(ApiError { code: 404, message: format!("{} does not exist {at}", object.key) });
    }
    Ok(json!({
        "kind": kinds[object.kind].resource,
        "key": object.key.as_str(),
        "yaml": found.as_ref().map(crate::change::yaml).unwrap_or_default(),
        "exists": found.is_some() && deleted.is_none(),
        "deleted": deleted,
        "changes": total,
        "versions": versions,
        "managers": managers,
    }))
}

fn to_json(value: &impl Serialize) -> Result<Value, ApiError> {
    serde_json::to_value(value).map_err(|error| ApiError { code: 500, message: error.to_string() })
}

impl From<QueryError> for ApiError {
    fn from(error: QueryError) -> Self {
        Self { code: 400, message: error.0 }
    }
}

impl From<SourceError> for ApiError {
    fn from(error: SourceError) -> Self {
        Self { code: 422, message: error.0 }
    }
}
