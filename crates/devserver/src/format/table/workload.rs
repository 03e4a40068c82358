//! The cells of workloads: ready and desired replicas.

use crate::format::age::{age, duration};
use crate::format::table::cells::{condition, number, text};
use crate::object::path;
use jiff::Timestamp;
use serde_json::Value;

/// Returns ready and desired replicas of Deployments and StatefulSets.
pub(super) fn ready(object: &Value, _: Timestamp) -> Value {
    format!("{}/{}", number(object, "status.readyReplicas"), number(object, "spec.replicas")).into()
}

/// Returns the status of a Job.
pub(super) fn job_status(object: &Value, _: Timestamp) -> Value {
    let is_true = |kind: &str| condition(object, kind).is_some_and(|one| text(one, "status") == "True");
    let words = [("Complete", "Complete"), ("Failed", "Failed")];
    if let Some((_, word)) = words.iter().find(|(kind, _)| is_true(kind)) {
        return (*word).into();
    }
    if !text(object, "metadata.deletionTimestamp").is_empty() {
        return "Terminating".into();
    }
    let words = [
        ("Suspended", "Suspended"),
        ("FailureTarget", "FailureTarget"),
        ("SuccessCriteriaMet", "SuccessCriteriaMet"),
    ];
    words.iter().find(|(kind, _)| is_true(kind)).map_or("Running", |(_, word)| word).into()
}

/// Returns completed and desired completions of a Job.
pub(super) fn job_completions(object: &Value, _: Timestamp) -> Value {
    let done = number(object, "status.succeeded");
    match path::read(object, "spec.completions").and_then(Value::as_i64) {
        Some(wanted) => format!("{done}/{wanted}").into(),
        None => match number(object, "spec.parallelism") {
            at_once @ 2.. => format!("{done}/1 of {at_once}").into(),
            _ => format!("{done}/1").into(),
        },
    }
}

/// Returns the duration of a Job.
pub(super) fn job_duration(object: &Value, now: Timestamp) -> Value {
    let seconds = |path| text(object, path).parse::<Timestamp>().ok().map(Timestamp::as_second);
    let Some(start) = seconds("status.startTime") else { return "".into() };
    let end = seconds("status.completionTime").unwrap_or(now.as_second());
    duration(end.saturating_sub(start)).into()
}

/// Returns the time of the last run of a CronJob.
pub(super) fn last_schedule(object: &Value, now: Timestamp) -> Value {
    match text(object, "status.lastScheduleTime") {
        "" => "<none>".into(),
        time => age(time, now).into(),
    }
}

/// Returns true if a CronJob is suspended.
pub(super) fn suspended(object: &Value, _: Timestamp) -> Value {
    let is_suspended = path::read(object, "spec.suspend").and_then(Value::as_bool) == Some(true);
    if is_suspended { "True" } else { "False" }.into()
}

/// Returns the time of the last occurrence of an Event.
pub(super) fn last_seen(event: &Value, now: Timestamp) -> Value {
    let times = ["series.lastObservedTime", "lastTimestamp", "deprecatedLastTimestamp", "eventTime"];
    let found = times.iter().map(|path| text(event, path)).find(|time| !time.is_empty());
    age(found.unwrap_or_default(), now).into()
}

/// Returns the object of an Event.
pub(super) fn event_object(event: &Value, _: Timestamp) -> Value {
    let about =
        ["involvedObject", "regarding"].iter().find_map(|name| event.get(name)).unwrap_or(&Value::Null);
    format!("{}/{}", text(about, "kind").to_lowercase(), text(about, "name")).into()
}

/// Returns the message of an Event.
pub(super) fn event_message(event: &Value, _: Timestamp) -> Value {
    let said = [text(event, "message"), text(event, "note")];
    said.iter().find(|text| !text.is_empty()).map_or("", |text| text.trim()).into()
}
