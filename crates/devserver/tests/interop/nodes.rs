//! `kubectl cordon`, `drain` and `taint`.

use crate::cluster::Cluster;
use crate::kubectl::newest_kubectl_of;
use kube_devserver::{DevServer, Kubelet};

fn with_nodes() -> Cluster {
    Cluster::start_as(DevServer::builder().kubelet(Kubelet::nodes(2)))
}

#[test]
fn nodes_are_drained_of_their_pods() {
    newest_kubectl_of(with_nodes, |kubectl| {
        kubectl.run("wait --for=create node/node-0 --timeout=60s");
        for (name, node) in [("a", "node-0"), ("b", "node-1")] {
            let node = format!(r#"{{"spec":{{"nodeName":"{node}"}}}}"#);
            kubectl.run(&format!("run {name} --image=nginx --overrides={node}"));
        }
        kubectl.run("wait --for=condition=Ready pod --all --timeout=60s");
        let errors = kubectl.fail("drain node-0");
        assert!(errors.contains("(use --force to override): default/a"), "{errors}");
        let said = kubectl.run("drain node-0 --force");
        assert!(said.contains("pod/a evicted") && said.contains("node/node-0 drained"), "{said}");
        assert_eq!(kubectl.run("get pods -o name"), "pod/b\n");
        assert!(kubectl.run("get node node-0").contains("Ready,SchedulingDisabled"));
        kubectl.run("uncordon node-0");
        assert!(!kubectl.run("get node node-0").contains("SchedulingDisabled"));
        kubectl.run("create pdb all --selector=run=b --min-available=1");
        let errors = kubectl.fail("drain node-1 --force --timeout=1s");
        assert!(
            errors.contains("Cannot evict pod as it would violate the pod's disruption budget."),
            "{errors}"
        );
    });
}

#[test]
fn taints_are_added_and_removed() {
    newest_kubectl_of(with_nodes, |kubectl| {
        kubectl.run("wait --for=create node/node-0 --timeout=60s");
        assert_eq!(kubectl.run("taint nodes node-0 a=b:NoSchedule"), "node/node-0 tainted\n");
        assert!(kubectl.run("describe node node-0").contains("a=b:NoSchedule"));
        assert_eq!(kubectl.run("taint nodes node-0 a=b:NoSchedule-"), "node/node-0 untainted\n");
        kubectl.run("label node node-0 disk=ssd");
        assert_eq!(kubectl.run("get nodes -l disk=ssd -o name"), "node/node-0\n");
    });
}
