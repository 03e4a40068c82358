//! Going on from a state that the sink had from the start.

use super::{
    Config, Recorder, Run, bookmark, expired, listing, modified, silence, start_with, throttled, too_large,
};
use crate::{
    source::{Scene, Script},
    testing::{PodBuilder, pod, rv},
};
use k8s_openapi::api::core::v1::Pod;
use std::time::Duration;

/// A reflector whose sink has the state of version 7.
fn resume(script: Script<Pod>, config: Config) -> Run {
    start_with(script, config, Recorder::default(), |reflector| reflector.resume_from(rv(7)))
}

#[tokio::test(start_paused = true)]
async fn where_nothing_happened_the_watch_goes_on_at_once() {
    let mut run = resume(Script::new().list([], 7).watch(silence()), Config::default());
    assert_eq!(run.given(1).await, ["resumed"]);
    assert_eq!(run.asked(), ["LIST(-, 1)", "WATCH(7)"]);
    assert!(run.seconds() < 0.1 && run.errors().is_empty());
}

#[tokio::test(start_paused = true)]
async fn it_has_caught_up_when_it_is_where_the_server_was() {
    let events =
        [modified(pod("a").version(8)), modified(pod("b").version(9)), modified(pod("c").version(10))];
    let mut run =
        resume(Script::new().list([pod("a").version(3)], 9).watch(Scene::open(events)), Config::default());
    let given = run.given(4).await;
    assert_eq!(given, ["update a@8", "update b@9", "update c@10", "resumed"]);
    assert!(run.seconds() < 0.1);
}

#[tokio::test(start_paused = true)]
async fn resyncs_begin_once_it_has_caught_up() {
    let config = Config { resync: Duration::from_secs(5), ..Config::default() };
    let run = resume(Script::new().list([], 7).watch(silence()), config);
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(run.sink.given(), ["resumed", "resync"]);
    let never = Config { resync: Duration::MAX, ..Config::default() };
    let mut run = resume(Script::new().list([], 7).watch(Scene::open([bookmark(8)])), never);
    assert_eq!(run.given(2).await, ["resumed", "bookmark 8"]);
}

#[tokio::test(start_paused = true)]
async fn a_bookmark_tells_so_too() {
    let mut run = resume(Script::new().list([], 9).watch(Scene::open([bookmark(9)])), Config::default());
    assert_eq!(run.given(2).await, ["bookmark 9", "resumed"]);
    assert!(run.seconds() < 0.1);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_silent_for_a_second_has_nothing_to_tell() {
    let script = Script::new().list([], 9).watch(Scene::open([modified(pod("a").version(8))]));
    let run = resume(script, Config::default());
    for (millis, given) in [(950, &["update a@8"][..]), (100, &["update a@8", "resumed"])] {
        tokio::time::sleep(Duration::from_millis(millis)).await;
        assert_eq!(run.sink.given(), given);
    }
    assert_eq!(run.asked(), ["LIST(-, 1)", "WATCH(7)"], "it is still open");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_behind_is_asked_for_everything() {
    let mut run =
        resume(Script::new().list([], 5).list([pod("a").version(4)], 5).watch(silence()), listing());
    assert_eq!(run.given(1).await, ["replace 5 [a@4]"]);
    assert_eq!(run.asked()[..2], ["LIST(-, 1)", "LIST(-, 500)"]);
    assert!(run.seconds() < 0.1);
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_forgotten_is_not_waited_for() {
    for by_event in [false, true] {
        let script = Script::new().list([], 9);
        let script = match by_event {
            false => script.watch_fails(expired()),
            true => script.watch(Scene::open([super::error(410, "Expired")])),
        };
        let mut run = resume(script.list([], 9).watch(silence()), listing());
        assert_eq!(run.given(1).await, ["replace 9 []"]);
        assert_eq!(run.asked()[..3], ["LIST(-, 1)", "WATCH(7)", "LIST(7, 0)"]);
        assert!(run.seconds() < 0.1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_version_that_has_not_come_is_not_asked_for_again() {
    let [too_large, ..] = too_large();
    let script = Script::new().list([], 9).watch_fails(too_large).list([], 9).watch(silence());
    let mut run = resume(script, listing());
    assert_eq!(run.requests(4).await, ["LIST(-, 1)", "WATCH(7)", "LIST(-, 500)", "WATCH(9)"]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_is_asked_again() {
    let script =
        Script::new().list_fails(throttled()).list_fails(super::refused()).list([], 7).watch(silence());
    let mut run = resume(script, Config::default());
    assert_eq!(run.requests(4).await, ["LIST(-, 1)", "LIST(-, 1)", "LIST(-, 1)", "WATCH(7)"]);
    assert!(run.seconds() > 1.0 && run.errors().len() == 2);
}
