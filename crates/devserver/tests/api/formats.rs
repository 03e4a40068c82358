//! Objects are returned in the format that the client requests.

use crate::probe::{MAPS, PODS, Probe, labelled};
use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt;
use kube::client::Body;
use kube_informer_wire::{Frames, ManagedFields, Schema, WatchEvent, open_protobuf};
use serde_json::{Value, json};

const PARTIAL: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const PARTIAL_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

#[tokio::test(start_paused = true)]
async fn metadata_can_be_requested_without_the_object() {
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

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

async fn body(probe: &Probe, accept: &str, path: &str) -> (u16, String, Bytes) {
    let request = Request::get(path).header("accept", accept).body(Body::empty()).unwrap();
    let answer = probe.send(request).await;
    let media = answer.headers()["content-type"].to_str().unwrap().to_owned();
    (answer.status().as_u16(), media, answer.into_body().collect().await.unwrap().to_bytes())
}

fn value(body: &Bytes) -> Value {
    open_protobuf(body).unwrap().decode(ManagedFields::Keep).unwrap()
}

#[tokio::test(start_paused = true)]
async fn built_in_kinds_are_encoded_as_protobuf() {
    let probe = Probe::new();
    let pod = probe.make(PODS, labelled("a", "front")).await;
    let both = format!("{PROTOBUF},application/json");
    let (code, media, one) = body(&probe, &both, &format!("{PODS}/a")).await;
    assert_eq!((code, media.as_str()), (200, PROTOBUF));
    assert_eq!(value(&one)["metadata"], pod["metadata"]);
    let (.., list) = body(&probe, PROTOBUF, PODS).await;
    let list = value(&list);
    assert_eq!((&list["kind"], &list["items"][0]["metadata"]), (&"PodList".into(), &pod["metadata"]));
    let partial = format!("{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
    let (.., partial) = body(&probe, &partial, &format!("{PODS}/a")).await;
    let expected = json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": pod["metadata"] });
    assert_eq!(value(&partial), expected);
    let (code, media, refused) = body(&probe, PROTOBUF, &format!("{PODS}/b")).await;
    assert_eq!((code, media.as_str()), (404, PROTOBUF));
    assert_eq!(value(&refused)["reason"], "NotFound");
}

#[tokio::test(start_paused = true)]
async fn a_watch_in_protobuf_has_the_same_events() {
    let probe = Probe::new();
    let pod = probe.make(PODS, labelled("a", "front")).await;
    let (_, media, frames) = body(&probe, PROTOBUF, &format!("{PODS}?watch=1&timeoutSeconds=1")).await;
    assert_eq!(media, "application/vnd.kubernetes.protobuf;stream=watch");
    let mut split = Frames::protobuf();
    split.push(frames);
    let event = split.next().unwrap().unwrap().decode::<Value>(ManagedFields::Keep).unwrap();
    let WatchEvent::Added(object) = event else { panic!("{event:?}") };
    assert_eq!((&object["kind"], &object["metadata"]), (&"Pod".into(), &pod["metadata"]));
}

#[tokio::test(start_paused = true)]
async fn objects_are_accepted_as_protobuf() {
    let probe = Probe::new();
    let schema = Schema::of("v1", "ConfigMap").unwrap();
    let map =
        schema.body(&schema.encode(&json!({ "metadata": { "name": "a" }, "data": { "b": "c" } })).unwrap());
    let request = Request::post(MAPS).header("content-type", PROTOBUF).body(map.to_vec().into()).unwrap();
    assert_eq!(probe.send(request).await.status(), 201);
    assert_eq!(probe.get(&format!("{MAPS}/a")).await.1["data"], json!({ "b": "c" }));
}
