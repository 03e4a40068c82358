//! Objects are created, read and replaced as by kube-apiserver.

use crate::probe::{MAPS, PODS, Probe, named, refusal, version};
use serde_json::{Value, json};

#[tokio::test(start_paused = true)]
async fn a_new_object_has_the_fields_that_the_server_sets() {
    let probe = Probe::new();
    let pod = probe.make(PODS, json!({ "metadata": { "name": "a", "uid": "mine" }, "spec": {} })).await;
    let meta = &pod["metadata"];
    assert_eq!((&pod["kind"], &pod["apiVersion"]), (&"Pod".into(), &"v1".into()));
    assert_eq!((&meta["name"], &meta["namespace"]), (&"a".into(), &"default".into()));
    assert_eq!(meta["uid"].as_str().unwrap().len(), 36);
    assert!(meta["creationTimestamp"].as_str().unwrap().ends_with('Z'));
    assert_eq!(version(&pod), probe.server.version());
    assert_eq!(probe.get(&format!("{PODS}/a")).await, (200, pod));
}

#[tokio::test(start_paused = true)]
async fn the_server_creates_a_name_from_generate_name() {
    let probe = Probe::new();
    let body = || json!({ "metadata": { "generateName": "job-" } });
    let (one, two) = (probe.make(PODS, body()).await, probe.make(PODS, body()).await);
    assert_ne!(one["metadata"]["name"], two["metadata"]["name"]);
    assert!(one["metadata"]["name"].as_str().unwrap().starts_with("job-"));
}

#[tokio::test(start_paused = true)]
async fn a_name_can_be_used_once() {
    let probe = Probe::new();
    probe.make_maps(["a"]).await;
    let answer = probe.post(MAPS, named("a")).await;
    assert_eq!(refusal(&answer), (409, "AlreadyExists"));
    assert_eq!(answer.1["message"], "configmaps \"a\" already exists");
    assert_eq!(answer.1["details"], json!({ "name": "a", "kind": "configmaps" }));
}

#[tokio::test(start_paused = true)]
async fn invalid_objects_are_refused_with_the_field() {
    let probe = Probe::new();
    let table = [
        (named("A_b"), 422, "Invalid"),
        (json!({}), 422, "Invalid"),
        (json!({ "kind": "Pod", "metadata": { "name": "a" } }), 400, "BadRequest"),
        (json!({ "apiVersion": "v2", "metadata": { "name": "a" } }), 400, "BadRequest"),
        (json!({ "metadata": { "name": "a", "namespace": "other" } }), 400, "BadRequest"),
        (json!([]), 400, "BadRequest"),
    ];
    for (body, code, reason) in table {
        assert_eq!(refusal(&probe.post(MAPS, body.clone()).await), (code, reason), "{body}");
    }
    let (_, status) = probe.post(MAPS, named("A_b")).await;
    assert_eq!(status["details"]["causes"][0]["field"], "metadata.name");
    assert_eq!(status["details"]["kind"], "ConfigMap");
    assert!(status["message"].as_str().unwrap().starts_with("ConfigMap \"A_b\" is invalid: metadata.name"));
}

#[tokio::test(start_paused = true)]
async fn an_update_needs_the_current_version() {
    let probe = Probe::new();
    let path = format!("{MAPS}/a");
    let mut map = probe.make(MAPS, named("a")).await;
    map["data"] = json!({ "x": "1" });
    let (code, newer) = probe.put(&path, map.clone()).await;
    assert_eq!(code, 200);
    assert!(version(&newer) > version(&map));
    map["data"] = json!({ "x": "2" });
    let answer = probe.put(&path, map.clone()).await;
    assert_eq!(refusal(&answer), (409, "Conflict"));
    let message = "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; \
        please apply your changes to the latest version and try again";
    assert_eq!(answer.1["message"], message);
    map["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    assert_eq!(probe.put(&path, map).await.1["data"]["x"], "2");
}

#[tokio::test(start_paused = true)]
async fn an_update_that_changes_nothing_keeps_the_version() {
    let probe = Probe::new();
    let map = probe.make(MAPS, named("a")).await;
    assert_eq!(probe.put(&format!("{MAPS}/a"), map.clone()).await, (200, map));
}

#[tokio::test(start_paused = true)]
async fn an_update_must_name_the_object_in_the_path() {
    let probe = Probe::new();
    probe.make_maps(["a"]).await;
    assert_eq!(refusal(&probe.put(&format!("{MAPS}/a"), named("b")).await), (400, "BadRequest"));
    assert_eq!(refusal(&probe.put(&format!("{MAPS}/b"), named("b")).await), (404, "NotFound"));
    let other = json!({ "metadata": { "name": "a", "uid": "other" } });
    assert_eq!(refusal(&probe.put(&format!("{MAPS}/a"), other).await), (409, "Conflict"));
}

#[tokio::test(start_paused = true)]
async fn generation_increases_with_the_spec_and_status_is_a_subresource() {
    let probe = Probe::new();
    let at = "/apis/apps/v1/namespaces/default/deployments";
    let made = probe
        .make(
            at,
            json!({ "metadata": { "name": "a" }, "spec": { "replicas": 1 }, "status": { "replicas": 9 } }),
        )
        .await;
    assert_eq!((&made["metadata"]["generation"], &made["status"]["replicas"]), (&json!(1), &json!(null)));
    let (_, next) = probe
        .patch(&format!("{at}/a"), json!({ "spec": { "paused": true }, "status": { "replicas": 3 } }))
        .await;
    assert_eq!((&next["metadata"]["generation"], &next["status"]["replicas"]), (&json!(2), &json!(null)));
    let status = json!({ "spec": { "paused": false }, "status": { "replicas": 3 } });
    let (_, last) = probe.patch(&format!("{at}/a/status"), status).await;
    assert_eq!((&last["metadata"]["generation"], &last["status"]["replicas"]), (&json!(2), &json!(3)));
    assert_eq!(last["spec"]["paused"], true);
}

#[tokio::test(start_paused = true)]
async fn a_scale_is_read_and_written() {
    let probe = Probe::new();
    let at = "/apis/apps/v1/namespaces/default/deployments";
    probe.make(at, json!({ "metadata": { "name": "a" }, "spec": { "replicas": 2 } })).await;
    let (_, mut scale) = probe.get(&format!("{at}/a/scale")).await;
    assert_eq!((&scale["kind"], &scale["spec"]["replicas"]), (&"Scale".into(), &json!(2)));
    scale["spec"]["replicas"] = json!(5);
    assert_eq!(probe.put(&format!("{at}/a/scale"), scale).await.1["spec"]["replicas"], 5);
    let (_, patched) = probe.patch(&format!("{at}/a/scale"), json!({ "spec": { "replicas": 7 } })).await;
    assert_eq!(patched["spec"]["replicas"], 7);
    assert_eq!(probe.get(&format!("{at}/a")).await.1["spec"]["replicas"], 7);
    let wrong = probe.patch(&format!("{at}/a/scale"), json!({ "spec": { "replicas": -1 } })).await;
    assert_eq!(refusal(&wrong), (422, "Invalid"));
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_changes_nothing() {
    let probe = Probe::new();
    let before = probe.server.version();
    assert_eq!(probe.post(&format!("{MAPS}?dryRun=All"), named("a")).await.0, 201);
    assert_eq!(refusal(&probe.get(&format!("{MAPS}/a")).await), (404, "NotFound"));
    assert_eq!(probe.server.version(), before);
    probe.make_maps(["a"]).await;
    let (_, patched) = probe.patch(&format!("{MAPS}/a?dryRun=All"), json!({ "data": { "x": "1" } })).await;
    assert_eq!(patched["data"]["x"], "1");
    assert_eq!(probe.delete(&format!("{MAPS}/a?dryRun=All")).await.0, 200);
    assert_eq!(probe.get(&format!("{MAPS}/a")).await.1["data"], json!(null));
    assert_eq!(refusal(&probe.post(&format!("{MAPS}?dryRun=x"), named("b")).await), (422, "Invalid"));
}

#[tokio::test(start_paused = true)]
async fn bodies_have_a_maximum_size_and_a_supported_media_type() {
    let probe = Probe::new();
    let mut large = named("a");
    large["data"] = json!({ "x": "y".repeat(3 * 1024 * 1024) });
    assert_eq!(refusal(&probe.post(MAPS, large).await), (413, "RequestEntityTooLarge"));
    for media in ["application/cbor", "text/plain"] {
        let answer = probe.ask_as(media, http::Method::POST, MAPS, Some(&named("a"))).await;
        assert_eq!(refusal(&answer), (415, "UnsupportedMediaType"), "{media}");
    }
}

#[tokio::test]
async fn a_job_selects_its_pods_by_its_uid_unless_its_selector_is_manual() {
    let probe = Probe::new();
    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    let container = json!({ "name": "main", "image": "none" });
    let job = |name: &str, more: Value| {
        let mut job = named(name);
        job["spec"] = more;
        job["spec"]["template"]["spec"] = json!({ "restartPolicy": "Never", "containers": [container] });
        job
    };
    let made = probe.make(jobs, job("sum", json!({}))).await;
    let uid = &made["metadata"]["uid"];
    let expected = json!({
        "job-name": "sum", "batch.kubernetes.io/job-name": "sum",
        "controller-uid": uid, "batch.kubernetes.io/controller-uid": uid,
    });
    assert_eq!(made["spec"]["template"]["metadata"]["labels"], expected);
    assert_eq!(made["metadata"]["labels"], expected, "labels of pods are the default of those of the job");
    let selector = json!({ "matchLabels": { "batch.kubernetes.io/controller-uid": uid } });
    assert_eq!(made["spec"]["selector"], selector);
    let manual = json!({
        "manualSelector": true, "selector": { "matchLabels": { "app": "a" } },
        "template": { "metadata": { "labels": { "app": "a" } } },
    });
    let made = probe.make(jobs, job("manual", manual)).await;
    assert_eq!(made["spec"]["selector"], json!({ "matchLabels": { "app": "a" } }));
    assert_eq!(made["spec"]["template"]["metadata"]["labels"], json!({ "app": "a" }));
}
