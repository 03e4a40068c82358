//! The next status of a pod on a node.

use crate::kubelet::outcome::Outcome;
use serde_json::{Value, json};

/// The next report about a pod.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// No change: this is the last status.
    Stay,
    /// This status.
    Report(Value),
}

/// The values in a reported status that do not follow from the pod.
#[derive(Clone, Copy, Debug)]
pub(super) struct PodContext<'a> {
    /// The address of the pod, unless it has one.
    pub(super) address: &'a str,
    /// The time.
    pub(super) now: &'a str,
}

/// Returns the next status of a pod: it is pending, then running, then as its outcome requires.
pub(super) fn next(pod: &Value, context: PodContext<'_>) -> Step {
    let old = &pod["status"];
    let phase = old["phase"].as_str().unwrap_or("Pending");
    let outcome = Outcome::of(pod);
    match (phase, outcome) {
        ("Succeeded" | "Failed", _) => Step::Stay,
        (_, Outcome::Pending) => Step::Stay,
        ("Running", Outcome::Run | Outcome::NotReady | Outcome::CrashLoop) if is_reported(pod, outcome) => {
            Step::Stay
        }
        ("Running", Outcome::Succeed) if has_started(pod) => Step::Report(ended(pod, 0, context)),
        ("Running", Outcome::Fail) if has_started(pod) => Step::Report(ended(pod, 1, context)),
        _ => Step::Report(started(pod, outcome, context)),
    }
}

/// Returns the status of a pod whose containers have been restarted after a crash.
pub(super) fn crash_again(pod: &Value, context: PodContext<'_>) -> Option<Value> {
    let is_crashing = Outcome::of(pod) == Outcome::CrashLoop && pod["status"]["phase"] == "Running";
    is_crashing.then(|| started(pod, Outcome::CrashLoop, context))
}

/// Returns true if the kubelet has reported the pod before.
fn has_started(pod: &Value) -> bool {
    pod["status"]["startTime"].is_string() && pod["status"]["containerStatuses"].is_array()
}

/// Returns true if the status of a pod matches its outcome, which can change while the pod runs.
fn is_reported(pod: &Value, outcome: Outcome) -> bool {
    let containers = pod["status"]["containerStatuses"].as_array();
    let reported = containers.into_iter().flatten().all(|container| {
        let is_crashing = container["state"]["waiting"]["reason"] == "CrashLoopBackOff";
        let is_ready = container["ready"] == true;
        match outcome {
            Outcome::CrashLoop => is_crashing,
            Outcome::NotReady => !is_ready && !is_crashing,
            Outcome::Run | Outcome::Succeed | Outcome::Fail | Outcome::Pending => is_ready,
        }
    });
    has_started(pod) && reported
}

fn started(pod: &Value, outcome: Outcome, context: PodContext<'_>) -> Value {
    let PodContext { address, now } = context;
    let is_ready = matches!(outcome, Outcome::Run | Outcome::Succeed | Outcome::Fail);
    let old = &pod["status"];
    let address = old["podIP"].as_str().filter(|known| !known.is_empty()).unwrap_or(address);
    let running = json!({ "running": { "startedAt": now } });
    let main = |restarts: u64| match outcome {
        Outcome::CrashLoop => {
            let message = "back-off restarting failed container";
            let waiting = json!({ "waiting": { "reason": "CrashLoopBackOff", "message": message } });
            json!({ "state": waiting, "lastState": terminated(1, now), "restartCount": restarts + 1, "started": false })
        }
        _ => json!({ "state": running, "restartCount": restarts, "started": true }),
    };
    let containers =
        statuses(pod, Containers { list: "/spec/containers", known: "containerStatuses" }, |restarts| {
            let mut status = main(restarts);
            status["ready"] = is_ready.into();
            status
        });
    let initial = statuses(
        pod,
        Containers { list: "/spec/initContainers", known: "initContainerStatuses" },
        |restarts| json!({ "state": terminated(0, now), "restartCount": restarts, "ready": true, "started": false }),
    );
    let mut status = old.clone();
    status["phase"] = "Running".into();
    status["hostIP"] = "127.0.0.1".into();
    status["hostIPs"] = json!([{ "ip": "127.0.0.1" }]);
    status["podIP"] = address.into();
    status["podIPs"] = json!([{ "ip": address }]);
    status["startTime"] = old["startTime"].as_str().unwrap_or(now).into();
    status["containerStatuses"] = containers;
    if initial.as_array().is_some_and(|all| !all.is_empty()) {
        status["initContainerStatuses"] = initial;
    }
    let ready = if is_ready { "True" } else { "False" };
    for (kind, value) in [
        ("PodReadyToStartContainers", "True"),
        ("Initialized", "True"),
        ("ContainersReady", ready),
        ("Ready", ready),
        ("PodScheduled", "True"),
    ] {
        set_condition(&mut status, &json!({ "type": kind, "status": value }), now);
    }
    if !is_ready {
        let reason = json!({ "type": "Ready", "status": "False", "reason": "ContainersNotReady" });
        set_condition(&mut status, &reason, now);
    }
    status
}

fn ended(pod: &Value, code: i64, context: PodContext<'_>) -> Value {
    let PodContext { now, .. } = context;
    let mut status = pod["status"].clone();
    let (phase, reason) = if code == 0 { ("Succeeded", "PodCompleted") } else { ("Failed", "PodFailed") };
    status["phase"] = phase.into();
    status["containerStatuses"] = statuses(
        pod,
        Containers { list: "/spec/containers", known: "containerStatuses" },
        |restarts| json!({ "state": terminated(code, now), "restartCount": restarts, "ready": false, "started": false }),
    );
    for kind in ["ContainersReady", "Ready"] {
        set_condition(&mut status, &json!({ "type": kind, "status": "False", "reason": reason }), now);
    }
    status
}

fn terminated(code: i64, now: &str) -> Value {
    let reason = if code == 0 { "Completed" } else { "Error" };
    json!({ "terminated": { "exitCode": code, "reason": reason, "startedAt": now, "finishedAt": now } })
}

/// A list of containers in the spec of a pod, and the field with their status.
#[derive(Clone, Copy)]
struct Containers {
    list: &'static str,
    known: &'static str,
}

/// Returns the status of each container; `status` gets how often it has been restarted.
fn statuses(pod: &Value, of: Containers, status: impl Fn(u64) -> Value) -> Value {
    let containers = pod.pointer(of.list).and_then(Value::as_array).into_iter().flatten();
    let known = pod["status"][of.known].as_array().cloned().unwrap_or_default();
    let one = |container: &Value| {
        let own = known.iter().find(|one| one["name"] == container["name"]);
        let restarts = own.and_then(|own| own["restartCount"].as_u64()).unwrap_or(0);
        let mut status = status(restarts);
        status["name"] = container["name"].clone();
        status["image"] = container["image"].clone();
        status["imageID"] = container["image"].clone();
        status
    };
    Value::Array(containers.map(one).collect())
}

/// Sets a condition; its time changes only with its status.
fn set_condition(status: &mut Value, condition: &Value, now: &str) {
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    let Value::Array(conditions) = &mut status["conditions"] else { return };
    let mut next = condition.clone();
    next["lastTransitionTime"] = now.into();
    match conditions.iter_mut().find(|one| one["type"] == next["type"]) {
        Some(one) => {
            if one["status"] == next["status"] && one["lastTransitionTime"].is_string() {
                next["lastTransitionTime"] = one["lastTransitionTime"].clone();
            }
            *one = next;
        }
        None => conditions.push(next),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubelet::outcome::ANNOTATION;

    /// Returns the phases of a pod, and its last state.
    fn history(outcome: &str, policy: &str) -> (Vec<String>, Value) {
        let mut pod = json!({
            "metadata": { "annotations": { ANNOTATION: outcome } },
            "spec": { "restartPolicy": policy, "containers": [{ "name": "a", "image": "i" }] },
        });
        let mut phases = Vec::new();
        while let Step::Report(status) = next(&pod, PodContext { address: "10.0.0.1", now: "t" }) {
            phases.push(status["phase"].as_str().unwrap_or_default().to_owned());
            pod["status"] = status;
            assert!(phases.len() < 10, "it does not settle: {phases:?}");
        }
        (phases, pod)
    }

    #[test]
    fn pods_go_through_their_phases_and_settle() {
        let table = [
            ("", "Always", vec!["Running"], "True"),
            ("", "Never", vec!["Running", "Succeeded"], "False"),
            ("fail", "Never", vec!["Running", "Failed"], "False"),
            ("not-ready", "Always", vec!["Running"], "False"),
            ("crash-loop", "Always", vec!["Running"], "False"),
        ];
        for (outcome, policy, phases, ready) in table {
            let (found, pod) = history(outcome, policy);
            assert_eq!(found, phases, "{outcome} {policy}");
            let conditions = pod["status"]["conditions"].as_array().unwrap();
            let condition = conditions.iter().find(|one| one["type"] == "Ready").unwrap();
            assert_eq!(condition["status"], ready, "{outcome} {policy}");
        }
        assert_eq!(history("pending", "Always").0, [""; 0]);
    }

    #[test]
    fn a_crash_counts_a_restart() {
        let (_, mut pod) = history("crash-loop", "Always");
        let context = PodContext { address: "10.0.0.1", now: "t" };
        for restarts in 1..4 {
            assert_eq!(pod["status"]["containerStatuses"][0]["restartCount"], restarts);
            pod["status"] = crash_again(&pod, context).unwrap();
        }
        assert_eq!(crash_again(&history("", "Always").1, context), None);
    }
}
