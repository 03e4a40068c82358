//! How an object fares, in a few words.

use crate::number::count;
use crate::safe::clean;
use kube_core::DynamicObject;
use serde_json::Value;

/// How an object fares: `Running, 2/2 ready, on node-7`. Empty where nothing is worth a word.
pub(crate) fn summary(object: &DynamicObject) -> String {
    let data = &object.data;
    let mut parts = Vec::new();
    if object.metadata.deletion_timestamp.is_some() {
        parts.push("being deleted".to_owned());
    }
    parts.extend(text(data, "/status/phase"));
    parts.extend(containers(data));
    parts.extend(replicas(data));
    parts.extend(text(data, "/spec/nodeName").map(|node| format!("on {node}")));
    if parts.is_empty() {
        parts.extend(
            message(data).or_else(|| ready(data)).or_else(|| keys(data)).or_else(|| text(data, "/spec/type")),
        );
    }
    parts.join(", ")
}

fn text(data: &Value, pointer: &str) -> Option<String> {
    data.pointer(pointer)?.as_str().map(clean)
}

fn containers(data: &Value) -> Option<String> {
    let all = data.pointer("/status/containerStatuses")?.as_array()?;
    let ready = all.iter().filter(|container| container["ready"] == true).count();
    let waits = all.iter().find_map(|container| text(container, "/state/waiting/reason"));
    let restarts = all.iter().filter_map(|container| container["restartCount"].as_u64());
    let restarts = restarts.fold(0, u64::saturating_add);
    let mut told = format!("{ready}/{} ready", all.len());
    if let Some(reason) = waits {
        told = format!("{reason}, {told}");
    }
    if restarts > 0 {
        told = format!("{told}, {}", count(restarts, "restart"));
    }
    Some(told)
}

fn replicas(data: &Value) -> Option<String> {
    let wanted = data.pointer("/spec/replicas")?.as_u64()?;
    let ready = data.pointer("/status/readyReplicas").and_then(Value::as_u64).unwrap_or(0);
    Some(format!("{ready}/{wanted} ready"))
}

fn ready(data: &Value) -> Option<String> {
    let conditions = data.pointer("/status/conditions")?.as_array()?;
    let ready = conditions.iter().find(|condition| condition["type"] == "Ready")?;
    Some(if ready["status"] == "True" { "Ready" } else { "not Ready" }.to_owned())
}

/// What an event says, and of what.
fn message(data: &Value) -> Option<String> {
    let reason = text(data, "/reason")?;
    let message = text(data, "/message").or_else(|| text(data, "/note"))?;
    let about = data.get("involvedObject").or_else(|| data.get("regarding"))?;
    let (kind, name) = (text(about, "/kind")?, text(about, "/name")?);
    Some(format!("{reason} of {} {name}: {message}", kind.to_lowercase()))
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
    fn each_kind_has_its_words() {
        let table = [
            (
                json!({"status": {"phase": "Running", "containerStatuses": [{"ready": true, "restartCount": 2}]},
                    "spec": {"nodeName": "node-7"}}),
                "Running, 1/1 ready, 2 restarts, on node-7",
            ),
            (
                json!({"status": {"containerStatuses": [{"restartCount": u64::MAX}, {"restartCount": 1}]}}),
                "0/2 ready, 18,446,744,073,709,551,615 restarts",
            ),
            (json!({"spec": {"replicas": 3}, "status": {"readyReplicas": 2}}), "2/3 ready"),
            (json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}}), "not Ready"),
            (json!({"data": {"a": "b"}}), "1 key"),
            (json!({"spec": {"type": "ClusterIP"}}), "ClusterIP"),
            (
                json!({"reason": "BackOff", "message": "restarting", "involvedObject": {"kind": "Pod", "name": "a"}}),
                "BackOff of pod a: restarting",
            ),
            (json!({}), ""),
        ];
        for (mut value, expected) in table {
            value["metadata"] = json!({});
            assert_eq!(summary(&serde_json::from_value(value).unwrap()), expected);
        }
    }
}
