//! Objects are shown in the form that the client asks for.

use crate::probe::{MAPS, PODS, Probe, labelled, refusal};
use serde_json::json;

const PARTIAL: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const PARTIAL_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

#[tokio::test(start_paused = true)]
async fn metadata_can_be_had_alone() {
    let probe = Probe::new();
    let mut pod = labelled("a", "front");
    pod["spec"] = json!({ "nodeName": "n" });
    let pod = probe.make(PODS, pod).await;
    let expected = json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": pod["metadata"] });
    assert_eq!(probe.get_as(PARTIAL, &format!("{PODS}/a")).await, (200, expected.clone()));
    let (_, list) = probe.get_as(PARTIAL_LIST, PODS).await;
    assert_eq!((&list["kind"], &list["items"]), (&"PartialObjectMetadataList".into(), &json!([expected])));
    let mut watch = probe.watch_as(PARTIAL, &format!("{PODS}?watch=1")).await;
    assert_eq!(watch.event().await, ("ADDED".to_owned(), expected));
}

#[tokio::test(start_paused = true)]
async fn lists_can_be_tables() {
    let probe = Probe::new();
    probe.make(PODS, labelled("a", "front")).await;
    let (_, table) = probe.get_as(TABLE, PODS).await;
    assert_eq!((&table["kind"], &table["rows"][0]["cells"][0]), (&"Table".into(), &"a".into()));
    assert_eq!(table["columnDefinitions"][0]["name"], "Name");
    assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    assert_eq!(table["metadata"]["resourceVersion"], probe.server.version().to_string());
    let (_, bare) = probe.get_as(TABLE, &format!("{PODS}?includeObject=None")).await;
    assert_eq!(bare["rows"][0]["object"], json!(null));
    let mut watch = probe.watch_as(TABLE, &format!("{PODS}?watch=1")).await;
    let (kind, row) = watch.event().await;
    assert_eq!((kind.as_str(), &row["rows"][0]["cells"][0]), ("ADDED", &"a".into()));
}

#[tokio::test(start_paused = true)]
async fn protobuf_falls_back_to_json_or_is_refused() {
    let probe = Probe::new();
    let both = "application/vnd.kubernetes.protobuf,application/json";
    assert_eq!(probe.get_as(both, MAPS).await.1["kind"], "ConfigMapList");
    let answer = probe.get_as("application/vnd.kubernetes.protobuf", MAPS).await;
    assert_eq!(refusal(&answer), (406, "NotAcceptable"));
}
