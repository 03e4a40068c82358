//! Several clusters at once.

use crate::folder::folder;
use crate::program::{Running, run};
use crate::server::{Cluster, pod};
use serde_json::json;
use std::path::PathBuf;

/// Writes a kubeconfig with the contexts `blue` and `green`.
fn kubeconfig(blue: &Cluster, green: &Cluster) -> PathBuf {
    let named = |cluster: &Cluster, name: &str| {
        let document: serde_json::Value =
            serde_saphyr::from_str(&cluster.server.kubeconfig().unwrap()).unwrap();
        let rename = |list: &str, field: &str| {
            let mut entry = document[list][0].clone();
            entry["name"] = name.into();
            if field == "context" {
                (entry[field]["cluster"], entry[field]["user"]) = (name.into(), name.into());
            }
            entry
        };
        [rename("clusters", "cluster"), rename("users", "user"), rename("contexts", "context")]
    };
    let (blue, green) = (named(blue, "blue"), named(green, "green"));
    let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "blue",
        "clusters": [blue[0], green[0]], "users": [blue[1], green[1]], "contexts": [blue[2], green[2]]});
    let path = folder().join("both");
    std::fs::write(&path, config.to_string()).unwrap();
    path
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_are_labeled_with_the_context() {
    let (blue, green) = (Cluster::start().await, Cluster::start().await);
    blue.create(pod("default", "a")).await;
    green.create(pod("default", "b")).await;
    let path = kubeconfig(&blue, &green);
    let cluster = ["--kubeconfig", path.to_str().unwrap(), "--context", "blue", "--context", "green"];
    let once = run(&[&["watch", "pods", "--once"], &cluster[..]].concat()).await;
    let words: Vec<_> =
        once.lines().iter().map(|line| line.split_whitespace().take(2).collect::<Vec<_>>()).collect();
    let expected = [&["CONTEXT", "NAME"][..], &["blue", "a"], &[], &["CONTEXT", "NAME"], &["green", "b"]];
    assert_eq!(words, expected, "{}", once.stderr);

    let mut watch = Running::start(&[&["watch", "pods", "--initial"], &cluster[..]].concat());
    let mut lines = [watch.line().await, watch.line().await].map(|line| line[14..].to_owned());
    lines.sort();
    assert_eq!(lines[0], "existing  blue   default/a  Pending, 0/1 ready, on node-7");
    assert_eq!(lines[1], "existing  green  default/b  Pending, 0/1 ready, on node-7");
    green.patch(&pod("default", "b"), json!({"status": {"phase": "Running"}})).await;
    let line = watch.line().await;
    assert!(line[14..].starts_with("updated   green  default/b  phase Pending -> Running"), "{line}");

    let json = run(&[&["watch", "pods", "--once", "-o", "json"], &cluster[..]].concat()).await;
    let contexts: Vec<_> = json
        .lines()
        .iter()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["context"].clone())
        .collect();
    assert_eq!(contexts, ["blue", "green"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_needs_one_context_refuses_several() {
    let (blue, green) = (Cluster::start().await, Cluster::start().await);
    let path = kubeconfig(&blue, &green);
    let path = path.to_str().unwrap();
    let saved = folder().join("saved");
    for (arguments, expected) in [
        (&["watch", "pods", "--save", saved.to_str().unwrap()][..], "--save works with one context"),
        (&["leases", "--once"], "this command uses one context, not blue and green"),
    ] {
        let ended = run(&[arguments, &["--kubeconfig", path, "--context", "blue,green"]].concat()).await;
        assert_eq!(ended.code, Some(2));
        assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    }
    let twice = run(&["watch", "pods", "--kubeconfig", path, "--context", "blue,blue"]).await;
    assert!(twice.code == Some(2) && twice.stderr.contains("\"blue\" is given twice"), "{}", twice.stderr);
}
