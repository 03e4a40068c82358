//! States that are kept and put back, and manifests that are applied.

use crate::probe::{MAPS, Next, Probe, named, names, refusal};
use kube_devserver::ApplyYamlError;
use serde_json::json;
use std::time::Instant;

#[tokio::test(start_paused = true)]
async fn a_snapshot_is_put_back_and_watches_end_with_410() {
    let probe = Probe::new();
    probe.make_maps(["a", "b"]).await;
    let snapshot = probe.server.snapshot();
    let before = probe.get(&format!("{MAPS}/a")).await.1;
    let version = probe.server.version();
    probe.delete(&format!("{MAPS}/a")).await;
    probe.make_maps(["c"]).await;
    probe.make("/api/v1/namespaces", named("other")).await;
    let mut watch = probe.watch(&format!("{MAPS}?watch=1&resourceVersion={}", probe.server.version())).await;
    probe.server.restore(&snapshot);
    assert_eq!(names(&probe.get(MAPS).await.1), ["a", "b"]);
    assert_eq!(probe.get(&format!("{MAPS}/a")).await.1, before);
    assert_eq!(refusal(&probe.get("/api/v1/namespaces/other").await), (404, "NotFound"));
    assert!(probe.server.version() > version);
    let (kind, status) = watch.event().await;
    assert_eq!((kind.as_str(), &status["code"]), ("ERROR", &json!(410)));
    assert_eq!(watch.next().await, Next::End);
    // Earlier versions are expired, so that clients list again.
    let mut old = probe.watch(&format!("{MAPS}?watch=1&resourceVersion={version}")).await;
    assert_eq!(old.event().await.1["code"], 410);
    let list = probe.get(MAPS).await.1;
    let newest = list["metadata"]["resourceVersion"].as_str().unwrap();
    let mut next = probe.watch(&format!("{MAPS}?watch=1&resourceVersion={newest}")).await;
    probe.make_maps(["d"]).await;
    assert_eq!(next.says(1).await, ["ADDED d"]);
    // The same snapshot can be put back again.
    probe.server.restore(&snapshot);
    assert_eq!(names(&probe.get(MAPS).await.1), ["a", "b"]);
}

#[tokio::test]
async fn a_snapshot_has_the_definitions() {
    let probe = Probe::new();
    let empty = probe.server.snapshot();
    let definition = kube_devserver::corpus::Widgets::definition();
    probe.make("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition).await;
    let widgets = "/apis/example.kube-informer.dev/v1/widgets";
    let defined = probe.server.snapshot();
    assert_eq!(probe.get(widgets).await.0, 200);
    probe.server.restore(&empty);
    assert_eq!(probe.get(widgets).await.0, 404);
    probe.server.restore(&defined);
    assert_eq!(probe.get(widgets).await.0, 200);
}

#[tokio::test]
async fn a_snapshot_of_a_thousand_objects_is_put_back_in_milliseconds() {
    let probe = Probe::new();
    let _pods = probe.server.churn(kube_devserver::Churn::pods(1000));
    let round = |_| {
        let began = Instant::now();
        let snapshot = probe.server.snapshot();
        probe.server.restore(&snapshot);
        began.elapsed()
    };
    // The shortest of some rounds: other processes interrupt a round on a busy machine.
    let took = (0..20).map(round).min().unwrap();
    println!("snapshot and restore of 1,000 pods: {took:?}");
    assert!(took.as_millis() < 50, "{took:?}");
}

const MANIFEST: &str = "
apiVersion: v1
kind: Namespace
metadata:
  name: ops
---
# a comment
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: website
  namespace: ops
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  color: blue
";

#[tokio::test]
async fn a_manifest_is_applied_in_order() {
    let probe = Probe::new();
    let applied = probe.server.apply_yaml(MANIFEST).await.unwrap();
    let kinds: Vec<_> = applied.iter().map(|object| object["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["Namespace", "ServiceAccount", "ConfigMap"]);
    assert_eq!(probe.get(&format!("{MAPS}/settings")).await.1["data"], json!({ "color": "blue" }));
    let changed = MANIFEST.replace("blue", "red");
    probe.server.apply_yaml(&changed).await.unwrap();
    assert_eq!(probe.get(&format!("{MAPS}/settings")).await.1["data"], json!({ "color": "red" }));
}

#[tokio::test]
async fn the_error_of_a_manifest_names_the_document() {
    let probe = Probe::new();
    let document = |kind: &str, rest: &str| format!("{{apiVersion: v1, kind: {kind}, {rest}}}");
    let good = document("ConfigMap", "metadata: {name: a}");
    let table = [
        (
            format!("{good}\n---\n{}", document("Nothing", "metadata: {name: a}")),
            "document 2: no matches for kind \"Nothing\" in version \"v1\"",
        ),
        (document("ConfigMap", "metadata: {}"), "document 1 has no metadata.name"),
        (document("ConfigMap", "metadata: {name: A}"), "document 1: ConfigMap \"A\" is invalid"),
        ("a: [".to_owned(), "invalid YAML"),
    ];
    for (text, expected) in table {
        let error = probe.server.apply_yaml(&text).await.unwrap_err();
        assert!(error.to_string().starts_with(expected), "{error}");
    }
    assert!(matches!(
        probe
            .server
            .apply_yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: none}}")
            .await,
        Err(ApplyYamlError::Refused { document: 1, code: 404, .. })
    ));
}
