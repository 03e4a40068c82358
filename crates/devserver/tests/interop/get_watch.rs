//! `kubectl get --watch`.

use serde_json::Value;

use crate::kubectl::each_kubectl;

#[test]
fn prints_changes_as_rows() {
    each_kubectl(|kubectl| {
        kubectl.create("apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n");
        let watch = kubectl.start("get pods --watch --namespace=shop");
        kubectl.cluster.put("pods", &pod("first"));
        watch.line_with(|line| line.starts_with("NAME "));
        assert!(watch.line_with(|line| line.starts_with("first ")).contains("0/1"));
        kubectl.cluster.put("pods", &pod("second"));
        watch.line_with(|line| line.starts_with("second "));
        kubectl.run("label pod first tier=front --namespace=shop");
        watch.line_with(|line| line.starts_with("first "));
    });
}

#[test]
fn prints_the_result_for_each_object() {
    each_kubectl(|kubectl| {
        kubectl.create_config_map("colours");
        let watch = kubectl.start("get configmaps --watch --output-watch-events");
        watch.line_with(|line| is(line, "ADDED", "colours"));
        kubectl.run("label configmap colours tier=front");
        watch.line_with(|line| is(line, "MODIFIED", "colours"));
        kubectl.run("delete configmap colours");
        watch.line_with(|line| is(line, "DELETED", "colours"));
    });
}

#[test]
fn prints_whole_objects() {
    each_kubectl(|kubectl| {
        kubectl.create_config_map("colours");
        let line = "get configmap colours --watch -o jsonpath={.data}{\"\\n\"}";
        let watch = kubectl.start(line);
        watch.line_with(|line| data(line)["sky"] == "blue");
        kubectl.run("patch configmap colours --type=merge -p '{\"data\":{\"sky\":\"red\"}}'");
        watch.line_with(|line| data(line)["sky"] == "red");
    });
}

fn pod(name: &str) -> String {
    let metadata = format!(r#"{{ "name": "{name}", "namespace": "shop" }}"#);
    format!(
        r#"{{ "apiVersion": "v1", "kind": "Pod", "metadata": {metadata},
              "spec": {{ "containers": [{{ "name": "main", "image": "nginx" }}] }} }}"#
    )
}

fn is(line: &str, event: &str, name: &str) -> bool {
    let mut words = line.split_whitespace();
    words.next() == Some(event) && words.next() == Some(name)
}

fn data(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_default()
}
