//! `kubectl scale`.

use crate::kubectl::each_kubectl;

fn check(resource: &str) {
    let (kind, group) = resource.split_once('.').unwrap_or((resource, ""));
    let version = if group.is_empty() { "v1" } else { "apps/v1" };
    let selector = if group.is_empty() { "{app: web}" } else { "{matchLabels: {app: web}}" };
    let template = "{metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: nginx}]}}";
    let text = format!(
        "apiVersion: {version}\nkind: {kind}\nmetadata: {{name: web}}\n\
         spec: {{replicas: 1, selector: {selector}, template: {template}}}\n"
    );
    each_kubectl(|kubectl| {
        kubectl.create(&text);
        let said = kubectl.run(&format!("scale {kind} web --replicas=4"));
        assert!(said.ends_with("/web scaled\n"), "{said}");
        let replicas = || kubectl.run(&format!("get {kind} web -o jsonpath={{.spec.replicas}}"));
        assert_eq!(replicas(), "4");
        kubectl.fail(&format!("scale {kind} web --current-replicas=1 --replicas=2"));
        assert_eq!(replicas(), "4");
        kubectl.run(&format!("scale {kind} web --current-replicas=4 --replicas=0"));
        assert_eq!(replicas(), "0");
    });
}

#[test]
fn sets_the_replicas_of_a_deployment() {
    check("Deployment.apps");
}

#[test]
fn sets_the_replicas_of_a_stateful_set() {
    check("StatefulSet.apps");
}

#[test]
fn sets_the_replicas_of_a_replication_controller() {
    check("ReplicationController");
}
