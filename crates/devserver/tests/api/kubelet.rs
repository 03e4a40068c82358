//! The built-in kubelet: nodes that are ready, and pods that run, complete or crash.

use crate::probe::{PODS, Probe, named};
use kube_devserver::{Controllers, DevServer, Kubelet, Outcome};
use serde_json::{Value, json};

async fn probe() -> Probe {
    let builder = DevServer::builder().controllers(Controllers::None).kubelet(Kubelet::nodes(2));
    Probe::of(builder.start().await.unwrap())
}

fn pod(name: &str, spec: Value, outcome: &str) -> Value {
    let mut pod = named(name);
    pod["metadata"]["annotations"] = json!({ "devserver.kube-informer.dev/outcome": outcome });
    pod["spec"] = spec;
    pod["spec"]["containers"] = json!([{ "name": "main", "image": "none" }]);
    pod
}

/// Waits until an object is as wanted.
async fn until(probe: &Probe, path: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
    let (folder, name) = path.rsplit_once('/').unwrap();
    let selector = format!("{folder}?watch=1&fieldSelector=metadata.name%3D{name}");
    let mut watch = probe.watch(&selector).await;
    loop {
        let (kind, object) = watch.event().await;
        if kind != "DELETED" && is_wanted(&object) {
            return object;
        }
    }
}

fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let conditions = object["status"]["conditions"].as_array();
    let found = conditions.into_iter().flatten().find(|one| one["type"] == kind);
    found.map_or(&Value::Null, |one| &one["status"])
}

#[tokio::test(start_paused = true)]
async fn nodes_become_ready_and_renew_their_leases() {
    let probe = probe().await;
    for name in ["node-0", "node-1"] {
        until(&probe, &format!("/api/v1/nodes/{name}"), |node| condition(node, "Ready") == "True").await;
    }
    probe.make("/api/v1/nodes", named("extra")).await;
    let extra = until(&probe, "/api/v1/nodes/extra", |node| condition(node, "Ready") == "True").await;
    assert_eq!(extra["status"]["allocatable"]["pods"], "250");
    let path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/extra";
    let first =
        until(&probe, path, |lease| lease["spec"]["renewTime"].is_string()).await["spec"]["renewTime"]
            .clone();
    let next = until(&probe, path, |lease| lease["spec"]["renewTime"] != first).await;
    assert_eq!(next["spec"]["holderIdentity"], "extra");
}

#[tokio::test(start_paused = true)]
async fn pods_on_nodes_run_complete_and_crash() {
    let probe = probe().await;
    let on_node = || json!({ "nodeName": "node-0" });
    let once = || json!({ "nodeName": "node-0", "restartPolicy": "Never" });
    let phase = |phase: &'static str| move |pod: &Value| pod["status"]["phase"] == phase;
    probe.make(PODS, pod("waiting", json!({}), "")).await;
    probe.make(PODS, pod("web", on_node(), "")).await;
    probe.make(PODS, pod("job", once(), "")).await;
    probe.make(PODS, pod("broken", once(), "fail")).await;
    probe.make(PODS, pod("slow", on_node(), "not-ready")).await;
    probe.make(PODS, pod("crash", on_node(), "crash-loop")).await;
    let web = until(&probe, &format!("{PODS}/web"), phase("Running")).await;
    assert_eq!(condition(&web, "Ready"), "True", "{web}");
    assert!(web["status"]["podIP"].as_str().unwrap().starts_with("10.244."));
    until(&probe, &format!("{PODS}/job"), phase("Succeeded")).await;
    let broken = until(&probe, &format!("{PODS}/broken"), phase("Failed")).await;
    assert_eq!(broken["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"], 1);
    let slow = until(&probe, &format!("{PODS}/slow"), phase("Running")).await;
    assert_eq!(condition(&slow, "Ready"), "False");
    let restarts = |pod: &Value| pod["status"]["containerStatuses"][0]["restartCount"].as_u64().unwrap_or(0);
    let crash = until(&probe, &format!("{PODS}/crash"), |pod| restarts(pod) >= 3).await;
    assert_eq!(crash["status"]["containerStatuses"][0]["state"]["waiting"]["reason"], "CrashLoopBackOff");
    let waiting = probe.get(&format!("{PODS}/waiting")).await.1;
    assert_ne!(waiting["status"]["phase"], "Running", "it is on no node");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_pod_is_ended_by_the_kubelet() {
    let probe = probe().await;
    probe.make(PODS, pod("web", json!({ "nodeName": "node-0" }), "")).await;
    let web = until(&probe, &format!("{PODS}/web"), |pod| pod["status"]["phase"] == "Running").await;
    let version = web["metadata"]["resourceVersion"].as_str().unwrap();
    let mut watch = probe.watch(&format!("{PODS}?watch=1&resourceVersion={version}")).await;
    let (code, deleted) = probe.delete(&format!("{PODS}/web")).await;
    assert_eq!(code, 200);
    assert!(deleted["metadata"]["deletionTimestamp"].is_string());
    loop {
        if watch.event().await.0 == "DELETED" {
            break;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_outcome_of_a_running_pod_can_be_changed() {
    let probe = probe().await;
    let path = format!("{PODS}/a");
    probe.make(PODS, pod("a", json!({ "nodeName": "node-0" }), "run")).await;
    until(&probe, &path, |pod| condition(pod, "Ready") == "True").await;
    let waiting = |pod: &Value| pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"].clone();
    probe.server.set_outcome("default", "a", Outcome::CrashLoop).await.unwrap();
    let crashing = until(&probe, &path, |pod| waiting(pod) == "CrashLoopBackOff").await;
    assert_eq!(condition(&crashing, "Ready"), "False");
    probe.server.set_outcome("default", "a", Outcome::NotReady).await.unwrap();
    until(&probe, &path, |pod| waiting(pod).is_null() && condition(pod, "Ready") == "False").await;
    probe.server.set_outcome("default", "a", Outcome::Run).await.unwrap();
    until(&probe, &path, |pod| condition(pod, "Ready") == "True").await;
    probe.make(PODS, pod("once", json!({ "nodeName": "node-0", "restartPolicy": "Never" }), "run")).await;
    let once = format!("{PODS}/once");
    until(&probe, &once, |pod| condition(pod, "Ready") == "True").await;
    probe.server.set_outcome("default", "once", Outcome::Fail).await.unwrap();
    until(&probe, &once, |pod| pod["status"]["phase"] == "Failed").await;
    let error = probe.server.set_outcome("default", "missing", Outcome::Run).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot set the outcome of the pod: pods \"missing\" not found");
}
