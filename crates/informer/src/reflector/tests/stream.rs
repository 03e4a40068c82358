//! Streaming lists.

use super::{
    Config, Strategy, added, bookmark, complete, deleted, error, expired, failure, idle, modified, refused,
    start, throttled,
};
use crate::{
    source::{Request, Script, ScriptedWatch},
    testing::{PodBuilder, pod},
};
use k8s_openapi::api::core::v1::Pod;
use kube_informer_wire::{VersionMatch, WatchEvent};
use std::time::Duration;

// R41, R42
#[tokio::test(start_paused = true)]
async fn streams_the_initial_list_and_continues_with_the_same_watch() {
    let watch = ScriptedWatch::open([added(pod("p1").version(1)), added(pod("p2").version(2)), complete(2)])
        .event(modified(pod("p1").version(3)));
    let mut run = start(Script::new().watch(watch), Config::default());
    assert_eq!(run.calls(2).await, ["replace 2 [p1@1 p2@2]", "update p1@3"]);
    assert_eq!(run.all_requests(), ["STREAM(-)"]);
    let Request::Watch(options) = &run.script.requests()[0] else { panic!("a watch") };
    assert_eq!(options.resource_version_match, Some(VersionMatch::NotOlderThan));
    assert!(options.allow_watch_bookmarks && options.timeout.is_some());
}

// R43, R44
#[tokio::test(start_paused = true)]
async fn delivers_nothing_before_the_initial_list_is_complete() {
    let watch = ScriptedWatch::open([added(pod("p1").version(1)), bookmark(2)])
        .pause(Duration::from_secs(50))
        .event(bookmark(3));
    let mut run = start(Script::new().watch(watch), Config::default());
    tokio::time::advance(Duration::from_secs(55)).await;
    run.stop().await;
    assert!(run.sink.calls().is_empty());
}

// R45
#[tokio::test(start_paused = true)]
async fn changes_before_completion_are_part_of_the_initial_list() {
    let watch = ScriptedWatch::open([
        added(pod("p1").version(1)),
        added(pod("p2").version(2)),
        modified(pod("p1").version(3)),
        added(pod("p3").version(4)),
        deleted(pod("p3").version(5)),
        complete(5),
    ]);
    let mut run = start(Script::new().watch(watch), Config::default());
    assert_eq!(run.calls(1).await, ["replace 5 [p1@3 p2@2]"]);
}

// R46
#[tokio::test(start_paused = true)]
async fn falls_back_to_list_immediately_and_tries_to_stream_on_the_next_relist() {
    for refusal in
        [failure(422, "Invalid", "no"), failure(400, "BadRequest", "no"), failure(500, "InternalError", "no")]
    {
        let script = Script::new().watch_fails(refusal).list([pod("a").version(1)], 1).watch_fails(expired());
        let mut run = start(script, Config::default());
        assert_eq!(run.requests(4).await, ["STREAM(-)", "LIST(0, 500)", "WATCH(1)", "STREAM(1)"]);
        assert!(run.seconds() < 1.7, "one delay, before the relist");
    }
}

// R46
#[tokio::test(start_paused = true)]
async fn falls_back_to_list_on_an_error_event() {
    let watch = ScriptedWatch::open([added(pod("half").version(1)), error(500, "InternalError")]);
    let mut run = start(Script::new().watch(watch).list([pod("a").version(2)], 2), Config::default());
    assert_eq!(run.requests(3).await, ["STREAM(-)", "LIST(0, 500)", "WATCH(2)"]);
    assert_eq!(run.sink.calls(), ["replace 2 [a@2]"]);
}

// R47
#[tokio::test(start_paused = true)]
async fn a_throttled_or_refused_stream_is_retried_after_a_delay() {
    let script = Script::new()
        .watch_fails(throttled())
        .watch_fails(refused())
        .watch(ScriptedWatch::open([complete(1)]));
    let mut run = start(script, Config::default());
    assert_eq!(run.calls(1).await, ["replace 1 []"]);
    assert_eq!(run.all_requests(), ["STREAM(-)"; 3]);
    assert!((2.4..4.8).contains(&run.seconds()));
}

// R48: with a delay, and at most three times.
#[tokio::test(start_paused = true)]
async fn an_interrupted_stream_is_retried_and_the_third_falls_back_to_list() {
    let early = || ScriptedWatch::closed([added(pod("half").version(1))]);
    let script =
        Script::new().watch(early()).watch(ScriptedWatch::open([added(pod("a").version(2)), complete(2)]));
    let mut run = start(script, Config::default());
    assert_eq!(run.calls(1).await, ["replace 2 [a@2]"], "objects of the interrupted stream are discarded");
    assert!((0.8..1.6).contains(&run.seconds()));
    let script = Script::new().watch(early()).watch(early()).watch(early()).list([], 3).watch(idle());
    let mut run = start(script, Config::default());
    assert_eq!(run.requests(5).await, ["STREAM(-)", "STREAM(-)", "STREAM(-)", "LIST(0, 500)", "WATCH(3)"]);
    assert_eq!(run.errors(), ["Stream: streaming list ended before it was complete"; 3]);
}

/// If a proxy drops the end bookmark, client-go waits forever.
// A9
#[tokio::test(start_paused = true)]
async fn a_stream_without_an_end_bookmark_times_out() {
    let endless = ScriptedWatch::open([added(pod("a").version(1))]);
    let mut run = start(Script::new().watch(endless).list([pod("a").version(1)], 3), Config::default());
    assert_eq!(run.requests(3).await, ["STREAM(-)", "LIST(0, 500)", "WATCH(3)"]);
    assert!((60.0..61.0).contains(&run.seconds()), "{}", run.seconds());
}

/// A source that decodes objects itself reports the deletion of an undecodable object out of band.
// R45
#[tokio::test(start_paused = true)]
async fn an_undecodable_deletion_before_completion_removes_the_object() {
    let decode = |event: &[u8]| crate::source::Error::Event(WatchEvent::<Pod>::decode(event).unwrap_err());
    let deleted =
        decode(br#"{"type":"DELETED","object":{"metadata":{"name":"a","resourceVersion":"2"},"spec":5}}"#);
    let watch = ScriptedWatch::open([added(pod("a").version(1))]).fails(deleted).event(complete(2));
    let mut run = start(Script::new().watch(watch), Config::default());
    assert_eq!(run.calls(1).await, ["replace 2 []"]);
}

#[tokio::test(start_paused = true)]
async fn stream_only_does_not_fall_back_to_list() {
    let only = || Config { strategy: Strategy::StreamOnly, ..Config::default() };
    let early = || ScriptedWatch::closed([added(pod("half").version(1))]);
    let complete_stream = || ScriptedWatch::open([added(pod("a").version(2)), complete(2)]);
    let refused = Script::new().watch_fails(failure(422, "Invalid", "no")).watch(complete_stream());
    let within =
        Script::new().watch(ScriptedWatch::open([error(500, "InternalError")])).watch(complete_stream());
    let broken = Script::new().watch(early()).watch(early()).watch(early()).watch(complete_stream());
    for (script, streams) in [(refused, 2), (within, 2), (broken, 4)] {
        let mut run = start(script, only());
        assert_eq!(run.calls(1).await, ["replace 2 [a@2]"]);
        assert_eq!(run.all_requests(), vec!["STREAM(-)"; streams]);
        assert!(run.seconds() > 0.7, "there is a delay before the retry");
    }
}

// R49
#[tokio::test(start_paused = true)]
async fn a_stream_drops_an_expired_version_without_a_wait() {
    let script = Script::new()
        .watch(ScriptedWatch::closed([complete(7)]))
        .watch_fails(expired())
        .watch_fails(expired())
        .watch(ScriptedWatch::open([complete(9)]));
    let mut run = start(script, Config::default());
    assert_eq!(run.calls(2).await, ["replace 7 []", "replace 9 []"]);
    assert_eq!(run.all_requests(), ["STREAM(-)", "WATCH(7)", "STREAM(7)", "STREAM(-)"]);
}

// R50
#[tokio::test(start_paused = true)]
async fn an_expired_watch_leads_to_a_new_stream() {
    let script = Script::new()
        .watch(ScriptedWatch::closed([complete(3)]))
        .watch_fails(expired())
        .watch(ScriptedWatch::open([complete(5)]));
    let mut run = start(script, Config::default());
    assert_eq!(run.calls(2).await, ["replace 3 []", "replace 5 []"]);
    assert_eq!(run.all_requests(), ["STREAM(-)", "WATCH(3)", "STREAM(3)"]);
    assert_eq!(run.errors(), ["Watch: server returned 410: too old resource version"]);
}

// R51
#[tokio::test(start_paused = true)]
async fn only_the_end_bookmark_sets_the_version() {
    let script = Script::new().watch(ScriptedWatch::open([added(pod("a").version(9)), bookmark(8)]));
    let mut run = start(script, Config::default());
    tokio::time::advance(Duration::from_secs(5)).await;
    run.stop().await;
    assert_eq!(run.status.borrow().version, None);
    let script = Script::new().watch(ScriptedWatch::open([added(pod("a").version(9)), complete(2)]));
    let mut run = start(script, Config::default());
    run.until(|run| run.status.borrow().version.is_some()).await;
    assert_eq!(run.status.borrow().version, Some(crate::testing::rv(2)));
}

// R40
#[tokio::test(start_paused = true)]
async fn streams_only_if_configured_and_supported_by_the_source() {
    use crate::source::{FromFns, ListerWatcher, Page, Watch};
    let source = || {
        FromFns::new(
            |_| async { Ok(Page::<Pod> { items: Vec::new(), version: None, continue_token: None }) },
            |_| async { Ok(Watch::new(futures_util::stream::pending())) },
        )
    };
    assert!(ListerWatcher::<Pod>::can_stream_lists(&source().with_streaming_lists()));
    assert!(!ListerWatcher::<Pod>::can_stream_lists(&source()));
    for (strategy, streams) in [(Strategy::Stream, true), (Strategy::List, false)] {
        let mut run = start(Script::new(), Config { strategy, ..Config::default() });
        assert_eq!(run.requests(1).await[0].starts_with("STREAM"), streams);
    }
    let reflector = super::Reflector::with_config(source(), super::Recorder::default(), Config::default());
    let mut status = reflector.status();
    let cancel = tokio_util::sync::CancellationToken::new();
    let task = tokio::spawn(reflector.run(cancel.clone()));
    status.wait_for(|status| status.counts.watches == 1).await.unwrap();
    assert_eq!((status.borrow().counts.lists, status.borrow().counts.streams), (1, 0));
    cancel.cancel();
    task.await.unwrap();
}
