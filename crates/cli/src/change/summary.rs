//! The status of an object in a few words, in the terms that `kubectl get` uses.

use super::pod;
use super::read::{condition, items, number, text};
use crate::number::count;
use crate::safe::clean;
use kube_core::DynamicObject;
use serde_json::Value;

/// Returns the status of an object, such as `Running, 2/2 ready, on node-7`. Empty if the kind has no status to show.
pub(crate) fn summary(object: &DynamicObject) -> String {
    let data = &object.data;
    let is_deleted = object.metadata.deletion_timestamp.is_some();
    let mut parts = Vec::new();
    if let Some(pod) = pod::status(data, is_deleted) {
        parts.extend(pod);
    } else {
        parts.extend(is_deleted.then(|| "Terminating".to_owned()));
        let status = event(data)
            .or_else(|| node(data))
            .or_else(|| job(data))
            .or_else(|| cron_job(data))
            .or_else(|| autoscaler(data))
            .or_else(|| hosts(data))
            .or_else(|| text(data, "/status/phase"))
            .or_else(|| replicas(data))
            .or_else(|| ready(data))
            .or_else(|| keys(data))
            .or_else(|| text(data, "/spec/type"));
        parts.extend(status);
    }
    parts.join(", ")
}

/// Returns whether an object needs attention: a pod that is not ready, a workload with too few ready replicas, a failed Job, a
/// node that is not ready, a `Ready` condition that is false, or a warning event.
pub(crate) fn is_problem(object: &DynamicObject) -> bool {
    let data = &object.data;
    if let Some(is_healthy) = pod::is_healthy(data, object.metadata.deletion_timestamp.is_some()) {
        return !is_healthy;
    }
    if event(data).is_some() {
        return data["type"] == "Warning";
    }
    if let Some(node) = node(data) {
        return node != "Ready";
    }
    if let Some(job) = job(data) {
        return job.starts_with("Failed");
    }
    let is_short = replicas(data).is_some_and(|text| {
        let (ready, wanted) = text.trim_end_matches(" ready").split_once('/').unwrap_or_default();
        ready != wanted
    });
    let is_unready = condition(data, "Ready").is_some_and(|condition| condition["status"] != "True");
    is_short || is_unready || text(data, "/status/phase").is_some_and(|phase| phase == "Failed")
}

/// `Warning BackOff pod/web-0 (x17): Back-off restarting failed container`
pub(super) fn event(data: &Value) -> Option<String> {
    let about = data.get("involvedObject").or_else(|| data.get("regarding"))?;
    let reason = text(data, "/reason")?;
    let message = text(data, "/message").or_else(|| text(data, "/note")).unwrap_or_default();
    let kind = text(about, "/kind").unwrap_or_default().to_lowercase();
    let name = text(about, "/name").unwrap_or_default();
    let level = text(data, "/type").map(|level| format!("{level} ")).unwrap_or_default();
    let count = number(data, "/series/count").or_else(|| number(data, "/count")).unwrap_or(1);
    let times = if count > 1 { format!(" (x{count})") } else { String::new() };
    Some(format!("{level}{reason} {kind}/{name}{times}: {message}"))
}

/// `Ready,SchedulingDisabled,DiskPressure`
fn node(data: &Value) -> Option<String> {
    data.pointer("/status/nodeInfo").or_else(|| data.pointer("/spec/podCIDR"))?;
    let is_true = |name: &str| condition(data, name).is_some_and(|condition| condition["status"] == "True");
    let mut words = vec![if is_true("Ready") { "Ready" } else { "NotReady" }];
    if data.pointer("/spec/unschedulable") == Some(&Value::Bool(true)) {
        words.push("SchedulingDisabled");
    }
    let pressures = ["MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"];
    words.extend(pressures.into_iter().filter(|name| is_true(name)));
    Some(words.join(","))
}

/// `Complete, 1/1 completions`
fn job(data: &Value) -> Option<String> {
    let spec = data.get("spec")?;
    spec.get("backoffLimit").or_else(|| spec.get("completions"))?;
    let is_true = |name: &&str| condition(data, name).is_some_and(|condition| condition["status"] == "True");
    let state = ["Failed", "Complete", "Suspended"].into_iter().find(is_true).unwrap_or("Running");
    let wanted = number(data, "/spec/completions").or_else(|| number(data, "/spec/parallelism")).unwrap_or(1);
    let succeeded = number(data, "/status/succeeded").unwrap_or(0);
    Some(format!("{state}, {succeeded}/{wanted} completions"))
}

/// `*/5 * * * *, suspended, 1 active`
fn cron_job(data: &Value) -> Option<String> {
    data.pointer("/spec/jobTemplate")?;
    let mut parts = vec![text(data, "/spec/schedule")?];
    if data.pointer("/spec/suspend") == Some(&Value::Bool(true)) {
        parts.push("suspended".to_owned());
    }
    let active = items(data, "/status/active").len();
    if active > 0 {
        parts.push(format!("{active} active"));
    }
    Some(parts.join(", "))
}

/// `Deployment/web, 3 replicas (2 to 10)`
fn autoscaler(data: &Value) -> Option<String> {
    let target = data.pointer("/spec/scaleTargetRef")?;
    let most = number(data, "/spec/maxReplicas")?;
    let least = number(data, "/spec/minReplicas").unwrap_or(1);
    let current = number(data, "/status/currentReplicas").unwrap_or(0);
    let (kind, name) = (text(target, "/kind")?, text(target, "/name")?);
    Some(format!("{kind}/{name}, {} ({least} to {most})", count(current, "replica")))
}

/// The hosts of an Ingress or an HTTPRoute.
fn hosts(data: &Value) -> Option<String> {
    let rules = items(data, "/spec/rules").iter().filter_map(|rule| text(rule, "/host"));
    let names = items(data, "/spec/hostnames").iter().filter_map(Value::as_str).map(clean);
    let hosts: Vec<_> = rules.chain(names).collect();
    (!hosts.is_empty()).then(|| hosts.join(","))
}

/// `2/3 ready`. Custom resources without `readyReplicas` that have a `Ready` condition are left to it.
fn replicas(data: &Value) -> Option<String> {
    let wanted = number(data, "/spec/replicas").or_else(|| number(data, "/status/desiredNumberScheduled"))?;
    let ready = number(data, "/status/readyReplicas").or_else(|| number(data, "/status/numberReady"));
    if ready.is_none() && condition(data, "Ready").is_some() {
        return None;
    }
    Some(format!("{}/{wanted} ready", ready.unwrap_or(0)))
}

/// `Ready` or `not Ready (CertificateExpired)`
fn ready(data: &Value) -> Option<String> {
    let ready = condition(data, "Ready")?;
    if ready["status"] == "True" {
        return Some("Ready".to_owned());
    }
    Some(text(ready, "/reason").map_or("not Ready".to_owned(), |reason| format!("not Ready ({reason})")))
}

fn keys(data: &Value) -> Option<String> {
    let keys = data.get("data")?.as_object()?;
    Some(count(keys.len() as u64, "key"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn finds_the_objects_that_need_attention() {
        let table = [
            (json!({"spec": {"replicas": 3}, "status": {"readyReplicas": 3}}), false),
            (json!({"spec": {"replicas": 3}, "status": {"readyReplicas": 2}}), true),
            (
                json!({"spec": {"podCIDR": "x"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
                false,
            ),
            (
                json!({"spec": {"podCIDR": "x", "unschedulable": true}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
                true,
            ),
            (json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}}), true),
            (json!({"type": "Warning", "reason": "a", "involvedObject": {}}), true),
            (json!({"type": "Normal", "reason": "a", "involvedObject": {}}), false),
            (
                json!({"spec": {"containers": [{}]}, "status": {"phase": "Running", "containerStatuses": [{"ready": true}]}}),
                false,
            ),
            (
                json!({"spec": {"containers": [{}]}, "status": {"phase": "Running", "containerStatuses": [{"ready": false}]}}),
                true,
            ),
            (json!({"spec": {"containers": [{}]}, "status": {"phase": "Succeeded"}}), false),
            (json!({"spec": {"containers": [{}]}, "status": {"phase": "Pending"}}), true),
            (json!({"data": {}}), false),
        ];
        for (mut value, expected) in table {
            value["metadata"] = json!({});
            let object = serde_json::from_value(value).unwrap();
            assert_eq!(is_problem(&object), expected, "{}", summary(&object));
        }
    }

    #[test]
    fn shows_what_kubectl_shows_for_each_kind() {
        let table = [
            (json!({"spec": {"replicas": 3}, "status": {"readyReplicas": 2}}), "2/3 ready"),
            (json!({"spec": {"replicas": 3}, "status": {}}), "0/3 ready"),
            (
                json!({"spec": {"replicas": 1}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
                "Ready",
            ),
            (json!({"status": {"desiredNumberScheduled": 4, "numberReady": 3}}), "3/4 ready"),
            (
                json!({"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "Expired"}]}}),
                "not Ready (Expired)",
            ),
            (
                json!({"spec": {"podCIDR": "10.0.0.0/24", "unschedulable": true}, "status": {"conditions": [
                    {"type": "Ready", "status": "True"}, {"type": "DiskPressure", "status": "True"}]}}),
                "Ready,SchedulingDisabled,DiskPressure",
            ),
            (json!({"spec": {"podCIDR": "10.0.0.0/24"}}), "NotReady"),
            (
                json!({"spec": {"completions": 3, "backoffLimit": 6}, "status": {"succeeded": 1}}),
                "Running, 1/3 completions",
            ),
            (
                json!({"spec": {"backoffLimit": 6}, "status": {"conditions": [{"type": "Failed", "status": "True"}]}}),
                "Failed, 0/1 completions",
            ),
            (
                json!({"spec": {"schedule": "*/5 * * * *", "jobTemplate": {}, "suspend": true}, "status": {"active": [{}]}}),
                "*/5 * * * *, suspended, 1 active",
            ),
            (
                json!({"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "minReplicas": 2, "maxReplicas": 10},
                    "status": {"currentReplicas": 3}}),
                "Deployment/web, 3 replicas (2 to 10)",
            ),
            (
                json!({"spec": {"rules": [{"host": "a.example"}, {"host": "b.example"}]}}),
                "a.example,b.example",
            ),
            (json!({"data": {"a": "b"}}), "1 key"),
            (json!({"spec": {"type": "ClusterIP"}}), "ClusterIP"),
            (json!({"status": {"phase": "Active"}}), "Active"),
            (
                json!({"type": "Warning", "reason": "BackOff", "message": "restarting", "count": 17,
                    "involvedObject": {"kind": "Pod", "name": "web-0"}}),
                "Warning BackOff pod/web-0 (x17): restarting",
            ),
            (
                json!({"type": "Normal", "reason": "Pulled", "note": "done", "regarding": {"kind": "Pod", "name": "a"}}),
                "Normal Pulled pod/a: done",
            ),
            (json!({}), ""),
        ];
        for (mut value, expected) in table {
            value["metadata"] = json!({});
            assert_eq!(summary(&serde_json::from_value(value).unwrap()), expected);
        }
    }
}
