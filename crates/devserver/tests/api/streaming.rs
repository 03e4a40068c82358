//! A streaming list delivers all objects, and then a bookmark that marks their end.

use crate::probe::{MAPS, Probe, labelled, version};
use serde_json::json;

const STREAM: &str =
    "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

#[tokio::test(start_paused = true)]
async fn a_bookmark_ends_the_initial_events() {
    let probe = Probe::new();
    probe.make_maps(["a", "b"]).await;
    let mut watch = probe.watch(&format!("{MAPS}?{STREAM}")).await;
    assert_eq!(watch.says(2).await, ["ADDED a", "ADDED b"]);
    let (kind, bookmark) = watch.event().await;
    assert_eq!((kind.as_str(), version(&bookmark)), ("BOOKMARK", probe.server.version()));
    assert_eq!(bookmark["metadata"]["annotations"], json!({ "k8s.io/initial-events-end": "true" }));
    probe.make_maps(["c"]).await;
    assert_eq!(watch.says(1).await, ["ADDED c"]);
}

#[tokio::test(start_paused = true)]
async fn an_empty_list_also_ends_with_a_bookmark() {
    let probe = Probe::new();
    let mut watch = probe.watch(&format!("{MAPS}?{STREAM}&labelSelector=tier%3Dfront")).await;
    assert_eq!(watch.event().await.0, "BOOKMARK");
    probe.make(MAPS, labelled("a", "front")).await;
    assert_eq!(watch.says(1).await, ["ADDED a"]);
}

#[tokio::test(start_paused = true)]
async fn without_initial_events_it_starts_at_the_newest_version() {
    let probe = Probe::new();
    probe.make_maps(["a"]).await;
    let query = "watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan";
    let mut watch = probe.watch(&format!("{MAPS}?{query}")).await;
    probe.make_maps(["b"]).await;
    assert_eq!(watch.says(1).await, ["ADDED b"]);
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_not_reached_is_an_error_event() {
    let probe = Probe::new();
    let (events, _) = probe.watch(&format!("{MAPS}?{STREAM}&resourceVersion=99")).await.rest().await;
    let (kind, status) = &events[0];
    assert_eq!((kind.as_str(), &status["code"]), ("ERROR", &json!(504)));
    assert_eq!(status["details"]["causes"][0]["reason"], "ResourceVersionTooLarge");
}

#[tokio::test(start_paused = true)]
async fn a_large_list_is_streamed_completely() {
    let probe = Probe::new();
    for name in 0..300 {
        let data = json!({ "x": "y".repeat(1000) });
        probe.make(MAPS, json!({ "metadata": { "name": format!("m{name:03}") }, "data": data })).await;
    }
    let mut watch = probe.watch(&format!("{MAPS}?{STREAM}")).await;
    let said = watch.says(300).await;
    assert!((0..300).all(|name| said[name] == format!("ADDED m{name:03}")));
    assert_eq!(watch.event().await.0, "BOOKMARK");
    let (_, list) = probe.get(MAPS).await;
    assert_eq!(list["items"].as_array().unwrap().len(), 300);
}
