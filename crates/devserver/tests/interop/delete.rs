//! `kubectl delete`, which waits until the object is gone.

use crate::kubectl::each_kubectl;

#[test]
fn one_object_goes() {
    each_kubectl(|kubectl| {
        kubectl.create_config_map("colours");
        assert!(kubectl.run("delete configmap colours").starts_with("configmap \"colours\" deleted"));
        assert!(kubectl.fail("get configmap colours").contains("NotFound"));
        assert!(kubectl.fail("delete configmap colours").contains("NotFound"));
        kubectl.run("delete configmap colours --ignore-not-found");
    });
}

#[test]
fn all_objects_of_a_selector_go() {
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
        let watch =
            kubectl.start("get configmap colours --watch -o jsonpath={.metadata.deletionTimestamp}{\"\\n\"}");
        let delete = kubectl.start("delete configmap colours");
        watch.line_with(|line| line.starts_with("20"));
        kubectl.run(r#"patch configmap colours --type=merge -p '{"metadata":{"finalizers":null}}'"#);
        delete.line_with(|line| line.contains("deleted"));
        assert_eq!(delete.line(), None);
        kubectl.fail("get configmap colours");
    });
}

/// Every namespace may hold what the server itself puts there.
fn names(lines: &str) -> Vec<&str> {
    lines.lines().filter(|line| *line != "configmap/kube-root-ca.crt").collect()
}
