//! `kubectl delete`, which waits until the object was deleted.

use crate::{child::LIMIT, kubectl::each_kubectl};
use std::time::Instant;

#[test]
fn deletes_one_object() {
    each_kubectl(|kubectl| {
        kubectl.create_config_map("colours");
        assert!(kubectl.run("delete configmap colours").starts_with("configmap \"colours\" deleted"));
        assert!(kubectl.fail("get configmap colours").contains("NotFound"));
        assert!(kubectl.fail("delete configmap colours").contains("NotFound"));
        kubectl.run("delete configmap colours --ignore-not-found");
    });
}

#[test]
fn deletes_all_objects_of_a_selector() {
    each_kubectl(|kubectl| {
        for name in ["a", "b", "c"] {
            kubectl.create_config_map(name);
        }
        kubectl.run("label configmap a b tier=front");
        kubectl.run("delete configmap -l tier=front");
        assert_eq!(names(&kubectl.run("get configmaps -o name")), ["configmap/c"]);
        kubectl.run("delete configmap --all");
        assert_eq!(names(&kubectl.run("get configmaps -o name")), [""; 0]);
    });
}

#[test]
fn waits_for_the_last_finalizer() {
    each_kubectl(|kubectl| {
        kubectl.create_config_map("colours");
        kubectl.run(r#"patch configmap colours --type=merge -p '{"metadata":{"finalizers":["a.b/c"]}}'"#);
        let delete = kubectl.start("delete configmap colours");
        // This polls, because `kubectl get --watch` skips the first event of a single object, which can be
        // the expected one.
        let began = Instant::now();
        while kubectl.run("get configmap colours -o jsonpath={.metadata.deletionTimestamp}").is_empty() {
            assert!(began.elapsed() < LIMIT, "it is not marked");
        }
        kubectl.run(r#"patch configmap colours --type=merge -p '{"metadata":{"finalizers":null}}'"#);
        delete.line_with(|line| line.contains("deleted"));
        assert_eq!(delete.line(), None);
        kubectl.fail("get configmap colours");
    });
}

/// Returns the names without the config map that the server creates in every namespace.
fn names(lines: &str) -> Vec<&str> {
    lines.lines().filter(|line| *line != "configmap/kube-root-ca.crt").collect()
}
