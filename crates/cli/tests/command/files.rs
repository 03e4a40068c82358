//! What `watch` writes to files.

use crate::folder::folder;
use crate::program::{Running, run};
use crate::server::{Cluster, pod};
use kube_devserver::Fault;
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn a_dump_has_a_line_per_object() {
    let cluster = Cluster::start().await;
    cluster.create(pod("shop", "b")).await;
    cluster.create(pod("shop", "a")).await;
    let path = folder().join("dump");
    let dump = path.to_str().unwrap();
    let ended =
        run(&["watch", "po", "-A", "--once", "-o", "name", "--dump", dump, "--kubeconfig", cluster.config()])
            .await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let text = std::fs::read_to_string(path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        lines.iter().map(|line| line["key"].as_str().unwrap()).collect::<Vec<_>>(),
        ["shop/a", "shop/b"]
    );
    for line in lines {
        let fields: Vec<_> = line.as_object().unwrap().keys().cloned().collect();
        assert_eq!(fields.len(), 3);
        assert!(line["uid"].is_string() && line["resourceVersion"].is_string());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn statistics_contain_the_events() {
    let cluster = Cluster::start().await;
    cluster.create(pod("shop", "a")).await;
    let path = folder().join("stats");
    let arguments = ["watch", "pods", "-A", "--initial", "-o", "name", "--stats", path.to_str().unwrap()];
    let mut watch = Running::start(&[&arguments[..], &["--kubeconfig", cluster.config()]].concat());
    assert_eq!(watch.line().await, "pod/a");
    cluster.server.compact();
    cluster.create(pod("shop", "b")).await;
    assert_eq!(watch.line().await, "pod/b");
    cluster.delete(&pod("shop", "b")).await;
    assert_eq!(watch.line().await, "pod/b");
    watch.signal("INT").await;
    let ended = watch.end().await;
    assert_eq!(ended.code, Some(0));
    assert!(
        ended.stderr.starts_with("informer: 1 object at the end; 1 added, 0 updated, 1 deleted in "),
        "{}",
        ended.stderr
    );
    let stats: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(stats["objects"], 1);
    assert_eq!(stats["events"], json!({"initial": 1, "added": 1, "updated": 0, "deleted": 1, "resynced": 0}));
    assert_eq!(
        (&stats["strategy"], &stats["encoding"], &stats["streams"]),
        (&json!("stream"), &json!("protobuf"), &json!(1))
    );
    assert!(stats["sync_seconds"].as_f64().unwrap() >= 0.0);
    assert!(stats["bytes_received"].as_u64().unwrap() > 100);
    assert!(stats["peak_rss_bytes"].as_u64().is_none_or(|bytes| bytes > 1_000_000));
    assert_eq!(stats["kinds"]["pods"]["objects"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn relists_are_counted_by_reason() {
    let cluster = Cluster::start().await;
    cluster.create(pod("shop", "a")).await;
    let path = folder().join("stats");
    let arguments = ["watch", "pods", "-A", "--initial", "-o", "name", "--stats", path.to_str().unwrap()];
    let mut watch = Running::start(&[&arguments[..], &["--kubeconfig", cluster.config()]].concat());
    assert_eq!(watch.line().await, "pod/a");
    cluster.server.cut_watches();
    // Another change is compacted in the meantime.
    cluster.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})).await;
    cluster.server.compact();
    cluster.create(pod("shop", "b")).await;
    assert_eq!(watch.line().await, "pod/b");
    watch.signal("TERM").await;
    let ended = watch.end().await;
    assert_eq!(ended.code, Some(0));
    let stats: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let lists = stats["streams"].as_u64().unwrap();
    let relists: u64 = stats["relists"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
    assert_eq!(relists + 1, lists, "{stats:#}\n{}", ended.stderr);
}

/// The figures of a look at all pods.
async fn figures(cluster: &Cluster, arguments: &[&str]) -> Value {
    let path = folder().join("stats");
    let rest = ["--once", "-q", "--stats", path.to_str().unwrap(), "--kubeconfig", cluster.config()];
    let ended = run(&[&["watch", "pods", "-A"], arguments, &rest].concat()).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn statistics_contain_the_actual_strategy() {
    let cluster = Cluster::start().await;
    cluster.create(pod("shop", "a")).await;
    let told = |stats: &Value| (stats["strategy"].clone(), stats["encoding"].clone());
    let stats = figures(&cluster, &["--strategy", "stream", "--encoding", "protobuf"]).await;
    assert_eq!(told(&stats), ("stream".into(), "protobuf".into()));
    let stats = figures(&cluster, &["--strategy", "list", "--encoding", "json"]).await;
    assert_eq!(told(&stats), ("list".into(), "json".into()));
    assert_eq!((&stats["lists"], &stats["streams"]), (&json!(1), &json!(0)));
    // The server refused to stream the list.
    cluster.server.faults().inject(Fault::refuse_streaming_lists());
    let stats = figures(&cluster, &[]).await;
    assert_eq!(told(&stats), ("list".into(), "protobuf".into()), "{stats:#}");
    assert_eq!((&stats["lists"], &stats["streams"]), (&json!(1), &json!(1)));
    assert_eq!((&stats["errors"], &stats["relists"]), (&json!({"status": 1}), &json!({})));
    assert_eq!(stats["kinds"]["pods"]["strategy"], "list");
}
