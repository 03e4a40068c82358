//! Tests of watches: recorded versions, and the reaction to their end.

use super::{
    Config, Recorder, added, bookmark, deleted, error, expired, failure, idle, list_config, modified,
    refused, start, start_into, throttled,
};
use crate::{
    source::{Error, Request, Script, ScriptedWatch},
    testing::{PodBuilder, pod, rv},
};
use k8s_openapi::api::core::v1::Pod;
use kube_informer_wire::{DecodeError, WatchEvent};
use std::time::Duration;

fn listed() -> Script<Pod> {
    Script::new().list([], 10)
}

// R21, R22
#[tokio::test(start_paused = true)]
async fn a_very_short_watch_without_events_is_a_failure() {
    let mut run = start(listed().watch(ScriptedWatch::closed([])).list([], 11).watch(idle()), list_config());
    assert_eq!(run.requests(4).await, ["LIST(0, 500)", "WATCH(10)", "LIST(10, 0)", "WATCH(11)"]);
    assert_eq!(run.errors(), ["Watch: watch lasted less than a second and no events were received"]);
    assert!(run.seconds() >= 0.8);
}

// R23
#[tokio::test(start_paused = true)]
async fn a_closed_watch_is_opened_again_immediately_from_its_version() {
    let script = listed()
        .watch(ScriptedWatch::closed([added(pod("a").version(12))]))
        .watch(ScriptedWatch::closed([]).pause(Duration::from_secs(1)))
        .watch(idle());
    let mut run = start(script, list_config());
    assert_eq!(run.requests(4).await, ["LIST(0, 500)", "WATCH(10)", "WATCH(12)", "WATCH(12)"]);
    assert!(run.seconds() < 1.1 && run.errors().is_empty());
}

/// Returns the error of an event whose object is not a pod.
fn undecodable() -> Error {
    let service = br#"{"type":"ADDED","object":{"apiVersion":"v1","kind":"Service","metadata":{"name":"s","resourceVersion":"99"}}}"#;
    let error: DecodeError = WatchEvent::<Pod>::decode(service).unwrap_err();
    Error::Event(error)
}

// R45
#[tokio::test(start_paused = true)]
async fn an_undecodable_deletion_is_delivered_without_the_final_state() {
    let deleted = br#"{"type":"DELETED","object":{"metadata":{"name":"a","resourceVersion":"12"},"spec":5}}"#;
    let error: DecodeError = WatchEvent::<Pod>::decode(deleted).unwrap_err();
    let watch = ScriptedWatch::open([]).fails(Error::Event(error));
    let script = Script::new().list([pod("a").version(9)], 10).watch(watch);
    let mut run = start(script, list_config());
    assert_eq!(run.calls(3).await, ["replace 10 [a@9]", "delete a", "version 12"]);
}

// R24, R27
#[tokio::test(start_paused = true)]
async fn records_the_version_of_the_last_event() {
    let events = [
        modified(pod("bar").version(55)),
        bookmark(60),
        deleted(pod("foo").version(61)),
        added(pod("baz").version(32)),
    ];
    let script = listed().watch(ScriptedWatch::closed(events)).watch(idle());
    let mut run = start(script, list_config());
    assert_eq!(run.requests(3).await[2], "WATCH(32)");
    let expected = ["replace 10 []", "update bar@55", "delete foo@61", "add baz@32"];
    assert_eq!(run.sink.calls(), expected);
}

// R24, R25
#[tokio::test(start_paused = true)]
async fn an_object_of_another_kind_is_skipped_and_its_version_not_recorded() {
    let script = listed().watch(ScriptedWatch::closed([]).fails(undecodable())).list([], 11).watch(idle());
    let mut run = start(script, list_config());
    // It does not count as an event, so the watch was a very short one.
    assert_eq!(run.requests(4).await, ["LIST(0, 500)", "WATCH(10)", "LIST(10, 0)", "WATCH(11)"]);
    assert!(run.errors()[0].starts_with("Watch: object s cannot be decoded at "), "{:?}", run.errors());
}

// R25
#[tokio::test(start_paused = true)]
async fn events_after_an_object_of_another_kind_are_delivered() {
    let watch = ScriptedWatch::open([]).fails(undecodable()).event(added(pod("a").version(12)));
    let mut run = start(listed().watch(watch), list_config());
    assert_eq!(run.calls(2).await, ["replace 10 []", "add a@12"]);
}

// R26, R29
#[tokio::test(start_paused = true)]
async fn an_expired_watch_leads_to_a_relist_at_its_version_or_newer() {
    let script = listed()
        .watch(ScriptedWatch::open([added(pod("a").version(12)), error(410, "Expired")]))
        .list([pod("a").version(12)], 15)
        .watch(idle());
    let mut run = start(script, list_config());
    assert_eq!(run.requests(4).await, ["LIST(0, 500)", "WATCH(10)", "LIST(12, 0)", "WATCH(15)"]);
    assert_eq!(run.errors(), ["Watch: server returned 410: it failed"]);
}

// R28
#[tokio::test(start_paused = true)]
async fn versions_of_synthetic_added_events_are_not_recorded() {
    let script = Script::new()
        .list([], 0)
        .watch(ScriptedWatch::closed([added(pod("b").version(9)), added(pod("a").version(5))]))
        .watch(ScriptedWatch::closed([
            added(pod("b").version(9)),
            modified(pod("a").version(11)),
            added(pod("c").version(12)),
        ]))
        .watch(idle());
    let mut run = start(script, list_config());
    assert_eq!(run.requests(4).await, ["LIST(0, 500)", "WATCH(0)", "WATCH(0)", "WATCH(12)"]);
}

// R30
#[tokio::test(start_paused = true)]
async fn a_throttled_or_refused_watch_is_retried_without_a_relist() {
    let script = listed()
        .watch_fails(throttled())
        .watch_fails(refused())
        .watch_fails(throttled())
        .watch_fails(refused())
        .watch(idle());
    let mut run = start(script, list_config());
    let mut expected = vec!["LIST(0, 500)"];
    expected.extend(["WATCH(10)"; 5]);
    assert_eq!(run.requests(6).await, expected);
    // Four delays: 0.8, 1.6, 3.2 and 6.4 s, each up to twice that.
    assert!((12.0..24.0).contains(&run.seconds()), "{}", run.seconds());
}

// R31
#[tokio::test(start_paused = true)]
async fn an_open_watch_that_is_throttled_is_retried_after_one_delay() {
    let script = listed()
        .watch_fails(throttled())
        .watch(ScriptedWatch::open([added(pod("a").version(12)), error(429, "TooManyRequests")]))
        .watch(idle());
    let mut run = start(script, list_config());
    assert_eq!(run.requests(4).await, ["LIST(0, 500)", "WATCH(10)", "WATCH(10)", "WATCH(12)"]);
    assert!((2.4..4.8).contains(&run.seconds()), "{}", run.seconds());
}

// R32
#[tokio::test(start_paused = true)]
async fn a_watch_that_fails_to_open_leads_to_a_relist() {
    let script = listed().watch_fails(failure(403, "Forbidden", "no")).list([], 11).watch(idle());
    let mut run = start(script, list_config());
    assert_eq!(run.requests(4).await, ["LIST(0, 500)", "WATCH(10)", "LIST(10, 0)", "WATCH(11)"]);
    assert_eq!(run.errors(), ["Watch: server returned 403: no"]);
}

/// client-go relists immediately, so a proxy that briefly loses its servers makes every client relist.
// R32
#[tokio::test(start_paused = true)]
async fn an_unanswered_watch_is_retried_three_times_before_a_relist() {
    let cut = || Error::Transport("connection reset".into());
    let unavailable =
        [failure(503, "", "no upstream"), cut(), failure(502, "", "bad gateway"), failure(504, "", "")];
    let script = unavailable.into_iter().fold(listed(), Script::watch_fails);
    let mut run = start(script.list([], 11).watch(idle()), list_config());
    let watches = ["WATCH(10)"; 4];
    assert_eq!(
        run.requests(7).await,
        [&["LIST(0, 500)"], &watches[..], &["LIST(10, 0)", "WATCH(11)"]].concat()
    );
    assert_eq!(run.errors().len(), 4);
    // A watch that opens resets the count.
    let opened = || ScriptedWatch::closed([added(pod("a").version(12))]);
    let script = [0, 1].into_iter().fold(listed(), |script, _| {
        script.watch_fails(cut()).watch_fails(cut()).watch_fails(cut()).watch(opened())
    });
    let mut run = start(script.watch(idle()), list_config());
    assert!(run.requests(10).await[1..].iter().all(|asked| asked.starts_with("WATCH")));
}

// R32
#[tokio::test(start_paused = true)]
async fn a_watch_that_never_opens_times_out_and_is_reported() {
    // A script has no response to requests beyond the last one.
    let mut run = start(listed(), list_config());
    run.until(|run| run.script.requests().len() >= 6).await;
    assert_eq!(run.all_requests(), [&["LIST(0, 500)"], &["WATCH(10)"; 4][..], &["LIST(10, 0)"]].concat());
    assert_eq!(run.errors(), ["Watch: connection to the server failed: the server did not respond"; 4]);
    assert!((4.0 * 90.0..420.0).contains(&run.seconds()), "{}", run.seconds());
    run.stop().await;
}

// R33
#[tokio::test(start_paused = true)]
async fn internal_errors_are_retried_immediately_within_the_window() {
    let failing = || ScriptedWatch::open([]).pause(Duration::from_secs(3)).event(error(500, "InternalError"));
    let script = (0..40).fold(listed(), |script, _| script.watch(failing())).list([], 11);
    let config = Config { internal_error_retry_window: Duration::from_secs(30), ..list_config() };
    let mut run = start(script, config);
    run.until(|run| run.all_requests().iter().filter(|asked| asked.starts_with("LIST")).count() == 2).await;
    let watches = run.all_requests()[1..].iter().take_while(|asked| asked.starts_with("WATCH")).count();
    assert_eq!(watches, 12, "the first watch and 11 retries in 30 seconds");
}

// R22, R33, R35
#[tokio::test(start_paused = true)]
async fn any_other_error_in_a_watch_leads_to_a_relist_that_repairs_the_cache() {
    let script = Script::new()
        .list([pod("a").version(1), pod("corrupt").version(2)], 10)
        .watch(ScriptedWatch::open([error(500, "StoreReadError")]))
        .list([pod("a").version(1)], 11)
        .watch(idle());
    let mut run = start(script, list_config());
    assert_eq!(run.requests(4).await, ["LIST(0, 500)", "WATCH(10)", "LIST(10, 0)", "WATCH(11)"]);
    assert_eq!(run.sink.calls(), ["replace 10 [a@1 corrupt@2]", "replace 11 [a@1]"]);
}

// R37
#[tokio::test(start_paused = true)]
async fn the_watch_timeout_is_random_between_the_minimum_and_twice_that_once_bookmarks_were_sent() {
    for (min, range) in [(0, 300..=600), (1, 300..=600), (1800, 1800..=3600)] {
        let config = Config { min_watch_timeout: Duration::from_secs(min), ..list_config() };
        let script = (0..201).fold(listed(), |script, _| script.watch(ScriptedWatch::closed([bookmark(10)])));
        let mut run = start(script, config);
        run.requests(202).await;
        let timeout = |request: &Request| match request {
            Request::Watch(options) => options.timeout.map(|timeout| timeout.as_secs()),
            Request::List(_) => None,
        };
        let timeouts: Vec<_> = run.script.requests().iter().filter_map(timeout).skip(1).collect();
        assert!(
            timeouts.len() >= 200 && timeouts.iter().all(|timeout| range.contains(timeout)),
            "{timeouts:?}"
        );
        let middle = (range.start() + range.end()) / 2;
        assert!(
            timeouts.iter().any(|timeout| *timeout < middle)
                && timeouts.iter().any(|timeout| *timeout > middle)
        );
    }
}

// R38: a change that the sink rejects leads to a relist.
#[tokio::test(start_paused = true)]
async fn a_change_that_the_sink_rejects_leads_to_a_relist() {
    let sink = Recorder::default();
    sink.fail_once("add a@12");
    let script = listed()
        .watch(ScriptedWatch::open([added(pod("a").version(12))]))
        .list([pod("a").version(12)], 12)
        .watch(idle());
    let mut run = start_into(script, list_config(), sink);
    assert_eq!(run.requests(4).await, ["LIST(0, 500)", "WATCH(10)", "LIST(10, 0)", "WATCH(12)"]);
    assert_eq!(run.errors(), ["Deliver: sink failed"]);
}

// R38
#[tokio::test(start_paused = true)]
async fn nothing_is_delivered_after_a_rejected_change() {
    let sink = Recorder::default();
    sink.fail_once("add b@13");
    let events = [("a", 12), ("b", 13), ("c", 14)].map(|(name, version)| added(pod(name).version(version)));
    let all = [("a", 12), ("b", 13), ("c", 14)].map(|(name, version)| pod(name).version(version));
    let script = listed().watch(ScriptedWatch::open(events)).list(all, 14).watch(idle());
    let mut run = start_into(script, list_config(), sink);
    assert_eq!(run.requests(4).await, ["LIST(0, 500)", "WATCH(10)", "LIST(10, 0)", "WATCH(14)"]);
    assert_eq!(run.sink.calls()[1..], ["add a@12", "replace 14 [a@12 b@13 c@14]"]);
}

// R39
#[tokio::test(start_paused = true)]
async fn the_version_of_an_unknown_event_type_is_recorded() {
    let unknown = WatchEvent::Unknown { kind: "RENAMED".into(), version: Some(rv(13)) };
    let watch = ScriptedWatch::closed([unknown]).pause(Duration::from_secs(1));
    let mut run = start(listed().watch(watch).watch(idle()), list_config());
    assert_eq!(run.requests(3).await[2], "WATCH(13)");
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_not_idle_is_closed_after_its_timeout_and_a_grace_period() {
    let busy = (0..100).fold(ScriptedWatch::open([bookmark(10)]), |watch, _| {
        watch.pause(Duration::from_secs(60)).event(bookmark(10))
    });
    let mut run =
        start(listed().watch(ScriptedWatch::closed([bookmark(10)])).watch(busy).watch(idle()), list_config());
    assert_eq!(run.requests(4).await, ["LIST(0, 500)", "WATCH(10)", "WATCH(10)", "WATCH(10)"]);
    assert!((330.0..=630.0).contains(&run.seconds()), "{}", run.seconds());
    assert!(run.errors().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_broken_connection_closes_the_watch() {
    let broken = Error::Transport("reset by peer".into());
    let watch = ScriptedWatch::open([added(pod("a").version(12))]).fails(broken);
    let mut run = start(listed().watch(watch).watch(idle()), list_config());
    assert_eq!(run.requests(3).await, ["LIST(0, 500)", "WATCH(10)", "WATCH(12)"]);
    assert!(run.errors().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_backoff_grows_while_lists_fail() {
    let script =
        (0..8).fold(Script::new(), |script, _| script.list_fails(expired())).list([], 1).watch(idle());
    let mut run = start(script, list_config());
    // The first two lists are one attempt, with and without a version; then 0.8, 1.6, .. 30 s, each up to twice that.
    run.requests(10).await;
    assert!((80.0..165.0).contains(&run.seconds()), "{}", run.seconds());
}
