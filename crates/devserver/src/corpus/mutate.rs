//! Realistic changes of objects.

use crate::object::{metadata, path};
use jiff::Timestamp;
use serde_json::{Value, json};

/// Makes a small change to an object. Successive ticks make the different changes of controllers and
/// kubelets.
///
/// An object without the status of a pod gets a label at every tick. The result depends only on the object
/// and the tick.
pub fn mutate(object: &mut Value, tick: u64) {
    let has_containers = path::read(object, ".status.containerStatuses[0]").is_some_and(Value::is_object);
    let has_conditions = path::read(object, ".status.conditions[0]").is_some_and(Value::is_object);
    match tick % 4 {
        0 if has_conditions => flip_condition(object, "Ready", tick),
        1 if has_containers => restart(object, tick),
        2 if has_conditions => probe(object, tick),
        _ => label(object, tick),
    }
}

fn time(tick: u64) -> Value {
    /// The start of July 2026, in seconds since 1970; all times in the corpus are earlier.
    const START: i64 = 1_782_864_000;
    let second = START + i64::try_from(tick % 1_000_000_000).unwrap_or(0);
    Timestamp::from_second(second).map_or(Value::Null, |time| time.to_string().into())
}

fn conditions(object: &mut Value) -> impl Iterator<Item = &mut Value> {
    let found = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
    found.into_iter().flatten().filter(|condition| condition.is_object())
}

/// Changes a condition and its transition time.
fn flip_condition(object: &mut Value, kind: &str, tick: u64) {
    for condition in conditions(object).filter(|condition| condition["type"] == kind) {
        condition["status"] = if condition["status"] == "True" { "False" } else { "True" }.into();
        condition["lastTransitionTime"] = time(tick);
    }
}

/// Updates the probe times of conditions.
fn probe(object: &mut Value, tick: u64) {
    for condition in conditions(object) {
        condition["lastProbeTime"] = time(tick);
    }
}

/// Restarts the first container.
fn restart(object: &mut Value, tick: u64) {
    let Some(status) = object.pointer_mut("/status/containerStatuses/0") else { return };
    let count = status["restartCount"].as_i64().unwrap_or(0);
    let ended = json!({"exitCode": 137, "reason": "OOMKilled", "finishedAt": time(tick), "containerID": status["containerID"]});
    status["restartCount"] = count.saturating_add(1).into();
    status["lastState"] = json!({"terminated": ended});
    status["state"] = json!({"running": {"startedAt": time(tick.saturating_add(1))}});
}

/// Rolls out a new revision.
fn label(object: &mut Value, tick: u64) {
    let labels = metadata::fields(metadata::of(object).entry("labels").or_insert(Value::Null));
    labels.insert("kube-informer.dev/revision".to_owned(), tick.to_string().into());
}
