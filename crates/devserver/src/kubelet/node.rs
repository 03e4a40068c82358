//! The status of a node, and its lease.

use serde_json::{Value, json};

/// The namespace of the leases of nodes.
pub(super) const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
pub(super) const NODES: &str = "/api/v1/nodes";

/// The duration of a node lease in seconds, after which kube-controller-manager treats the node as lost.
const LEASE_SECONDS: u32 = 40;

/// Returns a node to be created.
pub(super) fn node(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
            },
        },
    })
}

/// Writes the status of a ready node; returns false if it is that already.
pub(super) fn report_ready(node: &mut Value, now: &str) -> bool {
    let is_ready =
        |one: &Value| one["type"] == "Ready" && one["status"] == "True" && one["reason"] == "KubeletReady";
    if node
        .pointer("/status/conditions")
        .and_then(Value::as_array)
        .is_some_and(|all| all.iter().any(is_ready))
    {
        return false;
    }
    let name = node.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let condition = |kind: &str, status: &str, reason: &str| {
        json!({
            "type": kind, "status": status, "reason": reason, "message": "",
            "lastHeartbeatTime": now, "lastTransitionTime": now,
        })
    };
    let own = &node["status"];
    let resources = json!({ "cpu": "32", "memory": "128Gi", "ephemeral-storage": "1Ti", "pods": "250" });
    let declared = |field: &str| own.get(field).filter(|value| value.is_object()).cloned();
    let capacity = declared("capacity").unwrap_or_else(|| resources.clone());
    let allocatable = declared("allocatable").unwrap_or_else(|| capacity.clone());
    node["status"] = json!({
        "capacity": capacity,
        "allocatable": allocatable,
        "addresses": [
            { "type": "InternalIP", "address": "127.0.0.1" },
            { "type": "Hostname", "address": name },
        ],
        "conditions": [
            condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
            condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
            condition("PIDPressure", "False", "KubeletHasSufficientPID"),
            condition("Ready", "True", "KubeletReady"),
        ],
        "nodeInfo": {
            "architecture": "amd64", "operatingSystem": "linux", "osImage": "none", "kernelVersion": "none",
            "kubeletVersion": "v1.36.0+devserver", "containerRuntimeVersion": "none://", "machineID": name,
            "systemUUID": name, "bootID": name,
        },
    });
    true
}

/// Returns the lease of a node, renewed now.
pub(super) fn lease(node: &str, uid: &str, now: &str) -> Value {
    let owner = json!({ "apiVersion": "v1", "kind": "Node", "name": node, "uid": uid });
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": { "name": node, "namespace": "kube-node-lease", "ownerReferences": [owner] },
        "spec": { "holderIdentity": node, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": now },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_reported_once_and_keeps_its_declared_resources() {
        let mut node = node("a");
        node["status"] = json!({ "capacity": { "cpu": "2" } });
        assert!(report_ready(&mut node, "t"));
        assert_eq!(node["status"]["allocatable"], json!({ "cpu": "2" }));
        assert!(!report_ready(&mut node, "u"));
    }
}
