//! Faults can be injected over HTTP if the server allows it.

use crate::probe::{MAPS, Next, Probe, refusal};
use http::Method;
use kube_devserver::DevServer;
use serde_json::json;

async fn open() -> Probe {
    Probe::of(DevServer::builder().control().start().await.unwrap())
}

#[tokio::test(start_paused = true)]
async fn faults_are_injected_counted_and_withdrawn() {
    let probe = open().await;
    let fault = json!({ "fault": "answer", "code": 503, "verb": "list", "resource": "configmaps" });
    let (_, injected) = probe.post("/devserver/faults", fault).await;
    assert_eq!(refusal(&probe.get(MAPS).await).0, 503);
    let (_, report) = probe.get("/devserver/faults").await;
    assert_eq!((&report["faults"][0]["id"], &report["faults"][0]["hits"]), (&injected["id"], &json!(1)));
    assert_eq!(probe.delete(&format!("/devserver/faults/{}", injected["id"])).await.0, 200);
    assert_eq!(probe.get(MAPS).await.0, 200);
    assert_eq!(probe.delete("/devserver/faults/99").await.0, 404);
    assert_eq!(probe.delete("/devserver/faults").await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn watches_are_cut_and_versions_compacted_or_reset_over_http() {
    let probe = open().await;
    probe.make_maps(["a"]).await;
    let watch = probe.watch(&format!("{MAPS}?watch=1&resourceVersion={}", probe.server.version())).await;
    assert_eq!(probe.ask(Method::POST, "/devserver/compact", None).await.0, 200);
    assert_eq!(probe.ask(Method::POST, "/devserver/cut", None).await.0, 200);
    assert_eq!(watch.rest().await.1, Next::Broken);
    assert_eq!(probe.ask(Method::POST, "/devserver/restart/reset", None).await.0, 200);
    assert_eq!(probe.ask(Method::GET, "/devserver/restart", None).await.0, 405);
    assert_eq!(probe.ask(Method::POST, "/devserver/other", None).await.0, 404);
    assert_eq!(probe.post("/devserver/faults", json!({ "fault": "x" })).await.0, 400);
}
