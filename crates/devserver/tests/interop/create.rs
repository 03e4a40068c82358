//! `kubectl create`, from files and from flags.

use crate::kubectl::each_kubectl;

const TWO: &str = "\
apiVersion: v1
kind: Namespace
metadata:
  name: shop
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
spec:
  replicas: 3
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: main
        image: nginx
";

#[test]
fn creates_every_object_of_a_file() {
    each_kubectl(|kubectl| {
        let said = kubectl.create(TWO);
        assert_eq!(said, "namespace/shop created\ndeployment.apps/web created\n");
        let table = kubectl.run("get deployments --namespace=shop");
        assert_eq!(table.lines().next().unwrap().split_whitespace().count(), 5, "{table}");
        assert!(table.contains("web") && table.contains("0/3"), "{table}");
    });
}

#[test]
fn creates_a_name_from_generate_name() {
    each_kubectl(|kubectl| {
        let said = kubectl.create("apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: colours-}\n");
        assert!(said.starts_with("configmap/colours-") && said.len() > "configmap/colours- created\n".len());
    });
}

#[test]
fn creates_a_config_map_from_arguments() {
    // kubectl encodes these requests as protobuf.
    each_kubectl(|kubectl| {
        assert_eq!(
            kubectl.run("create configmap colours --from-literal=sky=blue"),
            "configmap/colours created\n"
        );
        assert_eq!(kubectl.run("get configmap colours -o jsonpath={.data.sky}"), "blue");
    });
}

#[test]
fn fails_if_the_object_already_exists() {
    each_kubectl(|kubectl| {
        kubectl.create(TWO);
        let file = kubectl.file("again.yaml", TWO);
        let errors = kubectl.fail(&format!("create -f {file}"));
        assert!(errors.contains("(AlreadyExists)"), "{errors}");
        assert!(errors.contains(r#"namespaces "shop" already exists"#), "{errors}");
        assert!(errors.contains(r#"deployments.apps "web" already exists"#), "{errors}");
    });
}

#[test]
fn fails_with_the_name_of_a_missing_namespace() {
    each_kubectl(|kubectl| {
        let (_, deployment) = TWO.split_once("---\n").unwrap();
        let file = kubectl.file("web.yaml", deployment);
        let errors = kubectl.fail(&format!("create -f {file}"));
        assert!(errors.contains(r#"(NotFound)"#), "{errors}");
        assert!(errors.contains(r#"namespaces "shop" not found"#), "{errors}");
    });
}

#[test]
fn fails_with_the_invalid_field() {
    each_kubectl(|kubectl| {
        let file =
            kubectl.file("bad.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Not_A_Name}\n");
        let errors = kubectl.fail(&format!("create -f {file}"));
        let expected =
            r#"The ConfigMap "Not_A_Name" is invalid: metadata.name: Invalid value: "Not_A_Name": "#;
        assert!(errors.starts_with(expected), "{errors}");
    });
}
