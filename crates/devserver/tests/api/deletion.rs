//! Objects are deleted when they have no finalizers and no grace period.

use crate::probe::{MAPS, PODS, Probe, labelled, named, names, refusal, version};
use http::Method;
use serde_json::json;

#[tokio::test(start_paused = true)]
async fn a_deletion_returns_a_status() {
    let probe = Probe::new();
    let map = probe.make(MAPS, named("a")).await;
    let (code, status) = probe.delete(&format!("{MAPS}/a")).await;
    assert_eq!((code, &status["status"]), (200, &"Success".into()));
    assert_eq!(status["details"]["uid"], map["metadata"]["uid"]);
    assert_eq!(refusal(&probe.get(&format!("{MAPS}/a")).await), (404, "NotFound"));
    assert_eq!(refusal(&probe.delete(&format!("{MAPS}/a")).await), (404, "NotFound"));
    let pod = probe.make(PODS, named("a")).await;
    let (_, last) = probe.delete(&format!("{PODS}/a")).await;
    assert_eq!((&last["kind"], &last["metadata"]["uid"]), (&"Pod".into(), &pod["metadata"]["uid"]));
}

#[tokio::test(start_paused = true)]
async fn finalizers_hold_an_object_until_they_are_done() {
    let probe = Probe::new();
    let path = format!("{MAPS}/a");
    probe.make(MAPS, json!({ "metadata": { "name": "a", "finalizers": ["x.io/y"] } })).await;
    let mut watch = probe.watch(&format!("{MAPS}?watch=1&resourceVersion={}", probe.server.version())).await;
    let (_, marked) = probe.delete(&path).await;
    assert!(marked["metadata"]["deletionTimestamp"].is_string());
    let (_, again) = probe.delete(&path).await;
    assert_eq!(again, marked);
    let more = probe.patch(&path, json!({ "metadata": { "finalizers": ["x.io/y", "z.io/z"] } })).await;
    assert_eq!(refusal(&more), (422, "Invalid"));
    let (code, _) = probe.patch(&path, json!({ "metadata": { "finalizers": null } })).await;
    assert_eq!(code, 200);
    assert_eq!(refusal(&probe.get(&path).await), (404, "NotFound"));
    assert_eq!(watch.says(2).await, ["MODIFIED a", "DELETED a"]);
}

#[tokio::test(start_paused = true)]
async fn preconditions_name_the_very_object() {
    let probe = Probe::new();
    let map = probe.make(MAPS, named("a")).await;
    let path = format!("{MAPS}/a");
    let delete = |demand| {
        let body = json!({ "kind": "DeleteOptions", "apiVersion": "v1", "preconditions": demand });
        let (probe, path) = (&probe, &path);
        async move { probe.ask(Method::DELETE, path, Some(&body)).await }
    };
    assert_eq!(refusal(&delete(json!({ "uid": "other" })).await), (409, "Conflict"));
    assert_eq!(refusal(&delete(json!({ "resourceVersion": "1" })).await), (409, "Conflict"));
    let right = json!({ "uid": map["metadata"]["uid"], "resourceVersion": version(&map).to_string() });
    assert_eq!(delete(right).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn a_collection_is_deleted_by_selector() {
    let probe = Probe::new();
    for (name, tier) in [("a", "front"), ("b", "back"), ("c", "front")] {
        probe.make(MAPS, labelled(name, tier)).await;
    }
    let (code, gone) = probe.delete(&format!("{MAPS}?labelSelector=tier%3Dfront")).await;
    assert_eq!((code, names(&gone)), (200, vec!["a", "c"]));
    assert_eq!(names(&probe.get(MAPS).await.1), ["b"]);
}
