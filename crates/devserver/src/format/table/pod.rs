//! The status of a pod, as `kubectl get pods` prints it.

use crate::format::age::age;
use crate::format::table::cells::{condition, items, number, text};
use crate::object::{metadata, path};
use jiff::Timestamp;
use serde_json::Value;

/// Returns the ready containers and all containers.
pub(super) fn ready(pod: &Value, _: Timestamp) -> Value {
    let sidecars =
        items(pod, "spec.initContainers").iter().filter(|one| text(one, "restartPolicy") == "Always");
    let total = items(pod, "spec.containers").len() + sidecars.clone().count();
    let is_ready = |status: &&Value| status["ready"] == true && status["state"]["running"].is_object();
    let mut count = items(pod, "status.containerStatuses").iter().filter(is_ready).count();
    let is_sidecar = |status: &&Value| sidecars.clone().any(|one| text(one, "name") == text(status, "name"));
    count += items(pod, "status.initContainerStatuses").iter().filter(is_ready).filter(is_sidecar).count();
    format!("{count}/{total}").into()
}

/// Returns the status of a pod.
pub(super) fn status(pod: &Value, _: Timestamp) -> Value {
    let phase = text(pod, "status.phase");
    let mut status =
        if text(pod, "status.reason").is_empty() { phase } else { text(pod, "status.reason") }.to_owned();
    if condition(pod, "PodScheduled").is_some_and(|one| text(one, "reason") == "SchedulingGated") {
        "SchedulingGated".clone_into(&mut status);
    }
    match initializing(pod) {
        Some(state) => status = state,
        None => status = running(pod).unwrap_or(status),
    }
    if metadata::is_deleting(pod) {
        if text(pod, "status.reason") == "NodeLost" {
            return "Unknown".into();
        }
        if !matches!(phase, "Succeeded" | "Failed") {
            return "Terminating".into();
        }
    }
    status.into()
}

/// Returns the number of restarts, and the time of the last one.
pub(super) fn restarts(pod: &Value, now: Timestamp) -> Value {
    let statuses = || items(pod, "status.containerStatuses").iter();
    let count: i64 = statuses().map(|status| number(status, "restartCount")).fold(0, i64::saturating_add);
    let ends = statuses().map(|status| text(status, "lastState.terminated.finishedAt"));
    match ends.filter(|end| !end.is_empty()).max() {
        Some(last) if count > 0 => format!("{count} ({} ago)", age(last, now)).into(),
        _ => count.to_string().into(),
    }
}

/// Returns the address of a pod.
pub(super) fn address(pod: &Value, _: Timestamp) -> Value {
    let first = text(pod, "status.podIPs[0].ip");
    let found = if first.is_empty() { text(pod, "status.podIP") } else { first };
    if found.is_empty() { "<none>".into() } else { found.into() }
}

/// Returns the open readiness gates and all of them.
pub(super) fn gates(pod: &Value, _: Timestamp) -> Value {
    let gates = items(pod, "spec.readinessGates");
    let is_open = |gate: &&Value| {
        condition(pod, text(gate, "conditionType"))
            .is_some_and(|condition| text(condition, "status") == "True")
    };
    match gates.len() {
        0 => "<none>".into(),
        all => format!("{}/{all}", gates.iter().filter(is_open).count()).into(),
    }
}

/// Returns the state of the first init container that has not completed.
fn initializing(pod: &Value) -> Option<String> {
    let all = items(pod, "spec.initContainers");
    let statuses = items(pod, "status.initContainerStatuses").iter().enumerate();
    let is_sidecar = |status: &Value| {
        all.iter()
            .any(|one| text(one, "name") == text(status, "name") && text(one, "restartPolicy") == "Always")
    };
    let is_done = |status: &Value| {
        let ended = path::read(status, "state.terminated").filter(|ended| ended.is_object());
        ended.is_some_and(|ended| number(ended, "exitCode") == 0)
            || is_sidecar(status) && status["started"] == true
    };
    let (place, current) = statuses.into_iter().find(|(_, status)| !is_done(status))?;
    let state = &current["state"];
    if state["terminated"].is_object() {
        return Some(format!("Init:{}", ended(&state["terminated"])));
    }
    match text(state, "waiting.reason") {
        "" | "PodInitializing" => Some(format!("Init:{place}/{}", all.len())),
        reason => Some(format!("Init:{reason}")),
    }
}

/// Returns the state of the containers; the first one has precedence.
fn running(pod: &Value) -> Option<String> {
    let statuses = items(pod, "status.containerStatuses");
    let is_running = |status: &Value| status["ready"] == true && status["state"]["running"].is_object();
    let found = statuses.iter().find_map(|status| match text(status, "state.waiting.reason") {
        "" if status["state"]["terminated"].is_object() => Some(ended(&status["state"]["terminated"])),
        "" => None,
        reason => Some(reason.to_owned()),
    });
    if found.as_deref() == Some("Completed") && statuses.iter().any(is_running) {
        let is_ready = condition(pod, "Ready").is_some_and(|ready| text(ready, "status") == "True");
        return Some(if is_ready { "Running" } else { "NotReady" }.to_owned());
    }
    found
}

/// Returns why a container ended.
fn ended(terminated: &Value) -> String {
    match (text(terminated, "reason"), number(terminated, "signal")) {
        ("", 0) => format!("ExitCode:{}", number(terminated, "exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}
