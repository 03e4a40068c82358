//! A recorded past: served frozen or moving, and read-only.

use crate::probe::Probe;
use http::Method;
use jiff::Timestamp;
use kube_devserver::{DevServer, Kubelet, Past, StartError};
use kube_history::{History, Kind, List, Recorder, RecorderOptions};
use kube_informer_wire::{EventType, Format, Raw, ResourceVersion};
use serde_json::{Value, json};
use testkit::TempFolder;

fn time(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

fn object(kind: &str, name: &str, version: u64, more: &Value) -> Raw {
    let mut object = json!({
        "kind": kind,
        "metadata": {
            "name": name, "namespace": "web", "uid": format!("uid-of-{name}"), "resourceVersion": version.to_string(),
            "creationTimestamp": time(-120).to_string(),
        },
    });
    object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Raw::new(Format::Json, object.to_string().into())
}

fn pod(name: &str, version: u64, phase: &str) -> Raw {
    let spec = json!({"containers": [{"name": "main", "image": "example/main:1"}]});
    object("Pod", name, version, &json!({"apiVersion": "v1", "spec": spec, "status": {"phase": phase}}))
}

/// Records two pods, one of which is deleted, and a custom resource with a column.
fn record() -> (TempFolder, History) {
    let folder = TempFolder::new("devserver-past");
    let mut recorder = Recorder::open(folder.path(), RecorderOptions::default(), time(0)).unwrap();
    let pods = Kind::new("", "v1", "Pod", "pods").short_names(["po"]);
    let pods = recorder.add_kind(pods, time(0)).unwrap();
    let mut sites = Kind::new("example.com", "v1", "Site", "sites");
    sites.printer_columns = vec![json!({"name": "Host", "type": "string", "jsonPath": ".spec.host"})];
    let sites = recorder.add_kind(sites, time(0)).unwrap();
    let version = |number| Some(ResourceVersion::number(number));
    let objects = [pod("a", 105, "Pending"), pod("b", 101, "Running")];
    recorder.list(List { kind: pods, namespace: None, version: version(110), objects }, time(1)).unwrap();
    let site = object("Site", "s", 90, &json!({"apiVersion": "example.com/v1", "spec": {"host": "h"}}));
    recorder
        .list(List { kind: sites, namespace: None, version: version(110), objects: [site] }, time(1))
        .unwrap();
    recorder.change(pods, EventType::Modified, &pod("a", 121, "Running"), time(10)).unwrap();
    // Received after a newer change of another kind.
    let site = object("Site", "s", 120, &json!({"apiVersion": "example.com/v1", "spec": {"host": "other"}}));
    recorder.change(sites, EventType::Modified, &site, time(10)).unwrap();
    recorder.change(pods, EventType::Deleted, &pod("b", 130, "Failed"), time(20)).unwrap();
    recorder.close(time(30)).unwrap();
    let history = History::open(folder.path()).unwrap();
    (folder, history)
}

async fn serve(past: Past) -> Probe {
    Probe::of(DevServer::builder().past(past).start().await.unwrap())
}

const PODS: &str = "/api/v1/namespaces/web/pods";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

#[tokio::test]
async fn a_frozen_past_has_the_objects_of_its_moment() {
    let (_folder, history) = record();
    let probe = serve(Past::at(history, time(5))).await;
    let (code, list) = probe.get(PODS).await;
    assert_eq!(code, 200);
    assert_eq!(list["metadata"]["resourceVersion"], "110", "the version of the recorded list");
    let pods: Vec<_> = list["items"].as_array().unwrap().iter().collect();
    let shown = |pod: &Value| {
        [
            &pod["metadata"]["name"],
            &pod["metadata"]["uid"],
            &pod["metadata"]["resourceVersion"],
            &pod["status"]["phase"],
        ]
        .map(|value| value.as_str().unwrap().to_owned())
    };
    assert_eq!(shown(pods[0]), ["a", "uid-of-a", "105", "Pending"]);
    assert_eq!(shown(pods[1]), ["b", "uid-of-b", "101", "Running"]);
}

#[tokio::test]
async fn a_past_has_only_recorded_resources() {
    let (_folder, history) = record();
    let probe = serve(Past::at(history, time(5))).await;
    let (_, core) = probe.get("/api/v1").await;
    let names: Vec<_> =
        core["resources"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"pods") && !names.contains(&"configmaps"), "{names:?}");
    assert_eq!(probe.get("/api/v1/configmaps").await.0, 404, "an empty list would be a claim about the past");
    let (code, table) = probe.get_as(TABLE, "/apis/example.com/v1/sites").await;
    assert_eq!(code, 200);
    assert_eq!(table["rows"][0]["cells"], json!(["s", "h"]));
}

#[tokio::test]
async fn ages_are_those_of_the_moment() {
    let (_folder, history) = record();
    let probe = serve(Past::at(history, time(5))).await;
    let (_, table) = probe.get_as(TABLE, PODS).await;
    let columns = table["columnDefinitions"].as_array().unwrap();
    let age = columns.iter().position(|column| column["name"] == "Age").unwrap();
    assert_eq!(table["rows"][0]["cells"][age], "2m5s");
}

#[tokio::test]
async fn a_past_cannot_be_changed() {
    let (_folder, history) = record();
    let probe = serve(Past::at(history, time(5))).await;
    let body = json!({"metadata": {"name": "c"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let path = format!("{PODS}/a");
    let path = path.as_str();
    for (method, path) in
        [(Method::POST, PODS), (Method::PUT, path), (Method::PATCH, path), (Method::DELETE, path)]
    {
        let (code, status) = probe.ask(method.clone(), path, Some(&body)).await;
        assert_eq!((code, &status["reason"]), (405, &json!("MethodNotAllowed")), "{method}");
        let message = status["message"].as_str().unwrap();
        assert!(message.contains("recorded past"), "{message}");
    }
    assert_eq!(probe.get(PODS).await.1["items"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn reviews_work_on_a_recorded_past() {
    let (_folder, history) = record();
    let probe = serve(Past::at(history, time(5))).await;
    let attributes = json!({"resourceAttributes": {"verb": "list", "resource": "pods"}});
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let (code, review) = probe.post(path, json!({ "spec": attributes })).await;
    assert_eq!((code, &review["status"]["allowed"]), (201, &json!(true)), "{review}");
}

#[tokio::test]
async fn a_past_has_no_kubelet() {
    let (_folder, history) = record();
    let builder = DevServer::builder().past(Past::at(history, time(5))).kubelet(Kubelet::nodes(1));
    let error = builder.start().await.unwrap_err();
    assert!(matches!(error, StartError::KubeletOnPast), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_moving_past_sends_its_changes_when_they_are_due() {
    let (_folder, history) = record();
    let started = tokio::time::Instant::now();
    let probe = serve(Past::starting_at(history, time(5)).speed(10.0)).await;
    let mut watch = probe.watch("/api/v1/pods?watch=1&resourceVersion=110&allowWatchBookmarks=false").await;
    let (event, pod) = watch.event().await;
    assert_eq!((event.as_str(), &pod["metadata"]["resourceVersion"]), ("MODIFIED", &json!("121")));
    assert_eq!(started.elapsed().as_millis(), 500, "five seconds at ten times the speed");
    let (event, pod) = watch.event().await;
    assert_eq!((event.as_str(), &pod["metadata"]["name"]), ("DELETED", &json!("b")));
    assert_eq!(pod["metadata"]["resourceVersion"], "130");
    assert_eq!(started.elapsed().as_millis(), 1_500);
    let (_, site) = probe.get("/apis/example.com/v1/namespaces/web/sites/s").await;
    assert_eq!(site["spec"]["host"], "other");
    assert_eq!(
        site["metadata"]["resourceVersion"], "120",
        "changes received together are ordered by version"
    );
    assert_eq!(probe.get(PODS).await.1["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_moment_before_the_recording_is_an_error() {
    let (_folder, history) = record();
    let error = DevServer::builder().past(Past::at(history, time(-5))).start().await.unwrap_err();
    assert_eq!(error.to_string(), "recorded past cannot be read");
}
