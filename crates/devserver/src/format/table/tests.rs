//! Tests of tables.

use super::{Include, TableOptions, table};
use crate::corpus::{Pods, Widgets};
use crate::registry::Resource;
use crate::testing::{self, resource};
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

fn options(include: Include) -> TableOptions {
    TableOptions { now: Timestamp::from_second(1_000).unwrap(), include }
}

/// Returns the cells of an object that are always shown, by the names of their columns.
fn shown(resource: &Resource, mut object: Value) -> Vec<(String, String)> {
    object["metadata"]["name"] = "a".into();
    object["metadata"]["creationTimestamp"] = "1970-01-01T00:15:00Z".into();
    let table = table(resource, [&object], &options(Include::None));
    let heads = table["columnDefinitions"].as_array().unwrap().iter();
    let cells = table["rows"][0]["cells"].as_array().unwrap();
    let shown = heads.zip(cells).filter(|(head, _)| head["priority"] == 0);
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    shown.map(|(head, cell)| (text(&head["name"]), text(cell))).collect()
}

fn check(resource: &Resource, object: Value, expected: &[(&str, &str)]) {
    let found = shown(resource, object);
    let found: Vec<_> = found.iter().map(|(head, cell)| (head.as_str(), cell.as_str())).collect();
    assert_eq!(found, expected);
}

fn check_pod(pod: Value, ready: &str, status: &str, restarts: &str) {
    let expected =
        [("Name", "a"), ("Ready", ready), ("Status", status), ("Restarts", restarts), ("Age", "100s")];
    check(&resource("", "pods"), pod, &expected);
}

#[test]
fn the_status_of_a_pod_is_that_of_kubectl() {
    let containers = json!([{"name": "x"}, {"name": "y"}]);
    let pod = |statuses: Value| json!({"spec": {"containers": containers}, "status": {"phase": "Running", "containerStatuses": statuses}});
    let running = json!({"name": "x", "ready": true, "state": {"running": {}}, "restartCount": 1});
    let waiting = json!({"name": "y", "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "restartCount": 4,
        "lastState": {"terminated": {"finishedAt": "1970-01-01T00:16:00Z"}}});
    let ended = |reason: &str, code: i64| json!({"name": "y", "state": {"terminated": {"reason": reason, "exitCode": code}}});
    check_pod(pod(json!([])), "0/2", "Running", "0");
    check_pod(pod(json!([running])), "1/2", "Running", "1");
    check_pod(pod(json!([running, waiting])), "1/2", "CrashLoopBackOff", "5 (40s ago)");
    check_pod(pod(json!([running, ended("Completed", 0)])), "1/2", "NotReady", "1");
    check_pod(pod(json!([ended("", 3)])), "0/2", "ExitCode:3", "0");
    let mut deleted = pod(json!([running]));
    deleted["metadata"]["deletionTimestamp"] = "1970-01-01T00:00:00Z".into();
    check_pod(deleted, "1/2", "Terminating", "1");
    check_pod(json!({"spec": {}, "status": {"phase": "Failed", "reason": "Evicted"}}), "0/0", "Evicted", "0");
}

#[test]
fn a_pod_that_initializes_shows_its_progress() {
    let pod = |state: Value| {
        let done = json!({"name": "i", "state": {"terminated": {"exitCode": 0}}});
        json!({
            "spec": {"initContainers": [{"name": "i"}, {"name": "j"}], "containers": [{"name": "x"}]},
            "status": {"phase": "Pending", "initContainerStatuses": [done, {"name": "j", "state": state}]},
        })
    };
    check_pod(pod(json!({"running": {}})), "0/1", "Init:1/2", "0");
    check_pod(pod(json!({"waiting": {"reason": "ImagePullBackOff"}})), "0/1", "Init:ImagePullBackOff", "0");
    check_pod(pod(json!({"terminated": {"exitCode": 1, "reason": "Error"}})), "0/1", "Init:Error", "0");
    check_pod(pod(json!({"terminated": {"exitCode": 0}})), "0/1", "Pending", "0");
}

#[test]
fn kinds_have_their_usual_columns() {
    let node = json!({
        "metadata": {"labels": {"node-role.kubernetes.io/control-plane": "", "node-role.kubernetes.io/a": ""}},
        "spec": {"unschedulable": true},
        "status": {"conditions": [{"type": "Ready", "status": "True"}], "nodeInfo": {"kubeletVersion": "v1.36.0"}},
    });
    let expected = [
        ("Name", "a"),
        ("Status", "Ready,SchedulingDisabled"),
        ("Roles", "a,control-plane"),
        ("Age", "100s"),
        ("Version", "v1.36.0"),
    ];
    check(&resource("", "nodes"), node, &expected);
    let deployment = json!({"spec": {"replicas": 3}, "status": {"readyReplicas": 2, "updatedReplicas": 3, "availableReplicas": 2}});
    let expected =
        [("Name", "a"), ("Ready", "2/3"), ("Up-to-date", "3"), ("Available", "2"), ("Age", "100s")];
    check(&resource("apps", "deployments"), deployment, &expected);
    let service = json!({"spec": {"type": "LoadBalancer", "clusterIP": "10.0.0.1", "ports": [{"port": 80, "nodePort": 30080}, {"port": 53, "protocol": "UDP"}]}});
    let expected = [
        ("Name", "a"),
        ("Type", "LoadBalancer"),
        ("Cluster-IP", "10.0.0.1"),
        ("External-IP", "<pending>"),
        ("Port(s)", "80:30080/TCP,53/UDP"),
        ("Age", "100s"),
    ];
    check(&resource("", "services"), service, &expected);
    let secret = json!({"type": "Opaque", "data": {"a": "", "b": ""}});
    check(
        &resource("", "secrets"),
        secret,
        &[("Name", "a"), ("Type", "Opaque"), ("Data", "2"), ("Age", "100s")],
    );
    let job =
        json!({"spec": {"completions": 2}, "status": {"succeeded": 1, "startTime": "1970-01-01T00:16:00Z"}});
    check(
        &resource("batch", "jobs"),
        job,
        &[("Name", "a"), ("Status", "Running"), ("Completions", "1/2"), ("Duration", "40s"), ("Age", "100s")],
    );
    check(&resource("", "limitranges"), json!({}), &[("Name", "a"), ("Age", "100s")]);
}

#[test]
fn a_definition_names_its_columns() {
    let widgets = testing::widgets();
    let expected = [("Name", "a"), ("Phase", "Ready"), ("Replicas", "3"), ("Ready", "True"), ("Age", "100s")];
    check(&widgets, Widgets::new(1).widget(0), &expected);
}

#[test]
fn rows_contain_the_requested_objects() {
    let pods = resource("", "pods");
    let pod = Pods::new(1).pod(0);
    let object = |include| table(&pods, [&pod], &options(include))["rows"][0]["object"].clone();
    assert_eq!(object(Include::None), Value::Null);
    assert_eq!(object(Include::Object), pod);
    let metadata = object(Include::Metadata);
    assert_eq!(
        (&metadata["kind"], &metadata["metadata"]),
        (&json!("PartialObjectMetadata"), &pod["metadata"])
    );
    assert!(metadata.get("spec").is_none());
}

#[test]
fn wide_columns_are_marked() {
    let table = table(&resource("", "pods"), [], &options(Include::None));
    assert_eq!(
        (&table["kind"], &table["apiVersion"], &table["rows"]),
        (&json!("Table"), &json!("meta.k8s.io/v1"), &json!([]))
    );
    let node = json!({"name": "Node", "type": "string", "format": "", "description": "", "priority": 1});
    assert!(table["columnDefinitions"].as_array().unwrap().contains(&node));
    assert_eq!(table["columnDefinitions"][0]["format"], "name");
}

proptest! {
    #[test]
    fn every_object_has_a_row(resource in testing::any_resource(), object in testing::object(), wild in testing::value()) {
        let table = table(&resource, [&object, &wild], &options(Include::Metadata));
        let heads = table["columnDefinitions"].as_array().unwrap().len();
        for row in table["rows"].as_array().unwrap() {
            prop_assert_eq!(row["cells"].as_array().unwrap().len(), heads);
        }
    }
}
