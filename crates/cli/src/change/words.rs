//! Describes changed fields in short phrases.

use super::{
    fields::FieldChange,
    read::{items, text},
    scalar::scalar,
};
use crate::safe::clean;
use serde_json::Value;

/// Values longer than this are not shown.
const LONG: usize = 40;

/// The maximum number of changes that are described: each is compared with all others.
const MOST: usize = 500;

/// Fields that change along with others and need no phrase of their own.
const FIELDS_OF_TIME: [&str; 12] = [
    "lastProbeTime",
    "lastTransitionTime",
    "lastHeartbeatTime",
    "lastUpdateTime",
    "renewTime",
    "startedAt",
    "finishedAt",
    "observedGeneration",
    "containerID",
    "imageID",
    "startTime",
    "completionTime",
];

/// Returns what changed in short phrases, the most important first. `new` is the object after the change.
pub(crate) fn words(changes: &[FieldChange], new: &Value) -> Vec<String> {
    let changes = &changes[..changes.len().min(MOST)];
    let mut phrases: Vec<(u8, String)> = Vec::new();
    for change in changes {
        if let Some(phrase) = phrase(change, changes, new).filter(|phrase| !phrases.contains(phrase)) {
            phrases.push(phrase);
        }
    }
    if phrases.is_empty() {
        return vec![clean(&quiet(changes))];
    }
    phrases.sort_by_key(|(rank, _)| *rank);
    // The names of labels, containers and conditions come from the server as well.
    phrases.into_iter().map(|(_, phrase)| clean(&phrase)).collect()
}

/// Returns the changed fields that have no phrase.
fn quiet(changes: &[FieldChange]) -> String {
    let mut names: Vec<_> = changes.iter().filter_map(|change| change.path.names().last().copied()).collect();
    names.sort_unstable();
    names.dedup();
    match names.as_slice() {
        [] => "no visible change (metadata only)".to_owned(),
        names => format!("{} updated", names.join(", ")),
    }
}

/// Returns a phrase for a change, with its rank.
fn phrase(change: &FieldChange, all: &[FieldChange], new: &Value) -> Option<(u8, String)> {
    let names = change.path.names();
    let last = *names.last()?;
    let message_text = match names.as_slice() {
        ["metadata", "deletionTimestamp"] => (0, "deletion requested".to_owned()),
        ["metadata", "labels", name] => (5, entry("label", name, change)),
        ["metadata", "annotations", name] => (7, entry("annotation", name, change)),
        ["metadata", "finalizers", ..] => (4, finalizer(change)),
        ["metadata", "ownerReferences", ..] => (4, "ownerReferences changed".to_owned()),
        ["status", "phase"] => (1, step("phase", change)),
        ["status", "reason"] => (1, step("reason", change)),
        ["spec", "unschedulable"] => (1, unschedulable(change)),
        ["spec", "nodeName"] if change.old.is_none() => {
            (1, format!("scheduled to {}", shown(change.new.as_ref())))
        }
        ["spec", "replicas"] => (1, step("replicas", change)),
        ["status", "replicas"] => (3, step("current", change)),
        ["status", name] if name.ends_with("Replicas") => {
            (2, step(name.trim_end_matches("Replicas"), change))
        }
        ["status", "conditions", name, "status"] => (2, step(name, change)),
        ["status", "conditions", name, "reason" | "message"] => return reason(name, change, all),
        ["status", "containerStatuses" | "initContainerStatuses", name, rest @ ..] => {
            let context = Context { all, new };
            return container(name, rest, change, &context);
        }
        [.., "containers" | "initContainers", name, "image"] => (1, step(&format!("{name} image"), change)),
        ["data" | "binaryData" | "stringData", name] => (2, datum(name, change)),
        _ if FIELDS_OF_TIME.contains(&last) => return None,
        _ => (6, step(&change.path.to_string(), change)),
    };
    Some(message_text)
}

/// Returns `name old -> new`, `name new` or `name removed`.
fn step(name: &str, change: &FieldChange) -> String {
    match (&change.old, &change.new) {
        (None, new) => format!("{name} {}", shown(new.as_ref())),
        (Some(_), None) => format!("{name} removed"),
        (old, new) => format!("{name} {} -> {}", shown(old.as_ref()), shown(new.as_ref())),
    }
}

fn entry(what: &str, name: &str, change: &FieldChange) -> String {
    match (&change.old, &change.new) {
        (None, new) => format!("{what} {name}={}", shown(new.as_ref())),
        (Some(_), None) => format!("{what} {name} removed"),
        (old, new) => format!("{what} {name} {} -> {}", shown(old.as_ref()), shown(new.as_ref())),
    }
}

fn unschedulable(change: &FieldChange) -> String {
    let is_cordoned = change.new == Some(Value::Bool(true));
    if is_cordoned { "SchedulingDisabled" } else { "scheduling enabled" }.to_owned()
}

fn finalizer(change: &FieldChange) -> String {
    match (&change.old, &change.new) {
        (old, None) => format!("finalizer {} removed", shown(old.as_ref())),
        (_, new) => format!("finalizer {}", shown(new.as_ref())),
    }
}

/// Values of configuration are not shown: some are secrets.
fn datum(name: &str, change: &FieldChange) -> String {
    match (&change.old, &change.new) {
        (None, _) => format!("data {name} added"),
        (_, None) => format!("data {name} removed"),
        _ => format!("data {name} changed"),
    }
}

/// Returns the reason of a condition whose status did not change.
fn reason(name: &str, change: &FieldChange, all: &[FieldChange]) -> Option<(u8, String)> {
    let has_flipped = all.iter().any(|other| other.path.names() == ["status", "conditions", name, "status"]);
    let is_reason = change.path.names().last() == Some(&"reason");
    (!has_flipped && is_reason).then(|| (3, step(&format!("{name} because"), change)))
}

/// The context of a changed field.
struct Context<'a> {
    all: &'a [FieldChange],
    new: &'a Value,
}

fn container(name: &str, rest: &[&str], change: &FieldChange, context: &Context<'_>) -> Option<(u8, String)> {
    match rest {
        ["restartCount"] => {
            let restarts = step(&format!("{name} restarts"), change);
            let why = last_termination(name, context.new);
            Some((1, why.map_or(restarts.clone(), |why| format!("{restarts} ({why})"))))
        }
        ["ready"] => {
            let is_ready = change.new.as_ref().and_then(Value::as_bool).unwrap_or(false);
            Some((2, format!("{name} {}", if is_ready { "ready" } else { "not ready" })))
        }
        ["state", ..] => state(name, context.all).map(|phrase| (1, phrase)),
        ["image"] => Some((3, step(&format!("{name} runs image"), change))),
        _ => None,
    }
}

/// Returns why the container terminated before its last restart, such as `OOMKilled`.
fn last_termination(container: &str, pod: &Value) -> Option<String> {
    let lists = ["/status/containerStatuses", "/status/initContainerStatuses"];
    let mut statuses = lists.into_iter().flat_map(|pointer| items(pod, pointer));
    let status = statuses.find(|status| status["name"] == container)?;
    text(status, "/lastState/terminated/reason").or_else(|| {
        let code = status.pointer("/lastState/terminated/exitCode")?.as_i64()?;
        Some(format!("exit code {code}"))
    })
}

/// `front waiting (CrashLoopBackOff) -> running`, of all that changed below a container's state.
fn state(container: &str, all: &[FieldChange]) -> Option<String> {
    let read = |side: fn(&FieldChange) -> &Option<Value>| {
        let mut found: Option<(String, Option<String>)> = None;
        for change in all {
            let names = change.path.names();
            let ["status", _, name, "state", state, rest @ ..] = names.as_slice() else { continue };
            let Some(value) = side(change).as_ref().filter(|_| *name == container) else { continue };
            let (_, why) = found.get_or_insert_with(|| ((*state).to_owned(), None));
            if rest == ["reason"] {
                *why = Some(scalar(value));
            }
        }
        found.map(|(state, why)| why.map_or(state.clone(), |why| format!("{state} ({why})")))
    };
    match (read(|change| &change.old), read(|change| &change.new)) {
        (Some(old), Some(new)) if old == new => None,
        (Some(old), Some(new)) => Some(format!("{container} {old} -> {new}")),
        (None, Some(new)) => Some(format!("{container} {new}")),
        (_, None) => None,
    }
}

fn shown(value: Option<&Value>) -> String {
    let text = value.map(scalar).unwrap_or_default();
    if text.chars().count() <= LONG {
        return text;
    }
    text.chars().take(LONG - 2).chain("..".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::changes;
    use kube_core::DynamicObject;
    use serde_json::json;

    fn description(old: Value, new: Value) -> String {
        let object = |mut value: Value| {
            let meta = value["metadata"].take();
            value["metadata"] = if meta.is_null() { json!({}) } else { meta };
            serde_json::from_value(value).unwrap()
        };
        let (old, new): (DynamicObject, DynamicObject) = (object(old), object(new));
        words(&changes(&old, &new), &new.data).join(", ")
    }

    #[test]
    fn what_people_look_for_has_words() {
        let table = [
            (
                json!({"status": {"phase": "Pending"}}),
                json!({"status": {"phase": "Running"}}),
                "phase Pending -> Running",
            ),
            (json!({"spec": {"replicas": 2}}), json!({"spec": {"replicas": 3}}), "replicas 2 -> 3"),
            (
                json!({"status": {"readyReplicas": 2}}),
                json!({"status": {"readyReplicas": 3}}),
                "ready 2 -> 3",
            ),
            (json!({"spec": {}}), json!({"spec": {"nodeName": "node-7"}}), "scheduled to node-7"),
            (json!({"data": {"password": "a"}}), json!({"data": {"password": "b"}}), "data password changed"),
            (
                json!({}),
                json!({"metadata": {"deletionTimestamp": "2026-07-01T00:00:00Z"}}),
                "deletion requested",
            ),
            (
                json!({"metadata": {"labels": {"a": "x"}}}),
                json!({"metadata": {"labels": {"a": "y"}}}),
                "label a x -> y",
            ),
            (
                json!({"spec": {"any": {"thing": 1}}}),
                json!({"spec": {"any": {"thing": 2}}}),
                "spec.any.thing 1 -> 2",
            ),
        ];
        for (old, new, expected) in table {
            assert_eq!(description(old, new), expected);
        }
    }

    #[test]
    fn a_condition_speaks_once() {
        let condition = |status: &str, reason: &str, time: &str| json!({"status": {"conditions": [{"type": "Ready", "status": status, "reason": reason, "lastTransitionTime": time}]}});
        assert_eq!(
            description(condition("False", "A", "1"), condition("True", "B", "2")),
            "Ready \"False\" -> \"True\"".replace('"', "")
        );
        assert_eq!(
            description(condition("False", "A", "1"), condition("False", "B", "2")),
            "Ready because A -> B"
        );
        assert_eq!(
            description(condition("False", "A", "1"), condition("False", "A", "2")),
            "lastTransitionTime updated"
        );
    }

    #[test]
    fn a_container_shows_its_state() {
        let pod = |state: Value, restarts: u64| json!({"status": {"containerStatuses": [{"name": "front", "restartCount": restarts, "state": state}]}});
        let waiting = json!({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}});
        let running = json!({"running": {"startedAt": "2026-07-01T00:00:00Z"}});
        let expected = "front restarts 1 -> 2, front waiting (CrashLoopBackOff) -> running";
        assert_eq!(description(pod(waiting, 1), pod(running, 2)), expected);
    }

    #[test]
    fn a_restart_names_its_cause() {
        let pod = |restarts: u64| {
            let last = json!({"terminated": {"reason": "OOMKilled", "exitCode": 137}});
            json!({"status": {"containerStatuses": [{"name": "front", "restartCount": restarts, "lastState": last}]}})
        };
        assert_eq!(description(pod(3), pod(4)), "front restarts 3 -> 4 (OOMKilled)");
    }

    #[test]
    fn evictions_and_cordons_are_named() {
        let evicted = json!({"status": {"phase": "Failed", "reason": "Evicted"}});
        assert_eq!(
            description(json!({"status": {"phase": "Running"}}), evicted),
            "phase Running -> Failed, reason Evicted"
        );
        let node = |value: Value| json!({"spec": {"unschedulable": value}});
        assert_eq!(description(json!({"spec": {}}), node(true.into())), "SchedulingDisabled");
        assert_eq!(description(node(true.into()), json!({"spec": {}})), "scheduling enabled");
    }

    #[test]
    fn a_change_of_bookkeeping_alone_is_shown() {
        assert_eq!(description(json!({}), json!({})), "no visible change (metadata only)");
    }
}
