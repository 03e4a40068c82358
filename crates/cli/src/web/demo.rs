//! The activity of the demo server: rollouts with owners, Events, and two managers that fight over a field.

use crate::seed;
use kube_client::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use kube_core::DynamicObject;
use kube_devserver::{DevServer, Fault};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::sync::watch;

/// The namespace of the rollouts.
const NAMESPACE: &str = "shop";
/// The time between two steps of a rollout.
const STEP: Duration = Duration::from_millis(900);
/// The time between two writes of the fight.
const FIGHT: Duration = Duration::from_secs(3);
/// The time between two outages, and the length of one.
const HEALTHY: Duration = Duration::from_secs(45);
const OUTAGE: Duration = Duration::from_secs(5);

/// Creates activity until it is dropped. A write that fails because of an injected fault is skipped.
pub(super) async fn activity(client: Client, server: &DevServer, notice: watch::Sender<Option<String>>) {
    let (rollouts, fights) = (rollouts(client.clone()), fights(client));
    tokio::join!(rollouts, fights, outages(server, notice));
}

async fn rollouts(client: Client) {
    let _ = create(&client, deployment(0), "kubectl").await;
    for revision in 1_u64.. {
        let _ = rollout(&client, revision).await;
        tokio::time::sleep(STEP * 4).await;
    }
}

/// Rolls out one revision: the Deployment, its ReplicaSet, and its pods one after the other.
async fn rollout(client: &Client, revision: u64) -> anyhow::Result<()> {
    let owner = patch(client, deployment(revision), "kubectl").await?;
    tokio::time::sleep(STEP / 3).await;
    let set = format!("checkout-{:x}", 0x5d9f + revision * 0x1a3);
    let set = create(client, replica_set(&set, &owner, revision), "deployment-controller").await?;
    for index in 0..3 {
        tokio::time::sleep(STEP / 4).await;
        let pod = pod(&set, index, revision);
        let created = create(client, pod.clone(), "replicaset-controller").await?;
        tokio::time::sleep(STEP / 2).await;
        create(client, event(&created, revision), "kubelet").await?;
        status(client, pod, "kubelet").await?;
        if revision > 1 {
            remove(client, &format!("checkout-{:x}", 0x5d9f + (revision - 1) * 0x1a3), index).await?;
        }
    }
    let ready = json!({"replicas": 3, "readyReplicas": 3, "availableReplicas": 3, "updatedReplicas": 3});
    let mut finished = deployment(revision);
    finished["status"] = ready;
    status(client, finished, "deployment-controller").await
}

/// Writes the number of replicas of one Deployment from two managers.
async fn fights(client: Client) {
    for round in 0_u64.. {
        tokio::time::sleep(FIGHT).await;
        let (manager, replicas) =
            if round % 2 == 0 { ("horizontal-pod-autoscaler", 6) } else { ("argocd-controller", 3) };
        let mut object = seed::deployment(3, replicas);
        if let Some(fields) = object.as_object_mut() {
            fields.remove("status");
        }
        let _ = patch(&client, object, manager).await;
    }
}

/// Refuses connections now and then, so that the page shows stale data.
async fn outages(server: &DevServer, notice: watch::Sender<Option<String>>) {
    loop {
        tokio::time::sleep(HEALTHY).await;
        notice.send_replace(Some(format!("the demo server refuses connections for {} s", OUTAGE.as_secs())));
        server.faults().inject(Fault::refuse_connections(OUTAGE));
        server.cut_watches();
        tokio::time::sleep(OUTAGE).await;
        server.faults().clear();
        notice.send_replace(None);
    }
}

fn api(client: &Client, object: &DynamicObject) -> anyhow::Result<Api<DynamicObject>> {
    seed::api(client, object)
}

async fn create(client: &Client, object: Value, manager: &str) -> anyhow::Result<DynamicObject> {
    let object: DynamicObject = serde_json::from_value(object)?;
    let params = PostParams { field_manager: Some(manager.to_owned()), ..PostParams::default() };
    Ok(api(client, &object)?.create(&params, &object).await?)
}

async fn patch(client: &Client, object: Value, manager: &str) -> anyhow::Result<DynamicObject> {
    let params = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
    let parsed: DynamicObject = serde_json::from_value(object.clone())?;
    let name = parsed.metadata.name.clone().unwrap_or_default();
    Ok(api(client, &parsed)?.patch(&name, &params, &Patch::Merge(&object)).await?)
}

async fn status(client: &Client, object: Value, manager: &str) -> anyhow::Result<()> {
    let params = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
    let parsed: DynamicObject = serde_json::from_value(object.clone())?;
    let name = parsed.metadata.name.clone().unwrap_or_default();
    let patch = json!({"status": object["status"]});
    api(client, &parsed)?.patch_status(&name, &params, &Patch::Merge(&patch)).await?;
    Ok(())
}

async fn remove(client: &Client, set: &str, index: usize) -> anyhow::Result<()> {
    let name = pod_name(set, index);
    let object =
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": NAMESPACE}});
    let object: DynamicObject = serde_json::from_value(object)?;
    api(client, &object)?.delete(&name, &DeleteParams::default().grace_period(0)).await?;
    Ok(())
}

fn deployment(revision: u64) -> Value {
    let labels = json!({"app": "checkout"});
    let image = format!("registry.example/checkout:1.{revision}.0");
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "checkout", "namespace": NAMESPACE, "labels": labels},
        "spec": {"replicas": 3, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels}, "spec": {"containers": [{"name": "checkout", "image": image}]}}},
    })
}

fn owner(object: &DynamicObject) -> Value {
    let types = object.types.clone().unwrap_or_default();
    json!([{"apiVersion": types.api_version, "kind": types.kind, "name": object.metadata.name, "uid": object.metadata.uid,
        "controller": true}])
}

fn replica_set(name: &str, deployment: &DynamicObject, revision: u64) -> Value {
    let labels = json!({"app": "checkout", "revision": revision.to_string()});
    json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels, "ownerReferences": owner(deployment)},
        "spec": {"replicas": 3, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "checkout", "image": format!("registry.example/checkout:1.{revision}.0")}]}}},
    })
}

fn pod_name(set: &str, index: usize) -> String {
    format!("{set}-{}", ["x7k2p", "m4q9z", "t8w3d"][index % 3])
}

fn pod(set: &DynamicObject, index: usize, revision: u64) -> Value {
    let name = set.metadata.name.as_deref().unwrap_or_default();
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": pod_name(name, index), "namespace": NAMESPACE, "labels": {"app": "checkout"},
            "ownerReferences": owner(set)},
        "spec": {"nodeName": format!("node-{index}"),
            "containers": [{"name": "checkout", "image": format!("registry.example/checkout:1.{revision}.0")}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": [
            {"name": "checkout", "ready": true, "restartCount": 0, "image": "checkout", "imageID": "", "state": {"running": {}}}]},
    })
}

fn event(pod: &DynamicObject, revision: u64) -> Value {
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"name": format!("{name}.{:x}", 0x17a0 + revision), "namespace": NAMESPACE},
        "involvedObject": {"kind": "Pod", "namespace": NAMESPACE, "name": name, "uid": pod.metadata.uid},
        "reason": "Started", "message": "Started container checkout", "type": "Normal", "count": 1,
        "source": {"component": "kubelet"},
    })
}
