//! kubectl and a client-go informer on a recorded past.

use std::path::PathBuf;

use jiff::Timestamp;
use kube_devserver::{DevServer, Past};
use kube_history::{History, Kind, List, Recorder, RecorderOptions};
use kube_informer_wire::{EventType, Format, Raw, ResourceVersion};
use serde_json::{Value, json};

use crate::{
    client_go::{ClientGoInformer, InformerOptions},
    cluster::Cluster,
    folder::Folder,
    kubectl::each_kubectl_of,
};

fn time(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

fn raw(object: &Value) -> Raw {
    Raw::new(Format::Json, object.to_string().into())
}

/// Returns a pod of a ReplicaSet.
fn pod(name: &str, version: u64, phase: &str) -> Raw {
    raw(&json!({
        "metadata": {
            "name": name, "namespace": "web", "uid": format!("uid-{name}"), "resourceVersion": version.to_string(),
            "creationTimestamp": time(-60).to_string(), "labels": {"app": "front"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "front-1", "uid": "rs", "controller": true}],
        },
        "spec": {"nodeName": "n1", "containers": [{"name": "main", "image": "example/main:1"}]},
        "status": {"phase": phase},
    }))
}

/// Records pods of which one is deleted, with an event about it.
fn record(folder: &Folder) -> History {
    let path: PathBuf = folder.path().join("history");
    let mut recorder = Recorder::open(&path, RecorderOptions::default(), time(0)).unwrap();
    let pods = recorder.add_kind(Kind::new("", "v1", "Pod", "pods").short_names(["po"]), time(0)).unwrap();
    let events =
        recorder.add_kind(Kind::new("", "v1", "Event", "events").short_names(["ev"]), time(0)).unwrap();
    let version = |number| Some(ResourceVersion::number(number));
    let objects = [pod("front-1-a", 101, "Running"), pod("front-1-b", 102, "Pending")];
    recorder.list(List { kind: pods, namespace: None, version: version(110), objects }, time(1)).unwrap();
    let event = raw(&json!({
        "metadata": {"name": "e", "namespace": "web", "uid": "e", "resourceVersion": "103"},
        "involvedObject": {"kind": "Pod", "namespace": "web", "name": "front-1-a", "uid": "uid-front-1-a"},
        "reason": "Pulled", "message": "image is present", "type": "Normal", "source": {"component": "kubelet"},
    }));
    recorder
        .list(List { kind: events, namespace: None, version: version(110), objects: [event] }, time(1))
        .unwrap();
    recorder.change(pods, EventType::Modified, &pod("front-1-b", 120, "Running"), time(3)).unwrap();
    recorder.change(pods, EventType::Deleted, &pod("front-1-a", 130, "Failed"), time(4)).unwrap();
    recorder.close(time(5)).unwrap();
    History::open(path).unwrap()
}

#[test]
fn kubectl_shows_the_pods_of_a_moment() {
    let folder = Folder::new();
    let history = record(&folder);
    let start = || Cluster::start_as(DevServer::builder().past(Past::at(history.clone(), time(2))));
    each_kubectl_of(start, |kubectl| {
        let table = kubectl.run("get pods -A");
        let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[0], ["NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE"]);
        assert_eq!(rows[1], ["web", "front-1-a", "0/1", "Running", "0", "62s"]);
        assert_eq!(rows[2][..4], ["web", "front-1-b", "0/1", "Pending"]);
        let described = kubectl.run("describe pod -n web front-1-a");
        for part in ["Controlled By:", "ReplicaSet/front-1", "Image:", "example/main:1", "image is present"] {
            assert!(described.contains(part), "{part}: {described}");
        }
        let yaml = kubectl.run("get po front-1-a -n web -o yaml");
        assert!(yaml.contains("resourceVersion: \"101\""), "{yaml}");
        let refused = kubectl.fail("delete pod -n web front-1-a");
        assert!(refused.contains("recorded past"), "{refused}");
    });
}

#[test]
fn an_informer_receives_the_changes_of_a_moving_past() {
    let folder = Folder::new();
    let history = record(&folder);
    for watch_list in [false, true] {
        let past = Past::starting_at(history.clone(), time(2)).speed(0.5);
        let cluster = Cluster::start_as(DevServer::builder().past(past));
        let mut informer =
            ClientGoInformer::start(&cluster, "pods", InformerOptions { accept: "json", watch_list });
        informer.wait_for_sync();
        assert_eq!(informer.contents.len(), 2);
        let expected = [("web/front-1-b".to_owned(), ("uid-front-1-b".to_owned(), "120".to_owned()))];
        let expected = expected.into_iter().collect();
        informer.wait_for_contents(&expected);
        assert_eq!(informer.end(), expected);
    }
}
