//! Resuming from a restored version.

use super::{
    Config, Recorder, Run, bookmark, expired, idle, list_config, modified, start_with, throttled, too_large,
};
use crate::{
    source::{Request, Script, ScriptedWatch},
    testing::{PodBuilder, pod, rv},
};
use k8s_openapi::api::core::v1::Pod;
use std::time::Duration;

/// Starts a reflector whose sink has the state at version 7.
fn resume(script: Script<Pod>, config: Config) -> Run {
    start_with(script, config, Recorder::default(), |reflector| reflector.resume_from(rv(7)))
}

#[tokio::test(start_paused = true)]
async fn resumes_immediately_if_nothing_changed() {
    let mut run = resume(Script::new().list([], 7).watch(idle()), Config::default());
    assert_eq!(run.calls(1).await, ["resumed"]);
    assert_eq!(run.all_requests(), ["LIST(-, 1)", "WATCH(7)"]);
    assert!(run.seconds() < 0.1 && run.errors().is_empty());
}

#[tokio::test(start_paused = true)]
async fn has_caught_up_once_it_reaches_the_probed_version() {
    let events =
        [modified(pod("a").version(8)), modified(pod("b").version(9)), modified(pod("c").version(10))];
    let mut run = resume(
        Script::new().list([pod("a").version(3)], 9).watch(ScriptedWatch::open(events)),
        Config::default(),
    );
    let calls = run.calls(4).await;
    assert_eq!(calls, ["update a@8", "update b@9", "update c@10", "resumed"]);
    assert!(run.seconds() < 0.1);
}

#[tokio::test(start_paused = true)]
async fn resyncs_start_once_it_has_caught_up() {
    let config = Config { resync: Duration::from_secs(5), ..Config::default() };
    let run = resume(Script::new().list([], 7).watch(idle()), config);
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(run.sink.calls(), ["resumed", "resync"]);
    let never = Config { resync: Duration::MAX, ..Config::default() };
    let mut run = resume(Script::new().list([], 7).watch(ScriptedWatch::open([bookmark(8)])), never);
    assert_eq!(run.calls(2).await, ["resumed", "version 8"]);
}

#[tokio::test(start_paused = true)]
async fn has_caught_up_once_a_bookmark_has_the_probed_version() {
    let mut run =
        resume(Script::new().list([], 9).watch(ScriptedWatch::open([bookmark(9)])), Config::default());
    assert_eq!(run.calls(2).await, ["version 9", "resumed"]);
    assert!(run.seconds() < 0.1);
}

#[tokio::test(start_paused = true)]
async fn has_not_caught_up_while_the_watch_is_silent_below_the_probed_version() {
    let silent = ScriptedWatch::closed([modified(pod("a").version(8))])
        .pause(Duration::from_secs(3))
        .event(bookmark(9));
    let mut run = resume(Script::new().list([], 9).watch(silent), Config::default());
    tokio::time::sleep(Duration::from_millis(2900)).await;
    assert_eq!(run.sink.calls(), ["update a@8"]);
    assert_eq!(run.calls(3).await, ["update a@8", "version 9", "resumed"]);
    let Request::Watch(options) = &run.script.requests()[1] else { panic!("a watch") };
    assert_eq!(options.timeout, Some(Duration::from_secs(5)), "a bookmark is sent before the watch ends");
}

#[tokio::test(start_paused = true)]
async fn relists_if_three_watches_do_not_reach_the_probed_version() {
    let quiet = || ScriptedWatch::closed([]).pause(Duration::from_secs(5));
    let script = Script::new().list([], 9).watch(quiet()).watch(quiet()).watch(quiet());
    let mut run = resume(script.list([pod("a").version(8)], 9).watch(idle()), list_config());
    assert_eq!(run.calls(1).await, ["replace 9 [a@8]"]);
    assert_eq!(run.all_requests()[..5], ["LIST(-, 1)", "WATCH(7)", "WATCH(7)", "WATCH(7)", "LIST(7, 0)"]);
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_reached_needs_no_short_watch() {
    let mut run = resume(Script::new().list([], 7).watch(idle()), Config::default());
    run.calls(1).await;
    let Request::Watch(options) = &run.script.requests()[1] else { panic!("a watch") };
    assert!(options.timeout > Some(Duration::from_secs(60)));
}

#[tokio::test(start_paused = true)]
async fn relists_if_the_server_is_behind() {
    let mut run =
        resume(Script::new().list([], 5).list([pod("a").version(4)], 5).watch(idle()), list_config());
    assert_eq!(run.calls(1).await, ["replace 5 [a@4]"]);
    assert_eq!(run.all_requests()[..2], ["LIST(-, 1)", "LIST(-, 500)"]);
    assert!(run.seconds() < 0.1);
}

#[tokio::test(start_paused = true)]
async fn relists_without_a_wait_if_the_version_expired() {
    let probed = || Script::new().list([], 9);
    for script in
        [probed().watch_fails(expired()), probed().watch(ScriptedWatch::open([super::error(410, "Expired")]))]
    {
        let mut run = resume(script.list([], 9).watch(idle()), list_config());
        assert_eq!(run.calls(1).await, ["replace 9 []"]);
        assert_eq!(run.all_requests()[..3], ["LIST(-, 1)", "WATCH(7)", "LIST(7, 0)"]);
        assert!(run.seconds() < 0.1);
    }
}

#[tokio::test(start_paused = true)]
async fn relists_without_a_version_if_it_is_too_large() {
    let [too_large, ..] = too_large();
    let script = Script::new().list([], 9).watch_fails(too_large).list([], 9).watch(idle());
    let mut run = resume(script, list_config());
    assert_eq!(run.requests(4).await, ["LIST(-, 1)", "WATCH(7)", "LIST(-, 500)", "WATCH(9)"]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_probe_is_retried() {
    let script = Script::new().list_fails(throttled()).list_fails(super::refused()).list([], 7).watch(idle());
    let mut run = resume(script, Config::default());
    assert_eq!(run.requests(4).await, ["LIST(-, 1)", "LIST(-, 1)", "LIST(-, 1)", "WATCH(7)"]);
    assert!(run.seconds() > 1.0 && run.errors().len() == 2);
}
