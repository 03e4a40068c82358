//! Owners, grace periods, bindings and evictions.

use crate::probe::{Answer, MAPS, PODS, Probe, named, names, refusal};
use http::Method;
use kube_devserver::{Controllers, DevServer};
use serde_json::{Value, json};

const BUDGETS: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

async fn probe(controllers: Controllers) -> Probe {
    Probe::of(DevServer::builder().controllers(controllers).start().await.unwrap())
}

/// Returns a config map with these owners.
fn owned(name: &str, owners: &[&Value]) -> Value {
    let reference = |owner: &&Value| {
        let metadata = &owner["metadata"];
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": metadata["name"], "uid": metadata["uid"],
            "blockOwnerDeletion": true })
    };
    json!({ "metadata": { "name": name, "ownerReferences": owners.iter().map(reference).collect::<Vec<_>>() } })
}

async fn delete(probe: &Probe, path: &str, options: Value) -> Answer {
    probe.ask(Method::DELETE, path, Some(&options)).await
}

async fn left(probe: &Probe) -> Vec<String> {
    let (_, list) = probe.get(MAPS).await;
    names(&list).into_iter().map(str::to_owned).collect()
}

#[tokio::test(start_paused = true)]
async fn owned_objects_are_deleted_with_their_last_owner() {
    let probe = probe(Controllers::BuiltIn).await;
    let one = probe.make(MAPS, named("one")).await;
    let two = probe.make(MAPS, named("two")).await;
    let child = probe.make(MAPS, owned("child", &[&one])).await;
    probe.make(MAPS, owned("grandchild", &[&child])).await;
    probe.make(MAPS, owned("shared", &[&one, &two])).await;
    probe.delete(&format!("{MAPS}/one")).await;
    assert_eq!(left(&probe).await, ["shared", "two"]);
    let (_, shared) = probe.get(&format!("{MAPS}/shared")).await;
    assert_eq!(shared["metadata"]["ownerReferences"].as_array().unwrap().len(), 1);
    probe.delete(&format!("{MAPS}/two")).await;
    assert_eq!(left(&probe).await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_foreground_deletion_waits_for_owned_objects() {
    let probe = probe(Controllers::BuiltIn).await;
    let one = probe.make(MAPS, named("one")).await;
    let mut child = owned("child", &[&one]);
    child["metadata"]["finalizers"] = json!(["x.io/y"]);
    probe.make(MAPS, child).await;
    let (code, marked) =
        delete(&probe, &format!("{MAPS}/one"), json!({ "propagationPolicy": "Foreground" })).await;
    assert_eq!((code, &marked["metadata"]["finalizers"]), (200, &json!(["foregroundDeletion"])));
    assert_eq!(left(&probe).await, ["child", "one"]);
    let (_, child) = probe.get(&format!("{MAPS}/child")).await;
    assert!(child["metadata"]["deletionTimestamp"].is_string());
    probe.patch(&format!("{MAPS}/child"), json!({ "metadata": { "finalizers": null } })).await;
    assert_eq!(left(&probe).await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn orphans_stay_without_their_owner() {
    let probe = probe(Controllers::BuiltIn).await;
    let one = probe.make(MAPS, named("one")).await;
    probe.make(MAPS, owned("child", &[&one])).await;
    delete(&probe, &format!("{MAPS}/one"), json!({ "propagationPolicy": "Orphan" })).await;
    assert_eq!(left(&probe).await, ["child"]);
    let (_, child) = probe.get(&format!("{MAPS}/child")).await;
    assert_eq!(child["metadata"].get("ownerReferences"), None);
}

#[tokio::test(start_paused = true)]
async fn without_controllers_nothing_is_collected() {
    let probe = probe(Controllers::None).await;
    let one = probe.make(MAPS, named("one")).await;
    let two = probe.make(MAPS, named("two")).await;
    probe.make(MAPS, owned("child", &[&one, &two])).await;
    probe.delete(&format!("{MAPS}/one")).await;
    delete(&probe, &format!("{MAPS}/two"), json!({ "propagationPolicy": "Foreground" })).await;
    assert_eq!(left(&probe).await, ["child", "two"]);
    let namespaces = "/api/v1/namespaces";
    probe.make(namespaces, named("other")).await;
    probe.make("/api/v1/namespaces/other/configmaps", named("a")).await;
    probe.delete("/api/v1/namespaces/other").await;
    let (_, mut other) = probe.get("/api/v1/namespaces/other").await;
    assert_eq!(other["status"]["phase"], "Terminating");
    assert_eq!(probe.get("/api/v1/namespaces/other/configmaps/a").await.0, 200);
    other["spec"]["finalizers"] = json!([]);
    let (code, _) = probe.put("/api/v1/namespaces/other/finalize", other).await;
    assert_eq!(code, 200);
    assert_eq!(refusal(&probe.get("/api/v1/namespaces/other").await), (404, "NotFound"));
}

async fn running_pod(probe: &Probe, name: &str) {
    let spec = json!({ "containers": [{ "name": "c", "image": "i" }] });
    probe.make(PODS, json!({ "metadata": { "name": name, "labels": { "app": "a" } }, "spec": spec })).await;
    let binding = json!({ "metadata": { "name": name }, "target": { "kind": "Node", "name": "n" } });
    let (code, status) = probe.post(&format!("{PODS}/{name}/binding"), binding).await;
    assert_eq!((code, &status["status"]), (201, &json!("Success")));
    probe.patch(&format!("{PODS}/{name}/status"), json!({ "status": { "phase": "Running" } })).await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_is_bound_once() {
    let probe = probe(Controllers::None).await;
    running_pod(&probe, "a").await;
    let (_, pod) = probe.get(&format!("{PODS}/a")).await;
    assert_eq!(pod["spec"]["nodeName"], "n");
    assert_eq!(pod["status"]["conditions"][0]["type"], "PodScheduled");
    let binding = json!({ "target": { "name": "m" } });
    let again = probe.post(&format!("{PODS}/a/binding"), binding).await;
    assert_eq!(refusal(&again), (409, "Conflict"));
    assert_eq!(refusal(&probe.post(&format!("{PODS}/a/binding"), json!({})).await), (400, "BadRequest"));
    assert_eq!(refusal(&probe.post(&format!("{MAPS}/a/binding"), json!({})).await), (404, "NotFound"));
}

#[tokio::test(start_paused = true)]
async fn a_pod_on_a_node_has_time_to_end() {
    let probe = probe(Controllers::None).await;
    running_pod(&probe, "a").await;
    let (_, marked) = delete(&probe, &format!("{PODS}/a"), json!({})).await;
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 30, "{marked}");
    let (_, again) = delete(&probe, &format!("{PODS}/a"), json!({ "gracePeriodSeconds": 60 })).await;
    assert_eq!(again["metadata"], marked["metadata"]);
    let (_, sooner) = delete(&probe, &format!("{PODS}/a"), json!({ "gracePeriodSeconds": 5 })).await;
    assert_eq!(sooner["metadata"]["deletionGracePeriodSeconds"], 5);
    delete(&probe, &format!("{PODS}/a"), json!({ "gracePeriodSeconds": 0 })).await;
    assert_eq!(refusal(&probe.get(&format!("{PODS}/a")).await), (404, "NotFound"));
    let probe = self::probe(Controllers::BuiltIn).await;
    running_pod(&probe, "a").await;
    delete(&probe, &format!("{PODS}/a"), json!({})).await;
    assert_eq!(refusal(&probe.get(&format!("{PODS}/a")).await), (404, "NotFound"));
}

#[tokio::test(start_paused = true)]
async fn an_eviction_spends_the_disruption_budget() {
    let probe = probe(Controllers::BuiltIn).await;
    running_pod(&probe, "a").await;
    running_pod(&probe, "b").await;
    let selector = json!({ "matchLabels": { "app": "a" } });
    probe.make(BUDGETS, json!({ "metadata": { "name": "p" }, "spec": { "selector": selector } })).await;
    let status = json!({ "status": { "disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2 } });
    probe.patch(&format!("{BUDGETS}/p/status"), status).await;
    let eviction =
        |name: &str| json!({ "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": name } });
    let (code, status) = probe.post(&format!("{PODS}/a/eviction"), eviction("a")).await;
    assert_eq!((code, &status["status"]), (201, &json!("Success")), "{status}");
    assert_eq!(refusal(&probe.get(&format!("{PODS}/a")).await), (404, "NotFound"));
    let answer = probe.post(&format!("{PODS}/b/eviction"), eviction("b")).await;
    assert_eq!(refusal(&answer), (429, "TooManyRequests"));
    assert_eq!(answer.1["details"]["causes"][0]["reason"], "DisruptionBudget");
    let (_, budget) = probe.get(&format!("{BUDGETS}/p")).await;
    assert!(budget["status"]["disruptedPods"]["a"].is_string(), "{budget}");
}
