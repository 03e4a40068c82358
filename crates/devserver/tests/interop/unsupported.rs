//! The commands that need a running container, and the errors that docs/devserver.md lists for them.

use crate::cluster::Cluster;
use crate::kubectl::newest_kubectl_of;
use kube_devserver::{DevServer, Kubelet};

#[test]
fn commands_that_need_a_container_fail_with_an_explanation() {
    let start = || Cluster::start_as(DevServer::builder().kubelet(Kubelet::nodes(1)));
    newest_kubectl_of(start, |kubectl| {
        kubectl.run("wait --for=create node/node-0 --timeout=60s");
        kubectl.run(r#"run web --image=nginx --overrides={"spec":{"nodeName":"node-0"}}"#);
        kubectl.run("wait --for=condition=Ready pod/web --timeout=60s");
        let missing = "the server could not find the requested resource";
        for line in
            ["logs web", "exec web -- ls", "attach web", "cp web:/etc/hosts hosts", "port-forward web 0:80"]
        {
            let errors = kubectl.fail(line);
            assert!(errors.contains(missing), "{line}: {errors}");
        }
        let errors = kubectl.fail("debug web --image=busybox");
        assert!(errors.contains("ephemeral containers are disabled for this cluster"), "{errors}");
        assert!(kubectl.fail("top pods").contains("Metrics API not available"));
    });
}
