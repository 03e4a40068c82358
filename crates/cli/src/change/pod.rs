//! The status of a pod, computed as `kubectl get pods` computes it.

use super::read::{condition, items, text};
use crate::number::count;
use serde_json::Value;

/// Returns the status, the ready containers, the restarts and the node of a pod; `None` if the object is not a pod.
pub(super) fn status(data: &Value, is_deleted: bool) -> Option<Vec<String>> {
    let containers = data.pointer("/spec/containers").and_then(Value::as_array);
    let statuses = data.pointer("/status/containerStatuses").and_then(Value::as_array);
    if containers.is_none() && statuses.is_none() {
        return None;
    }
    let pod = Pod::new(data);
    let mut parts = vec![pod.reason(is_deleted)];
    parts.push(format!("{}/{} ready", pod.ready, pod.containers));
    if pod.restarts > 0 {
        parts.push(count(pod.restarts, "restart"));
    }
    parts.extend(text(data, "/spec/nodeName").map(|node| format!("on {node}")));
    Some(parts)
}

/// Returns whether a pod runs with all containers ready, or has succeeded; `None` if the object is not a pod.
pub(super) fn is_healthy(data: &Value, is_deleted: bool) -> Option<bool> {
    status(data, is_deleted)?;
    let pod = Pod::new(data);
    Some(match pod.reason(is_deleted).as_str() {
        "Running" => pod.ready >= pod.containers,
        "Succeeded" | "Completed" => true,
        _ => false,
    })
}

struct Pod<'d> {
    data: &'d Value,
    /// The number of containers that the pod has when it runs, sidecars included.
    containers: usize,
    ready: usize,
    restarts: u64,
    /// Why initialization is not complete.
    initialization: Option<String>,
    /// Why a container does not run; the first container with a reason.
    container: Option<String>,
    has_running: bool,
}

impl<'d> Pod<'d> {
    fn new(data: &'d Value) -> Self {
        let statuses = items(data, "/status/containerStatuses");
        let mut pod = Self {
            data,
            containers: items(data, "/spec/containers").len().max(statuses.len()),
            ready: 0,
            restarts: 0,
            initialization: None,
            container: None,
            has_running: false,
        };
        let init = items(data, "/spec/initContainers");
        let is_sidecar = |name: &Value| {
            init.iter().any(|container| &container["name"] == name && container["restartPolicy"] == "Always")
        };
        pod.containers += init.iter().filter(|container| is_sidecar(&container["name"])).count();
        for (at, status) in items(data, "/status/initContainerStatuses").iter().enumerate() {
            let is_sidecar = is_sidecar(&status["name"]);
            pod.restarts = pod.restarts.saturating_add(restarts(status));
            if status.pointer("/state/terminated/exitCode") == Some(&Value::from(0)) {
                continue;
            }
            if is_sidecar && status["started"] == true {
                pod.ready += usize::from(status["ready"] == true);
                continue;
            }
            let waiting = text(status, "/state/waiting/reason").filter(|reason| reason != "PodInitializing");
            let why = terminated(status).or(waiting);
            pod.initialization =
                Some(why.map_or_else(|| format!("Init:{at}/{}", init.len()), |why| format!("Init:{why}")));
            break;
        }
        for status in statuses {
            pod.restarts = pod.restarts.saturating_add(restarts(status));
            let why = text(status, "/state/waiting/reason").or_else(|| terminated(status));
            pod.container = pod.container.or(why);
            if status["ready"] == true {
                pod.ready += 1;
                pod.has_running |= status.pointer("/state/running").is_some();
            }
        }
        pod
    }

    fn reason(&self, is_deleted: bool) -> String {
        let phase = text(self.data, "/status/phase").unwrap_or_else(|| "Unknown".to_owned());
        let cause = text(self.data, "/status/reason");
        if is_deleted && cause.as_deref() == Some("NodeLost") {
            return "Unknown".to_owned();
        }
        if is_deleted && !matches!(phase.as_str(), "Succeeded" | "Failed") {
            return "Terminating".to_owned();
        }
        let is_true =
            |name: &str| condition(self.data, name).is_some_and(|condition| condition["status"] == "True");
        if let Some(reason) = self.initialization.as_ref().filter(|_| !is_true("Initialized")) {
            return reason.clone();
        }
        match self.container.as_deref() {
            Some("Completed") if self.has_running => {
                if is_true("Ready") { "Running" } else { "NotReady" }.to_owned()
            }
            Some(reason) => reason.to_owned(),
            None => cause.or_else(|| self.gated()).unwrap_or(phase),
        }
    }

    fn gated(&self) -> Option<String> {
        let scheduled = condition(self.data, "PodScheduled")?;
        text(scheduled, "/reason").filter(|reason| reason == "SchedulingGated")
    }
}

fn restarts(status: &Value) -> u64 {
    status["restartCount"].as_u64().unwrap_or(0)
}

/// Returns why a container terminated: `OOMKilled`, `Error`, `Signal:9`, `ExitCode:3`.
fn terminated(status: &Value) -> Option<String> {
    let terminated = status.pointer("/state/terminated")?;
    text(terminated, "/reason").or_else(|| {
        match terminated["signal"].as_i64().filter(|signal| *signal != 0) {
            Some(signal) => Some(format!("Signal:{signal}")),
            None => terminated["exitCode"].as_i64().map(|code| format!("ExitCode:{code}")),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(pod: &Value) -> String {
        status(pod, false).unwrap().join(", ")
    }

    /// A pod of two containers with these statuses.
    fn pod(phase: &str, statuses: &Value) -> Value {
        json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}]},
               "status": {"phase": phase, "containerStatuses": statuses}})
    }

    #[test]
    fn shows_the_reason_of_the_first_container_that_does_not_run() {
        let running = json!({"name": "a", "ready": true, "restartCount": 2, "state": {"running": {}}});
        let of = |state: Value| json!({"name": "b", "ready": false, "restartCount": 0, "state": state});
        let table = [
            (of(json!({"waiting": {"reason": "CrashLoopBackOff"}})), "CrashLoopBackOff"),
            (of(json!({"terminated": {"reason": "Error", "exitCode": 1}})), "Error"),
            (of(json!({"terminated": {"exitCode": 3}})), "ExitCode:3"),
            (of(json!({"terminated": {"exitCode": 137, "signal": 9}})), "Signal:9"),
            (of(json!({"terminated": {"reason": "Completed", "exitCode": 0}})), "NotReady"),
        ];
        for (other, expected) in table {
            let shown = shown(&pod("Running", &json!([running, other])));
            assert_eq!(shown, format!("{expected}, 1/2 ready, 2 restarts"));
        }
    }

    #[test]
    fn counts_containers_that_have_no_status_yet() {
        assert_eq!(shown(&pod("Pending", &json!([{"name": "a"}]))), "Pending, 0/2 ready");
    }

    #[test]
    fn shows_why_initialization_is_not_complete() {
        let of = |state: Value| {
            json!({"spec": {"containers": [{"name": "a"}], "initContainers": [{"name": "i"}, {"name": "j"}]},
                   "status": {"phase": "Pending", "initContainerStatuses": [
                       {"name": "i", "state": {"terminated": {"exitCode": 0}}}, {"name": "j", "state": state}]}})
        };
        let table = [
            (json!({"waiting": {"reason": "CrashLoopBackOff"}}), "Init:CrashLoopBackOff"),
            (json!({"waiting": {"reason": "PodInitializing"}}), "Init:1/2"),
            (json!({"running": {}}), "Init:1/2"),
            (json!({"terminated": {"exitCode": 2}}), "Init:ExitCode:2"),
            (json!({"terminated": {"reason": "OOMKilled", "exitCode": 137}}), "Init:OOMKilled"),
        ];
        for (state, expected) in table {
            assert_eq!(shown(&of(state)), format!("{expected}, 0/1 ready"));
        }
    }

    #[test]
    fn counts_sidecars_as_containers() {
        let pod = json!({
            "spec": {"containers": [{"name": "a"}], "initContainers": [{"name": "s", "restartPolicy": "Always"}]},
            "status": {"phase": "Running",
                "initContainerStatuses": [{"name": "s", "started": true, "ready": true, "state": {"running": {}}}],
                "containerStatuses": [{"name": "a", "ready": true, "state": {"running": {}}}]},
        });
        assert_eq!(shown(&pod), "Running, 2/2 ready");
    }

    #[test]
    fn shows_why_the_pod_as_a_whole_failed() {
        let evicted = json!({"spec": {"containers": [{"name": "a"}]}, "status": {"phase": "Failed", "reason": "Evicted"}});
        assert_eq!(shown(&evicted), "Evicted, 0/1 ready");
        let gated = json!({"spec": {"containers": [{"name": "a"}]}, "status": {"phase": "Pending",
            "conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]}});
        assert_eq!(shown(&gated), "SchedulingGated, 0/1 ready");
    }

    #[test]
    fn a_pod_that_is_being_deleted_is_terminating() {
        let pod = |phase: &str, reason: &str| {
            let pod = json!({"spec": {"containers": [{}]}, "status": {"phase": phase, "reason": reason}});
            status(&pod, true).unwrap()[0].clone()
        };
        assert_eq!(pod("Running", ""), "Terminating");
        assert_eq!(pod("Running", "NodeLost"), "Unknown");
        assert_eq!(pod("Succeeded", ""), "Succeeded");
    }

    #[test]
    fn restarts_beyond_the_largest_number_are_not_added() {
        let pod = pod("Running", &json!([{"restartCount": u64::MAX}, {"restartCount": 1}]));
        assert_eq!(shown(&pod), "Running, 0/2 ready, 18,446,744,073,709,551,615 restarts");
    }
}
