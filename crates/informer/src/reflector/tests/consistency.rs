//! The consistency check of streaming lists.

use super::{Config, added, complete, failure, modified, start};
use crate::{
    reflector::{Consistency, Strategy},
    source::{Request, Script, ScriptedWatch},
    testing::{PodBuilder, pod, rv},
};
use k8s_openapi::api::core::v1::Pod;
use kube_informer_wire::VersionMatch;

fn checked() -> Config {
    Config { consistency: Consistency::Checked, ..Config::default() }
}

/// Returns a streaming list of one pod at version 2, then a change.
fn streamed() -> Script<Pod> {
    let watch = ScriptedWatch::open([added(pod("a").version(1)), complete(2), modified(pod("a").version(3))]);
    Script::new().watch(watch)
}

// R54
#[tokio::test(start_paused = true)]
async fn reports_no_differences_of_equal_lists() {
    let mut run = start(streamed().list([pod("a").version(1)], 2), checked());
    assert_eq!(run.calls(2).await, ["replace 2 [a@1]", "update a@3"]);
    assert_eq!(run.all_requests(), ["STREAM(-)", "LIST(2, 0)"]);
    let Request::List(options) = &run.script.requests()[1] else { panic!("a list") };
    assert_eq!(options.resource_version_match, Some(VersionMatch::Exact));
    assert!(run.errors().is_empty());
}

// R54
#[tokio::test(start_paused = true)]
async fn reports_differences_and_continues_the_watch() {
    let mut run = start(streamed().list([pod("a").version(2), pod("b").version(1)], 2), checked());
    assert_eq!(run.calls(2).await, ["replace 2 [a@1]", "update a@3"]);
    let differences =
        "streaming list differs from a list at version 2, missing 1 such as b, changed 1 such as a";
    assert_eq!(run.errors(), [format!("Check: {differences}")]);
}

// R54
#[tokio::test(start_paused = true)]
async fn a_failed_check_is_retried_ten_times() {
    let fails = |script: Script<Pod>| script.list_fails(failure(500, "InternalError", "no"));
    let mut run = start((0..4).fold(streamed(), |script, _| fails(script)).list([], 2), checked());
    assert_eq!(run.calls(2).await[1], "update a@3");
    assert_eq!(run.all_requests()[1..], ["LIST(2, 0)"; 5]);
    assert!(run.errors()[4].ends_with("extra 1 such as a"), "{:?}", run.errors());
    let mut run = start((0..20).fold(streamed(), |script, _| fails(script)), checked());
    assert_eq!(run.calls(2).await[1], "update a@3");
    assert_eq!(run.all_requests()[1..], ["LIST(2, 0)"; 10]);
}

// R54
#[tokio::test(start_paused = true)]
async fn checks_only_streaming_lists_and_only_if_configured() {
    let mut run = start(streamed(), Config::default());
    run.calls(2).await;
    assert_eq!(run.all_requests(), ["STREAM(-)"]);
    let listed = Config { strategy: Strategy::List, ..checked() };
    let mut run = start(Script::new().list([], 2).watch(ScriptedWatch::open([complete(4)])), listed);
    run.until(|run| run.status.borrow().version == Some(rv(4))).await;
    run.stop().await;
    assert_eq!(run.all_requests(), ["LIST(0, 500)", "WATCH(2)"]);
}
