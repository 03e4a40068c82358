//! `devserver --history`: the past of a recording.

use crate::program::{Running, run};
use crate::recorder::Recorder;
use crate::server::{Cluster, pod};
use jiff::Timestamp;
use kube_history::Event;
use serde_json::{Value, json};

/// Starts a server of a recording; returns it with its URL.
async fn serve(dir: &str, moment: &[&str]) -> (Running, String) {
    let arguments = ["devserver", "--listen", "127.0.0.1:0", "--history", dir];
    let mut server = Running::start(&[&arguments[..], moment].concat());
    let line = server.line().await;
    let url = line.strip_prefix("listening on ").unwrap().to_owned();
    (server, url)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_is_served_frozen_and_moving() {
    let cluster = Cluster::start().await;
    cluster.create(pod("shop", "a")).await;
    let recorder = Recorder::start(&cluster, "pods,namespaces", &[]).await;
    recorder.recorded("pods", "shop/a", Event::Added).await;
    let before = Timestamp::now().to_string();
    cluster.patch(&pod("shop", "a"), json!({"status": {"phase": "Running"}})).await;
    cluster.create(pod("shop", "b")).await;
    cluster.delete(&pod("shop", "b")).await;
    recorder.recorded("pods", "shop/b", Event::Deleted).await;
    let dir = recorder.dir.clone();
    assert_eq!(recorder.stop().await.code, Some(0));
    let dir = dir.to_str().unwrap();

    let (frozen, url) = serve(dir, &["--at", &before]).await;
    let ended = run(&["watch", "pods", "-A", "--once", "-o", "json", "--server", &url]).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let shown: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&shown["name"], &shown["object"]["status"]["phase"]), (&json!("a"), &json!("Pending")));
    let absent = run(&["watch", "nodes", "--once", "--server", &url]).await;
    assert_eq!(absent.code, Some(3), "nodes are not recorded: {absent:?}");
    frozen.signal("INT").await;
    assert_eq!(frozen.end().await.code, Some(0));

    let (moving, url) = serve(dir, &["--from", &before, "--speed", "0.5"]).await;
    // Until the recorded changes have been replayed.
    let mut phase = Value::Null;
    while phase != "Running" {
        let ended = run(&["watch", "pod/a", "-n", "shop", "--once", "-o", "json", "--server", &url]).await;
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        phase = serde_json::from_str::<Value>(&ended.stdout).unwrap()["object"]["status"]["phase"].take();
    }
    moving.signal("INT").await;
    assert_eq!(moving.end().await.code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_past_needs_a_moment_and_a_recording() {
    let no_moment = run(&["devserver", "--history", "x"]).await;
    assert_eq!(no_moment.code, Some(2), "{no_moment:?}");
    let no_recording = run(&["devserver", "--history", "absent-folder", "--at", "now"]).await;
    assert_eq!(no_recording.code, Some(2));
    assert!(no_recording.stderr.contains("no history in absent-folder"), "{}", no_recording.stderr);
    let seeded = run(&["devserver", "--history", "x", "--at", "now", "--seed", "pods=1"]).await;
    assert_eq!(seeded.code, Some(2), "{seeded:?}");
}
