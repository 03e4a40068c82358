//! The three types of `kubectl patch`, and other commands that patch.

use crate::kubectl::{Kubectl, each_kubectl};

const POD: &str = r#"{
    "apiVersion": "v1", "kind": "Pod",
    "metadata": { "name": "web", "namespace": "default" },
    "spec": { "containers": [{ "name": "main", "image": "nginx" }, { "name": "side", "image": "envoy" }] }
}"#;

/// Patches the pod, and returns its images.
fn patched(kubectl: &Kubectl, kind: &str, patch: &str) -> String {
    let said = kubectl.run(&format!("patch pod web --type={kind} -p '{patch}'"));
    assert!(said.starts_with("pod/web patched"), "{said}");
    kubectl.run("get pod web -o jsonpath={.spec.containers[*].image}")
}

fn check(kind: &str, patch: &str, images: &str) {
    each_kubectl(|kubectl| {
        kubectl.cluster.put("pods", POD);
        assert_eq!(patched(kubectl, kind, patch), images);
    });
}

#[test]
fn strategic_merges_containers_by_name() {
    check("strategic", r#"{"spec":{"containers":[{"name":"side","image":"envoy:2"}]}}"#, "nginx envoy:2");
}

#[test]
fn merge_replaces_lists() {
    check("merge", r#"{"spec":{"containers":[{"name":"only","image":"caddy"}]}}"#, "caddy");
}

#[test]
fn json_applies_operations_in_order() {
    let steps = r#"[{"op":"test","path":"/spec/containers/1/name","value":"side"},
                    {"op":"remove","path":"/spec/containers/1"},
                    {"op":"replace","path":"/spec/containers/0/image","value":"nginx:2"}]"#;
    check("json", steps, "nginx:2");
}

#[test]
fn a_json_test_that_fails_changes_nothing() {
    each_kubectl(|kubectl| {
        kubectl.cluster.put("pods", POD);
        let steps = r#"[{"op":"remove","path":"/spec/containers/1"},
                        {"op":"test","path":"/metadata/name","value":"other"}]"#;
        let errors = kubectl.fail(&format!("patch pod web --type=json -p '{steps}'"));
        assert!(errors.contains("Invalid") || errors.contains("invalid"), "{errors}");
        let images = kubectl.run("get pod web -o jsonpath={.spec.containers[*].image}");
        assert_eq!(images, "nginx envoy");
    });
}

#[test]
fn labels_and_annotations_are_added_and_removed() {
    each_kubectl(|kubectl| {
        kubectl.cluster.put("pods", POD);
        assert!(kubectl.run("label pod web tier=front").starts_with("pod/web labeled"));
        assert_eq!(kubectl.run("get pods -l tier=front -o name").trim(), "pod/web");
        assert!(kubectl.fail("label pod web tier=back").contains("--overwrite"));
        kubectl.run("label pod web tier=back --overwrite");
        assert_eq!(kubectl.run("get pods -l tier=back -o name").trim(), "pod/web");
        kubectl.run("label pod web tier-");
        assert_eq!(kubectl.run("get pods -l tier -o name"), "");
        kubectl.run("annotate pod web note=kept");
        assert_eq!(kubectl.run("get pod web -o jsonpath={.metadata.annotations.note}"), "kept");
    });
}
