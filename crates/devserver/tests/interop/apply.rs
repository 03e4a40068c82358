//! `kubectl apply`, with the merge done by the client and by the server.

use crate::kubectl::{Kubectl, each_kubectl};

fn deployment(image: &str, extra: &str) -> String {
    format!(
        "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 2
  selector:
    matchLabels: {{app: web}}
  template:
    metadata:
      labels: {{app: web}}
    spec:
      containers:
      - name: main
        image: {image}
{extra}"
    )
}

fn apply(kubectl: &Kubectl, text: &str) -> String {
    let file = kubectl.file("web.yaml", text);
    kubectl.run(&format!("apply --server-side=false --validate=false -f {file}"))
}

#[test]
fn makes_then_leaves_then_changes() {
    each_kubectl(|kubectl| {
        assert_eq!(apply(kubectl, &deployment("nginx:1", "")), "deployment.apps/web created\n");
        assert_eq!(apply(kubectl, &deployment("nginx:1", "")), "deployment.apps/web unchanged\n");
        assert_eq!(apply(kubectl, &deployment("nginx:2", "")), "deployment.apps/web configured\n");
        let path = "{.spec.template.spec.containers[*].image} {.metadata.generation}";
        assert_eq!(kubectl.run(&format!("get deployment web -o 'jsonpath={path}'")), "nginx:2 2");
    });
}

#[test]
fn containers_merge_by_name_and_go_when_the_file_drops_them() {
    let side = "      - name: side\n        image: envoy\n";
    each_kubectl(|kubectl| {
        let images = || {
            let line = "get deployment web -o jsonpath={.spec.template.spec.containers[*].image}";
            let mut images: Vec<_> = kubectl.run(line).split(' ').map(str::to_owned).collect();
            images.sort();
            images
        };
        apply(kubectl, &deployment("nginx:1", side));
        assert_eq!(images(), ["envoy", "nginx:1"]);
        kubectl.run("set image deployment/web side=envoy:2");
        apply(kubectl, &deployment("nginx:2", side));
        assert_eq!(images(), ["envoy", "nginx:2"]);
        apply(kubectl, &deployment("nginx:2", ""));
        assert_eq!(images(), ["nginx:2"]);
    });
}

#[test]
fn on_the_server_conflicts_with_other_managers() {
    each_kubectl(|kubectl| {
        let file = kubectl.file("web.yaml", &deployment("nginx:1", ""));
        let line = format!("apply --server-side --validate=false -f {file}");
        assert_eq!(kubectl.run(&line), "deployment.apps/web serverside-applied\n");
        let other = kubectl.file("other.yaml", &deployment("nginx:2", ""));
        let line = format!("apply --server-side --validate=false --field-manager=other -f {other}");
        let errors = kubectl.fail(&line);
        assert!(errors.contains("conflict with \"kubectl\""), "{errors}");
        kubectl.run(&format!("{line} --force-conflicts"));
        let path = "{.spec.template.spec.containers[*].image} {.metadata.generation}";
        assert_eq!(kubectl.run(&format!("get deployment web -o 'jsonpath={path}'")), "nginx:2 2");
    });
}
