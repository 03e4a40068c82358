//! `kubectl wait`.

use crate::cluster::Cluster;
use crate::kubectl::{newest_kubectl, newest_kubectl_of};
use kube_devserver::{DevServer, Kubelet};

fn with_a_node() -> Cluster {
    Cluster::start_as(DevServer::builder().kubelet(Kubelet::nodes(1)))
}

const ON_NODE: &str = r#"run web --image=nginx --overrides={"spec":{"nodeName":"node-0"}}"#;

#[test]
fn waits_for_conditions_and_fields() {
    newest_kubectl_of(with_a_node, |kubectl| {
        kubectl.run("wait --for=create node/node-0 --timeout=60s");
        kubectl.run("wait --for=condition=Ready node --all --timeout=60s");
        kubectl.run(ON_NODE);
        assert_eq!(
            kubectl.run("wait --for=condition=Ready pod/web --timeout=60s"),
            "pod/web condition met\n"
        );
        kubectl.run("wait --for=jsonpath={.status.phase}=Running pod/web --timeout=60s");
        kubectl.run("wait --for=jsonpath={.status.podIP} pod -l run=web --timeout=60s");
        let errors = kubectl.fail("wait --for=condition=Unknown pod/web --timeout=1s");
        assert!(errors.contains("timed out waiting for the condition on pods/web"), "{errors}");
    });
}

#[test]
fn waits_for_deletions() {
    newest_kubectl(|kubectl| {
        kubectl.create_config_map("colors");
        kubectl.run(r#"patch configmap colors --type=merge -p '{"metadata":{"finalizers":["a.b/c"]}}'"#);
        kubectl.run("delete configmap colors --wait=false");
        let wait = kubectl.start("wait --for=delete configmap/colors --timeout=60s");
        kubectl.run(r#"patch configmap colors --type=merge -p '{"metadata":{"finalizers":null}}'"#);
        assert!(wait.end().0.success());
        kubectl.run("wait --for=delete configmap/colors --timeout=60s");
    });
}
