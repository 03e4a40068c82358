//! The three types of `kubectl patch`, and other commands that patch.

use crate::kubectl::each_kubectl;

const POD: &str = r#"{
    "apiVersion": "v1", "kind": "Pod",
    "metadata": { "name": "web", "namespace": "default" },
    "spec": { "containers": [{ "name": "main", "image": "nginx" }, { "name": "side", "image": "envoy" }] }
}"#;

/// A pod cannot lose a container; a service can lose a port.
const SERVICE: &str = r#"{
    "apiVersion": "v1", "kind": "Service",
    "metadata": { "name": "web", "namespace": "default" },
    "spec": { "ports": [{ "name": "http", "port": 80 }, { "name": "admin", "port": 81 }] }
}"#;

/// Patches the service, and checks its ports.
fn check_ports(kind: &str, patch: &str, ports: &str) {
    each_kubectl(|kubectl| {
        kubectl.cluster.put("services", SERVICE);
        let output = kubectl.run(&format!("patch service web --type={kind} -p '{patch}'"));
        assert!(output.starts_with("service/web patched"), "{output}");
        assert_eq!(kubectl.run("get service web -o jsonpath={.spec.ports[*].port}"), ports);
    });
}

#[test]
fn strategic_merges_containers_by_name() {
    each_kubectl(|kubectl| {
        kubectl.cluster.put("pods", POD);
        let patch = r#"{"spec":{"containers":[{"name":"side","image":"envoy:2"}]}}"#;
        let output = kubectl.run(&format!("patch pod web --type=strategic -p '{patch}'"));
        assert!(output.starts_with("pod/web patched"), "{output}");
        assert_eq!(kubectl.run("get pod web -o jsonpath={.spec.containers[*].image}"), "nginx envoy:2");
    });
}

#[test]
fn merge_replaces_lists() {
    check_ports("merge", r#"{"spec":{"ports":[{"name":"only","port":82}]}}"#, "82");
}

#[test]
fn json_applies_operations_in_order() {
    let steps = r#"[{"op":"test","path":"/spec/ports/1/name","value":"admin"},
                    {"op":"remove","path":"/spec/ports/1"},
                    {"op":"replace","path":"/spec/ports/0/port","value":82}]"#;
    check_ports("json", steps, "82");
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
