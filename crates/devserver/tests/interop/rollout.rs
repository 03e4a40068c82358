//! `kubectl rollout` on a deployment whose replica sets and status are written by the test, as no controller runs here.

use crate::kubectl::{Kubectl, newest_kubectl};

fn replica_set(kubectl: &Kubectl, revision: u32) {
    let uid = kubectl.run("get deployment web -o jsonpath={.metadata.uid}");
    let owner = format!("{{apiVersion: apps/v1, kind: Deployment, name: web, uid: {uid}, controller: true}}");
    kubectl.create(&format!(
        "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata:\n  name: web-{revision}\n  labels: {{app: web}}\n\
         \x20 annotations: {{deployment.kubernetes.io/revision: '{revision}'}}\n  ownerReferences: [{owner}]\n\
         spec:\n  replicas: 0\n  selector: {{matchLabels: {{app: web, hash: r{revision}}}}}\n\
         \x20 template:\n    metadata: {{labels: {{app: web, hash: r{revision}}}}}\n\
         \x20   spec: {{containers: [{{name: nginx, image: 'nginx:{revision}'}}]}}\n"
    ));
}

#[test]
fn history_and_undo_use_the_replica_sets() {
    newest_kubectl(|kubectl| {
        kubectl.run("create deployment web --image=nginx:2");
        kubectl.run("annotate deployment web deployment.kubernetes.io/revision=2");
        replica_set(kubectl, 1);
        replica_set(kubectl, 2);
        let history = kubectl.run("rollout history deployment/web");
        let revisions: Vec<_> = history.lines().filter(|line| line.ends_with("<none>")).collect();
        assert_eq!(revisions.len(), 2, "{history}");
        assert!(kubectl.run("rollout history deployment/web --revision=1").contains("nginx:1"));
        assert!(kubectl.run("rollout undo deployment/web").contains("rolled back"));
        let image = "get deployment web -o jsonpath={.spec.template.spec.containers[0].image}";
        assert_eq!(kubectl.run(image), "nginx:1");
        kubectl.run("rollout restart deployment/web");
        let line = "get deployment web -o jsonpath={.spec.template.metadata.annotations}";
        assert!(kubectl.run(line).contains("kubectl.kubernetes.io/restartedAt"));
        kubectl.run("rollout pause deployment/web");
        assert!(kubectl.fail("rollout restart deployment/web").contains("paused"));
        kubectl.run("rollout resume deployment/web");
    });
}

#[test]
fn status_waits_until_the_status_is_complete() {
    newest_kubectl(|kubectl| {
        kubectl.run("create deployment web --image=nginx:1 --replicas=2");
        let status = kubectl.start("rollout status deployment/web --timeout=60s");
        status.line_with(|line| line.starts_with("Waiting for deployment spec update to be observed"));
        let counts = r#""replicas":2,"updatedReplicas":2"#;
        let patch = |available: u32| {
            format!(
                "patch deployment web --subresource=status --type=merge -p \
                 '{{\"status\":{{\"observedGeneration\":1,{counts},\"availableReplicas\":{available}}}}}'"
            )
        };
        kubectl.run(&patch(1));
        status.line_with(|line| line.contains("1 of 2 updated replicas are available"));
        kubectl.run(&patch(2));
        status.line_with(|line| line.contains("successfully rolled out"));
    });
}
