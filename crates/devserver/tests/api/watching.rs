//! Watches deliver every change once, in order, from the requested version.

use crate::probe::{MAPS, Next, Probe, labelled, named, refusal, version};
use kube_devserver::DevServer;
use serde_json::json;
use std::time::Duration;
use tokio::time::Instant;

#[tokio::test(start_paused = true)]
async fn a_watch_without_a_version_starts_with_all_objects() {
    let probe = Probe::new();
    probe.make_maps(["a", "b"]).await;
    for query in ["watch=1", "watch=1&resourceVersion=0"] {
        let mut watch = probe.watch(&format!("{MAPS}?{query}")).await;
        assert_eq!(watch.says(2).await, ["ADDED a", "ADDED b"], "{query}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_delivers_the_changes_after_its_version() {
    let probe = Probe::new();
    probe.make_maps(["a", "b"]).await;
    let start = probe.server.version();
    probe.make_maps(["c"]).await;
    let mut watch = probe.watch(&format!("{MAPS}?watch=1&resourceVersion={start}")).await;
    probe.patch(&format!("{MAPS}/a"), json!({ "data": { "x": "1" } })).await;
    probe.delete(&format!("{MAPS}/b")).await;
    assert_eq!(watch.says(3).await, ["ADDED c", "MODIFIED a", "DELETED b"]);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_carries_the_last_state_and_its_own_version() {
    let probe = Probe::new();
    let made = probe.make(MAPS, labelled("a", "front")).await;
    let mut watch = probe.watch(&format!("{MAPS}?watch=1&resourceVersion={}", version(&made))).await;
    probe.delete(&format!("{MAPS}/a")).await;
    let (kind, object) = watch.event().await;
    assert_eq!((kind.as_str(), &object["metadata"]["labels"]["tier"]), ("DELETED", &"front".into()));
    assert_eq!(version(&object), probe.server.version());
    assert_eq!((&object["kind"], &object["apiVersion"]), (&"ConfigMap".into(), &"v1".into()));
}

#[tokio::test(start_paused = true)]
async fn other_namespaces_and_names_are_not_delivered() {
    let probe = Probe::new();
    let start = probe.server.version();
    let mut one = probe.watch(&format!("{MAPS}/b?watch=1&resourceVersion={start}")).await;
    let mut all = probe.watch(&format!("/api/v1/configmaps?watch=1&resourceVersion={start}")).await;
    probe.make("/api/v1/namespaces/kube-system/configmaps", named("b")).await;
    probe.make_maps(["a", "b"]).await;
    assert_eq!(one.says(1).await, ["ADDED b"]);
    assert_eq!(all.says(3).await, ["ADDED b", "ADDED a", "ADDED b"]);
}

#[tokio::test(start_paused = true)]
async fn objects_that_start_or_stop_to_match_a_selector_are_added_or_deleted() {
    let probe = Probe::new();
    probe.make(MAPS, labelled("a", "back")).await;
    let path =
        format!("{MAPS}?watch=1&labelSelector=tier%3Dfront&resourceVersion={}", probe.server.version());
    let mut watch = probe.watch(&path).await;
    for tier in ["front", "front", "back", "back"] {
        let label = json!({ "metadata": { "labels": { "tier": tier } }, "data": { "x": probe.server.version().to_string() } });
        probe.patch(&format!("{MAPS}/a"), label).await;
    }
    assert_eq!(watch.says(2).await, ["ADDED a", "MODIFIED a"]);
    let (kind, last) = watch.event().await;
    assert_eq!((kind.as_str(), &last["metadata"]["labels"]["tier"]), ("DELETED", &"front".into()));
    assert_eq!(version(&last), probe.server.version() - 1);
}

#[tokio::test(start_paused = true)]
async fn a_watch_from_a_compacted_version_gets_an_error_event() {
    let probe = Probe::new();
    let old = probe.server.version();
    probe.make_maps(["a"]).await;
    probe.server.compact();
    let (events, end) = probe.watch(&format!("{MAPS}?watch=1&resourceVersion={old}")).await.rest().await;
    assert_eq!((events.len(), &end), (1, &Next::End));
    let (kind, status) = &events[0];
    assert_eq!(
        (kind.as_str(), &status["code"], &status["reason"]),
        ("ERROR", &json!(410), &"Expired".into())
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_up_to_date_survives_compaction() {
    let probe = Probe::new();
    let mut watch = probe.watch(&format!("{MAPS}?watch=1&resourceVersion={}", probe.server.version())).await;
    probe.make("/api/v1/namespaces", named("web")).await;
    probe.server.compact();
    probe.make_maps(["a"]).await;
    assert_eq!(watch.says(1).await, ["ADDED a"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_falls_behind_is_cut() {
    let probe = Probe::of(DevServer::builder().history(10).start().await.unwrap());
    let watch = probe.watch(&format!("{MAPS}?watch=1&resourceVersion={}", probe.server.version())).await;
    for name in 0..11 {
        probe.make(MAPS, named(&format!("m{name}"))).await;
    }
    let (events, end) = watch.rest().await;
    assert_eq!((events.len(), end), (1, Next::End));
    assert_eq!(events[0].1["reason"], "Expired");
}

#[tokio::test(start_paused = true)]
async fn bookmarks_are_sent_at_the_interval_with_the_newest_version() {
    let probe = Probe::new();
    let path = format!("{MAPS}?watch=1&allowWatchBookmarks=true&resourceVersion={}", probe.server.version());
    let mut watch = probe.watch(&path).await;
    probe.make("/api/v1/namespaces", named("web")).await;
    let started = Instant::now();
    let (kind, bookmark) = watch.event().await;
    assert_eq!((kind.as_str(), version(&bookmark)), ("BOOKMARK", probe.server.version()));
    assert_eq!(
        (&bookmark["kind"], &bookmark["metadata"]["annotations"]),
        (&"ConfigMap".into(), &json!(null))
    );
    assert_eq!(started.elapsed(), Duration::from_secs(60));
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_at_its_timeout_with_a_bookmark() {
    let probe = Probe::new();
    let started = Instant::now();
    let path = format!("{MAPS}?watch=1&allowWatchBookmarks=true&timeoutSeconds=5&resourceVersion=1");
    let (events, end) = probe.watch(&path).await.rest().await;
    assert_eq!((events.len(), events[0].0.as_str(), end), (1, "BOOKMARK", Next::End));
    let path = format!("{MAPS}?watch=1&timeoutSeconds=5&resourceVersion=1");
    let (events, end) = probe.watch(&path).await.rest().await;
    assert_eq!((events.len(), end), (0, Next::End));
    assert_eq!(started.elapsed(), Duration::from_secs(10));
}

#[tokio::test(start_paused = true)]
async fn a_watch_can_have_the_maximum_timeout() {
    let probe = Probe::new();
    let path = format!("{MAPS}?watch=1&allowWatchBookmarks=true&timeoutSeconds={}", i64::MAX);
    let mut watch = probe.watch(&path).await;
    probe.make_maps(["a"]).await;
    assert_eq!(watch.says(1).await, ["ADDED a"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_waits_for_a_version_that_is_not_reached() {
    let probe = Probe::new();
    let path = format!("{MAPS}?watch=1&resourceVersion={}", probe.server.version() + 1);
    let mut watch = probe.watch(&path).await;
    probe.make_maps(["a", "b"]).await;
    assert_eq!(watch.says(1).await, ["ADDED b"]);
}

#[tokio::test(start_paused = true)]
async fn an_invalid_watch_is_refused() {
    let probe = Probe::new();
    for (query, expected) in [
        ("watch=1&sendInitialEvents=true", (422, "Invalid")),
        ("watch=1&resourceVersionMatch=NotOlderThan", (422, "Invalid")),
        ("watch=1&resourceVersion=x", (500, "")),
        ("watch=1&fieldSelector=spec.x%3D1", (400, "BadRequest")),
        ("watch=1&timeoutSeconds=-1", (400, "BadRequest")),
    ] {
        assert_eq!(refusal(&probe.get(&format!("{MAPS}?{query}")).await), expected, "{query}");
    }
}

#[tokio::test(start_paused = true)]
async fn stopping_the_server_ends_its_watches() {
    let probe = Probe::new();
    let watch = probe.watch(&format!("{MAPS}?watch=1")).await;
    let Probe { server, client } = probe;
    server.stop().await;
    assert_eq!(watch.rest().await.1, Next::Broken);
    assert!(client.apiserver_version().await.is_err());
}
