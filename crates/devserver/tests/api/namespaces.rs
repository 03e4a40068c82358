//! Objects are deleted with their namespaces.

use crate::probe::{MAPS, Probe, named, names, refusal};
use serde_json::json;

#[tokio::test(start_paused = true)]
async fn every_cluster_has_the_four_initial_namespaces() {
    let probe = Probe::new();
    let (_, list) = probe.get("/api/v1/namespaces").await;
    assert_eq!(names(&list), ["default", "kube-node-lease", "kube-public", "kube-system"]);
    assert_eq!(list["items"][0]["status"]["phase"], "Active");
}

#[tokio::test(start_paused = true)]
async fn an_object_needs_an_existing_namespace() {
    let probe = Probe::new();
    let answer = probe.post("/api/v1/namespaces/none/configmaps", named("a")).await;
    assert_eq!(refusal(&answer), (404, "NotFound"));
    assert_eq!(answer.1["message"], "namespaces \"none\" not found");
    assert_eq!(names(&probe.get("/api/v1/namespaces/none/configmaps").await.1), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn objects_are_deleted_with_their_namespace() {
    let probe = Probe::new();
    probe.make_maps(["kept"]).await;
    probe.make("/api/v1/namespaces", named("web")).await;
    probe.make("/api/v1/namespaces/web/configmaps", named("a")).await;
    probe.make("/apis/apps/v1/namespaces/web/deployments", named("b")).await;
    let mut maps = probe.watch("/api/v1/configmaps?watch=1").await;
    assert_eq!(maps.says(2).await, ["ADDED kept", "ADDED a"]);
    let (code, marked) = probe.delete("/api/v1/namespaces/web").await;
    assert_eq!((code, &marked["status"]["phase"]), (200, &"Terminating".into()));
    assert_eq!(maps.says(1).await, ["DELETED a"]);
    assert_eq!(refusal(&probe.get("/api/v1/namespaces/web").await), (404, "NotFound"));
    assert_eq!(names(&probe.get("/apis/apps/v1/deployments").await.1), [""; 0]);
    assert_eq!(names(&probe.get(MAPS).await.1), ["kept"]);
}

#[tokio::test(start_paused = true)]
async fn a_finalizer_of_an_object_delays_the_deletion_of_its_namespace() {
    let probe = Probe::new();
    let maps = "/api/v1/namespaces/web/configmaps";
    probe.make("/api/v1/namespaces", named("web")).await;
    probe.make(maps, json!({ "metadata": { "name": "a", "finalizers": ["x.io/y"] } })).await;
    probe.delete("/api/v1/namespaces/web").await;
    let (code, waiting) = probe.get("/api/v1/namespaces/web").await;
    assert_eq!((code, &waiting["status"]["phase"]), (200, &"Terminating".into()));
    let answer = probe.post(maps, named("b")).await;
    assert_eq!(refusal(&answer), (403, "Forbidden"));
    assert_eq!(answer.1["details"]["causes"][0]["reason"], "NamespaceTerminating");
    probe.patch(&format!("{maps}/a"), json!({ "metadata": { "finalizers": [] } })).await;
    assert_eq!(refusal(&probe.get("/api/v1/namespaces/web").await), (404, "NotFound"));
}
