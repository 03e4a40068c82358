//! `kubectl get` in its formats.

use serde_json::Value;

use crate::kubectl::{Kubectl, each_kubectl};

const POD: &str = r#"{
    "apiVersion": "v1", "kind": "Pod",
    "metadata": { "name": "web", "namespace": "default", "labels": { "app": "web" } },
    "spec": { "nodeName": "n1", "containers": [{ "name": "main", "image": "nginx" }] },
    "status": { "phase": "Running", "podIP": "10.0.0.7", "containerStatuses": [
        { "name": "main", "ready": true, "restartCount": 3, "image": "nginx", "imageID": "",
          "state": { "running": {} } }
    ] }
}"#;

fn with_pod(test: impl Fn(&Kubectl)) {
    each_kubectl(|kubectl| {
        kubectl.cluster.put("pods", POD);
        test(kubectl);
    });
}

#[test]
fn prints_pods_as_a_table() {
    with_pod(|kubectl| {
        let table = rows(&kubectl.run("get pods"));
        assert_eq!(table[0], ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]);
        assert_eq!(table[1][..4], ["web", "1/1", "Running", "3"]);
    });
}

#[test]
fn prints_wide_columns_on_request() {
    with_pod(|kubectl| {
        let table = rows(&kubectl.run("get po web -o wide"));
        assert_eq!(table[0][5..7], ["IP", "NODE"]);
        assert_eq!(table[1][5..7], ["10.0.0.7", "n1"]);
    });
}

#[test]
fn prints_the_namespace_across_namespaces() {
    with_pod(|kubectl| {
        let table = rows(&kubectl.run("get pods --all-namespaces --show-labels"));
        assert_eq!(table[0], ["NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE", "LABELS"]);
        assert_eq!((table[1][0].as_str(), table[1][6].as_str()), ("default", "app=web"));
    });
}

#[test]
fn selects_by_labels_and_fields() {
    with_pod(|kubectl| {
        assert_eq!(kubectl.run("get pods -l app=web -o name").trim(), "pod/web");
        assert_eq!(kubectl.run("get pods -l 'app notin (web, db)' -o name"), "");
        assert_eq!(kubectl.run("get pods --field-selector=spec.nodeName=n1 -o name").trim(), "pod/web");
        assert_eq!(kubectl.run("get pods --field-selector=status.phase!=Running -o name"), "");
    });
}

#[test]
fn prints_objects_as_json_and_yaml() {
    with_pod(|kubectl| {
        let pod: Value = serde_json::from_str(&kubectl.run("get pod web -o json")).unwrap();
        assert_eq!((&pod["kind"], &pod["spec"]["nodeName"]), (&"Pod".into(), &"n1".into()));
        let pods: Value = serde_json::from_str(&kubectl.run("get pods -o json")).unwrap();
        assert_eq!(pods["items"][0]["metadata"]["uid"], pod["metadata"]["uid"]);
        let yaml = kubectl.run("get pod web -o yaml");
        assert!(
            yaml.starts_with("apiVersion: v1\nkind: Pod\n") && yaml.contains("\n  name: web\n"),
            "{yaml}"
        );
    });
}

#[test]
fn prints_kinds_side_by_side() {
    with_pod(|kubectl| {
        let names = kubectl.run("get pods,namespaces -o name");
        assert!(names.contains("pod/web") && names.contains("namespace/default"), "{names}");
    });
}

#[test]
fn a_missing_object_is_not_found() {
    each_kubectl(|kubectl| {
        let errors = kubectl.fail("get pod absent");
        assert_eq!(errors.trim(), r#"Error from server (NotFound): pods "absent" not found"#);
    });
}

#[test]
fn a_missing_resource_is_named() {
    each_kubectl(|kubectl| {
        let errors = kubectl.fail("get gadgets");
        assert!(errors.contains(r#"the server doesn't have a resource type "gadgets""#), "{errors}");
    });
}

fn rows(table: &str) -> Vec<Vec<String>> {
    table.lines().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}
