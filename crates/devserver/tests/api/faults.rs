//! Injected faults have the documented effect.

use crate::probe::{MAPS, Next, Probe, named, names, refusal};
use http::Request;
use kube::client::Body;
use kube_devserver::{Fault, Verb, Versions};
use serde_json::json;
use std::time::Duration;
use tokio::time::Instant;

const STREAM: &str =
    "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn returns_any_code_a_number_of_times() {
    let probe = Probe::new();
    let codes = [
        (401, "Unauthorized"),
        (403, "Forbidden"),
        (404, "NotFound"),
        (410, "Expired"),
        (429, "TooManyRequests"),
        (500, "InternalError"),
        (503, "ServiceUnavailable"),
        (504, "Timeout"),
    ];
    for (code, reason) in codes {
        let fault =
            probe.server.faults().inject(Fault::answer(code).on(Verb::List).of("configmaps").times(1));
        assert_eq!(probe.get("/api/v1/namespaces").await.0, 200);
        assert_eq!(refusal(&probe.get(MAPS).await), (code, reason));
        assert_eq!(probe.get(MAPS).await.0, 200);
        fault.hit(1).await;
        assert_eq!(fault.hits(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn sends_the_retry_after_header() {
    let probe = Probe::new();
    probe.server.faults().inject(Fault::answer(429).retry_after(Duration::from_secs(7)));
    let response = probe.send(Request::get("/version").body(Body::empty()).unwrap()).await;
    assert_eq!(response.headers()["retry-after"], "7");
    let (_, status) = crate::probe::read(response).await;
    assert_eq!(status["details"]["retryAfterSeconds"], 7);
}

#[tokio::test(start_paused = true)]
async fn stalls_for_a_time_or_until_withdrawn() {
    let probe = Probe::new();
    let started = Instant::now();
    probe.server.faults().inject(Fault::stall(5 * SECOND).times(1));
    assert_eq!(probe.get(MAPS).await.0, 200);
    assert_eq!(started.elapsed(), 5 * SECOND);
    let stall = probe.server.faults().inject(Fault::stall_until_withdrawn());
    let (answer, ()) = tokio::join!(probe.get(MAPS), async {
        stall.hit(1).await;
        tokio::time::sleep(100 * SECOND).await;
        stall.withdraw();
    });
    assert_eq!((answer.0, started.elapsed()), (200, 105 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn cuts_a_watch_after_a_number_of_events() {
    let probe = Probe::new();
    probe.make_maps(["a", "b", "c", "d"]).await;
    for (fault, expected) in [
        (Fault::cut_after_events(3), (3, Next::End)),
        (Fault::cut_after_events(3).abruptly(), (3, Next::Broken)),
        (Fault::cut_after_events(0), (0, Next::End)),
    ] {
        let cut = probe.server.faults().inject(fault.times(1));
        let (events, end) = probe.watch(&format!("{MAPS}?watch=1")).await.rest().await;
        assert_eq!(((events.len(), end), cut.hits()), (expected, 1));
    }
    let mut watch = probe.watch(&format!("{MAPS}?watch=1")).await;
    assert_eq!(watch.says(4).await.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn cuts_a_watch_after_a_time() {
    let probe = Probe::new();
    for (fault, expected) in
        [(Fault::cut_after(SECOND), Next::End), (Fault::cut_after(SECOND).abruptly(), Next::Broken)]
    {
        let started = Instant::now();
        let cut = probe.server.faults().inject(fault.of("configmaps").times(1));
        let (events, end) = probe.watch(&format!("{MAPS}?watch=1")).await.rest().await;
        assert_eq!((events.len(), end, cut.hits()), (0, expected, 1));
        assert_eq!(started.elapsed(), SECOND);
    }
}

#[tokio::test(start_paused = true)]
async fn sends_chunks_of_any_size() {
    use http_body_util::BodyExt;
    let probe = Probe::new();
    probe.make_maps(["a", "b"]).await;
    let whole = probe.get(MAPS).await;
    for size in [1, 7, 1000] {
        let fault = probe.server.faults().inject(Fault::pieces(size).times(2));
        let response = probe.send(Request::get(MAPS).body(Body::empty()).unwrap()).await;
        let mut body = response.into_body();
        while let Some(frame) = body.frame().await {
            assert!(frame.unwrap().into_data().unwrap().len() <= size);
        }
        assert_eq!(probe.get(MAPS).await, whole);
        assert_eq!(fault.hits(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn drops_and_delays_bookmarks() {
    let probe = Probe::new();
    let path = format!("{MAPS}?watch=1&allowWatchBookmarks=1&timeoutSeconds=150&resourceVersion=1");
    let dropped = probe.server.faults().inject(Fault::drop_bookmarks().times(1));
    let (events, _) = probe.watch(&path).await.rest().await;
    assert_eq!((events.len(), dropped.hits()), (0, 3));
    let delayed = probe.server.faults().inject(Fault::delay_bookmarks(30 * SECOND).times(1));
    let started = Instant::now();
    assert_eq!(probe.watch(&path).await.event().await.0, "BOOKMARK");
    assert_eq!((started.elapsed(), delayed.hits()), (90 * SECOND, 1));
}

#[tokio::test(start_paused = true)]
async fn drops_and_delays_the_end_of_the_initial_events() {
    let probe = Probe::new();
    probe.make_maps(["a"]).await;
    let dropped = probe.server.faults().inject(Fault::drop_initial_events_end().times(1));
    let (events, _) = probe.watch(&format!("{MAPS}?{STREAM}&timeoutSeconds=9")).await.rest().await;
    let kinds: Vec<_> = events.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!((kinds, dropped.hits()), (vec!["ADDED", "BOOKMARK"], 1));
    assert_eq!(events[1].1["metadata"]["annotations"], json!(null));
    let delayed = probe.server.faults().inject(Fault::delay_initial_events_end(5 * SECOND).times(1));
    let started = Instant::now();
    let mut watch = probe.watch(&format!("{MAPS}?{STREAM}")).await;
    assert_eq!(watch.says(1).await, ["ADDED a"]);
    assert!(watch.event().await.1["metadata"]["annotations"].is_object());
    assert_eq!((started.elapsed(), delayed.hits()), (5 * SECOND, 1));
}

#[tokio::test(start_paused = true)]
async fn refuses_streaming_lists() {
    let probe = Probe::new();
    let fault = probe.server.faults().inject(Fault::refuse_streaming_lists());
    assert_eq!(refusal(&probe.get(&format!("{MAPS}?{STREAM}")).await), (422, "Invalid"));
    probe.watch(&format!("{MAPS}?watch=1")).await;
    assert_eq!(fault.hits(), 1);
}

#[tokio::test(start_paused = true)]
async fn expires_continue_tokens() {
    let probe = Probe::new();
    probe.make_maps(["a", "b"]).await;
    let fault = probe.server.faults().inject(Fault::expire_continue().times(1));
    let (_, page) = probe.get(&format!("{MAPS}?limit=1")).await;
    let next = format!("{MAPS}?limit=1&continue={}", page["metadata"]["continue"].as_str().unwrap());
    let answer = probe.get(&next).await;
    assert_eq!(refusal(&answer), (410, "Expired"));
    assert!(answer.1["metadata"]["continue"].is_string());
    assert_eq!(names(&probe.get(&next).await.1), ["b"]);
    assert_eq!(fault.hits(), 1);
}

#[tokio::test(start_paused = true)]
async fn refuses_connections_and_keeps_the_data() {
    let probe = Probe::new();
    probe.make_maps(["a"]).await;
    let watch = probe.watch(&format!("{MAPS}?watch=1&resourceVersion={}", probe.server.version())).await;
    let down = probe.server.faults().inject(Fault::refuse_connections(10 * SECOND));
    assert_eq!(watch.rest().await.1, Next::Broken);
    assert!(probe.client.apiserver_version().await.is_err());
    assert_eq!(down.hits(), 1);
    tokio::time::advance(10 * SECOND).await;
    assert_eq!(names(&probe.get(MAPS).await.1), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn restarts_with_or_without_its_versions() {
    let probe = Probe::new();
    probe.make_maps(["a", "b"]).await;
    for _ in 0..20 {
        probe.delete(&format!("{MAPS}/b")).await;
        probe.make(MAPS, named("b")).await;
    }
    let before = probe.server.version();
    let watch = probe.watch(&format!("{MAPS}?watch=1&resourceVersion={before}")).await;
    probe.server.restart(Versions::Kept);
    assert_eq!((watch.rest().await.1, probe.server.version()), (Next::Broken, before));
    let watch = probe.watch(&format!("{MAPS}?watch=1&resourceVersion={before}")).await;
    probe.server.restart(Versions::Reset);
    assert_eq!(watch.rest().await.1, Next::Broken);
    assert!(probe.server.version() < before);
    let (_, list) = probe.get(MAPS).await;
    assert_eq!(names(&list), ["a", "b"]);
    assert!(
        list["items"]
            .as_array()
            .unwrap()
            .iter()
            .all(|map| crate::probe::version(map) <= probe.server.version())
    );
    probe.make_maps(["c"]).await;
}

#[tokio::test(start_paused = true)]
async fn faults_with_extreme_values_do_not_panic() {
    let probe = Probe::new();
    let faults = probe.server.faults();
    faults.inject(Fault::cut_after(Duration::MAX));
    faults.inject(Fault::delay_bookmarks(Duration::MAX));
    faults.inject(Fault::delay_initial_events_end(Duration::MAX));
    faults.inject(Fault::pieces(0));
    probe.make_maps(["a"]).await;
    assert_eq!(probe.watch(&format!("{MAPS}?{STREAM}")).await.says(1).await, ["ADDED a"]);
    faults.inject(Fault::answer(9));
    let response = probe.send(Request::get(MAPS).body(Body::empty()).unwrap()).await;
    assert_eq!(response.status(), 500);
}

#[tokio::test(start_paused = true)]
async fn cuts_all_watches_at_once() {
    let probe = Probe::new();
    let watch = probe.watch(&format!("{MAPS}?watch=1")).await;
    probe.server.cut_watches();
    assert_eq!(watch.rest().await.1, Next::Broken);
    probe.server.faults().inject(Fault::answer(500));
    probe.server.faults().clear();
    assert_eq!(probe.get(MAPS).await.0, 200);
}
