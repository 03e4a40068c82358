//! `kubectl api-resources`, `api-versions` and `version`.

use serde_json::Value;

use crate::kubectl::each_kubectl;

#[test]
fn lists_resources_with_short_names_and_scope() {
    each_kubectl(|kubectl| {
        let table = kubectl.run("api-resources");
        for expected in [
            "pods po v1 true Pod",
            "nodes no v1 false Node",
            "configmaps cm v1 true ConfigMap",
            "deployments deploy apps/v1 true Deployment",
            "jobs batch/v1 true Job",
            "leases coordination.k8s.io/v1 true Lease",
            "customresourcedefinitions crd,crds apiextensions.k8s.io/v1 false CustomResourceDefinition",
        ] {
            assert!(has_row(&table, expected), "no row `{expected}` in\n{table}");
        }
    });
}

#[test]
fn lists_only_the_requested_group() {
    each_kubectl(|kubectl| {
        let names = kubectl.run("api-resources --api-group=apps -o name");
        let mut names: Vec<_> = names.lines().collect();
        names.sort_unstable();
        let expected =
            ["controllerrevisions.apps", "daemonsets.apps", "deployments.apps", "replicasets.apps"];
        assert_eq!(names[..4], expected);
    });
}

#[test]
fn lists_versions_of_groups() {
    each_kubectl(|kubectl| {
        let versions = kubectl.run("api-versions");
        assert!(["v1", "apps/v1", "batch/v1"].iter().all(|one| versions.lines().any(|line| line == *one)));
    });
}

#[test]
fn returns_the_version_of_the_server() {
    each_kubectl(|kubectl| {
        let version: Value = serde_json::from_str(&kubectl.run("get --raw=/version")).unwrap();
        assert!(version["gitVersion"].as_str().unwrap().starts_with("v1."), "{version}");
    });
}

/// Returns true if a row has these words, with any spaces between them.
fn has_row(table: &str, words: &str) -> bool {
    table.lines().any(|line| line.split_whitespace().eq(words.split_whitespace()))
}
