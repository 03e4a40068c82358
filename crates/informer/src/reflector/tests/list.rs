//! Lists and relists: versions and pages.

use super::{Config, Recorder, expired, failure, idle, list_config, start, start_into, too_large};
use crate::{
    source::{Error, Request, Script, ScriptedWatch},
    testing::{PodBuilder, pod},
};
use k8s_openapi::api::core::v1::Pod;
use std::{num::NonZeroU64, time::Duration};

fn pods(count: usize) -> Vec<Pod> {
    (0..count).map(|number| pod(&format!("p{number}")).version(1)).collect()
}

fn pages_of_four() -> Config {
    Config { page_size: NonZeroU64::new(4), ..list_config() }
}

// R1
#[tokio::test(start_paused = true)]
async fn lists_at_any_version_then_watches_from_the_list_version() {
    let mut run = start(Script::new().list([pod("a").version(1)], 1).watch(idle()), list_config());
    assert_eq!(run.requests(2).await, ["LIST(0, 500)", "WATCH(1)"]);
    let requests = run.script.requests();
    let (Request::List(list), Request::Watch(watch)) = (&requests[0], &requests[1]) else {
        panic!("{requests:?}")
    };
    assert_eq!(list.resource_version_match, None);
    assert!(watch.allow_watch_bookmarks && watch.timeout.is_some());
    assert_eq!((watch.send_initial_events, watch.resource_version_match), (None, None));
}

// R2, R8, R32, R50
#[tokio::test(start_paused = true)]
async fn relists_in_a_single_response_at_its_version_or_newer() {
    let script = Script::new().list(pods(4), 10).watch_fails(expired()).list(pods(8), 12).watch(idle());
    let mut run = start(script, list_config());
    assert_eq!(run.requests(4).await, ["LIST(0, 500)", "WATCH(10)", "LIST(10, 0)", "WATCH(12)"]);
    let calls = run.sink.calls();
    assert_eq!(calls.iter().map(|call| call.split_whitespace().count() - 2).collect::<Vec<_>>(), [4, 8]);
    assert_eq!(run.errors(), ["Watch: server returned 410: too old resource version"]);
}

// R3, R5
#[tokio::test(start_paused = true)]
async fn an_expired_version_is_dropped_without_a_wait_and_only_once() {
    let script = Script::new()
        .list([], 10)
        .watch_fails(expired())
        .list_fails(expired())
        .list([], 20)
        .watch_fails(expired())
        .list([], 30)
        .watch(idle());
    let mut run = start(script, list_config());
    let requests = run.requests(7).await;
    let lists: Vec<_> = requests.iter().filter(|requests| requests.starts_with("LIST")).collect();
    assert_eq!(lists, ["LIST(0, 500)", "LIST(10, 0)", "LIST(-, 500)", "LIST(20, 0)"]);
    // Two delays of the backoff, 0.8 s and 1.6 s and up to twice that, and none between the two lists.
    assert!((2.4..4.8).contains(&run.seconds()), "{}", run.seconds());
}

// R4, R5
#[tokio::test(start_paused = true)]
async fn a_too_large_version_is_dropped_in_each_of_its_encodings() {
    let script =
        too_large().into_iter().enumerate().fold(Script::new().list([], 20), |script, (turn, too_large)| {
            let version = 30 + 10 * turn as u64;
            script.watch_fails(expired()).list_fails(too_large).list([], version)
        });
    let mut run = start(script.watch(idle()), list_config());
    let requests = run.requests(11).await;
    let lists: Vec<_> =
        requests.iter().filter(|requests| requests.starts_with("LIST")).map(String::as_str).collect();
    let unversioned = "LIST(-, 500)";
    assert_eq!(
        lists,
        ["LIST(0, 500)", "LIST(20, 0)", unversioned, "LIST(30, 0)", unversioned, "LIST(40, 0)", unversioned]
    );
}

// R6
#[tokio::test(start_paused = true)]
async fn an_expired_page_leads_to_a_full_list_in_a_single_response() {
    let script = Script::new()
        .list(pods(4), 10)
        .watch_fails(expired())
        .page(pods(4), 10, Some("C1"))
        .list_fails(expired())
        .list(pods(8), 10)
        .watch(idle());
    let mut run = start(script, pages_of_four());
    let expected = ["LIST(0, 4)", "WATCH(10)", "LIST(10, 4)", "LIST(-, 4, C1)", "LIST(10, 0)", "WATCH(10)"];
    assert_eq!(run.requests(6).await, expected);
    assert_eq!(
        run.sink.calls()[1].split_whitespace().count(),
        10,
        "pages before the expired one are discarded"
    );
}

// R7
#[tokio::test(start_paused = true)]
async fn a_configured_page_size_applies_to_every_page() {
    let script = Script::new()
        .page(pods(4), 10, Some("C1"))
        .page(pods(4), 10, Some("C2"))
        .list(pods(2), 10)
        .watch(idle());
    let mut run = start(script, pages_of_four());
    assert_eq!(run.requests(4).await, ["LIST(0, 4)", "LIST(-, 4, C1)", "LIST(-, 4, C2)", "WATCH(10)"]);
    assert_eq!(run.sink.calls()[0].split_whitespace().count(), 2 + 10);
}

// R9
#[tokio::test(start_paused = true)]
async fn relists_in_pages_if_the_first_list_was_paged() {
    let script =
        Script::new().page(pods(2), 10, Some("C1")).list(pods(2), 10).watch_fails(expired()).list([], 11);
    let mut run = start(script, list_config());
    let expected = ["LIST(0, 500)", "LIST(-, 500, C1)", "WATCH(10)", "LIST(10, 500)", "WATCH(11)"];
    assert_eq!(run.requests(5).await, expected);
}

// R10
#[tokio::test(start_paused = true)]
async fn paging_of_a_list_without_a_version_does_not_affect_relists() {
    let script = Script::new()
        .list([], 10)
        .watch_fails(expired())
        .list_fails(expired())
        .page(pods(2), 20, Some("C1"))
        .list(pods(2), 20)
        .watch_fails(expired())
        .list([], 30);
    let mut run = start(script, list_config());
    assert_eq!(run.requests(8).await[6], "LIST(20, 0)");
}

// R11
#[tokio::test(start_paused = true)]
async fn a_failed_list_is_reported_and_retried_after_a_delay() {
    let script = Script::new().list_fails(failure(403, "Forbidden", "no")).list([], 5).watch(idle());
    let mut run = start(script, list_config());
    assert_eq!(run.requests(3).await, ["LIST(0, 500)", "LIST(0, 500)", "WATCH(5)"]);
    assert_eq!(run.errors(), ["List: server returned 403: no"]);
    assert!((0.8..1.6).contains(&run.seconds()), "{}", run.seconds());
}

// R12
#[tokio::test(start_paused = true)]
async fn the_version_of_a_list_is_recorded_only_if_the_sink_accepts_it() {
    let sink = Recorder::default();
    sink.fail_once("replace 5");
    let script = Script::new().list([pod("a").version(5)], 5).list([pod("a").version(6)], 6).watch(idle());
    let mut run = start_into(script, list_config(), sink);
    assert_eq!(run.requests(3).await, ["LIST(0, 500)", "LIST(0, 500)", "WATCH(6)"]);
    assert_eq!(run.sink.calls(), ["replace 6 [a@6]"]);
    assert_eq!(run.errors(), ["Deliver: sink failed"]);
}

// R13
#[tokio::test(start_paused = true)]
async fn stopping_during_a_list_delivers_nothing() {
    let mut run = start(Script::new(), list_config());
    assert_eq!(run.requests(1).await, ["LIST(0, 500)"]);
    assert!(run.sink.calls().is_empty() && run.errors().is_empty());
}

/// Returns an error that asks to repeat the request after some seconds.
fn later(code: u16, seconds: u64) -> Error {
    let Error::Status { status, .. } = failure(code, "", "later") else { panic!("a status") };
    Error::Status { status, retry_after: Some(Duration::from_secs(seconds)) }
}

// A3
#[tokio::test(start_paused = true)]
async fn a_refused_page_is_requested_again() {
    for refusal in [failure(429, "TooManyRequests", "slow down"), later(429, 1), later(503, 1), later(500, 1)]
    {
        let script = Script::new()
            .page(pods(4), 10, Some("C1"))
            .list_fails(refusal)
            .list_fails(later(429, 1))
            .page(pods(4), 10, Some("C2"))
            .list(pods(1), 10)
            .watch(idle());
        let mut run = start(script, pages_of_four());
        let expected = [
            "LIST(0, 4)",
            "LIST(-, 4, C1)",
            "LIST(-, 4, C1)",
            "LIST(-, 4, C1)",
            "LIST(-, 4, C2)",
            "WATCH(10)",
        ];
        assert_eq!(run.requests(6).await, expected);
        assert_eq!(run.sink.calls()[0].split_whitespace().count(), 2 + 9, "no page is lost or repeated");
        assert!((1.8..6.0).contains(&run.seconds()), "{}", run.seconds());
    }
}

// A3
#[tokio::test(start_paused = true)]
async fn a_page_that_is_refused_too_often_restarts_the_list() {
    let script = (0..6)
        .fold(Script::new().page(pods(4), 10, Some("C1")), |script, _| script.list_fails(later(429, 1)));
    let mut run = start(script, pages_of_four());
    let requests = run.requests(8).await;
    assert_eq!(requests, [&["LIST(0, 4)"], &["LIST(-, 4, C1)"; 6][..], &["LIST(0, 4)"]].concat());
}

// A3
#[tokio::test(start_paused = true)]
async fn a_page_that_fails_without_retry_after_restarts_the_list() {
    for failed in
        [failure(500, "InternalError", "no"), failure(503, "", "no"), Error::Transport("cut".into())]
    {
        let script =
            Script::new().page(pods(4), 10, Some("C1")).list_fails(failed).list([], 11).watch(idle());
        let mut run = start(script, pages_of_four());
        assert_eq!(run.requests(4).await, ["LIST(0, 4)", "LIST(-, 4, C1)", "LIST(0, 4)", "WATCH(11)"]);
    }
}

/// 200 pages of which each is refused with a probability of 1 %: 202 requests instead of about 650 with a restart of the list.
// A3
#[tokio::test(start_paused = true)]
async fn refused_pages_hardly_add_requests_to_a_long_list() {
    let script = (0..199).fold(Script::new(), |script, page| {
        let script = if page % 100 == 50 { script.list_fails(later(429, 1)) } else { script };
        script.page(pods(1), 10, Some(&format!("C{page}")))
    });
    let mut run = start(script.list(pods(1), 10).watch(idle()), pages_of_four());
    assert_eq!(run.requests(203).await.iter().filter(|requests| requests.starts_with("LIST")).count(), 202);
}

#[tokio::test(start_paused = true)]
async fn a_list_whose_pages_do_not_end_fails() {
    let repeated = (0..6).fold(Script::new(), |script, _| script.page(pods(4), 10, Some("C1")));
    let empty = (0..6).fold(Script::new(), |script, page| script.page([], 10, Some(&format!("C{page}"))));
    for script in [repeated, empty] {
        let mut run = start(script, pages_of_four());
        run.until(|run| !run.errors().is_empty()).await;
        let expected = "List: list does not end: the server sent 5 pages in succession without progress";
        assert_eq!(run.errors(), [expected]);
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_falls_back_from_an_expired_page_once() {
    let script = Script::new()
        .page(pods(4), 10, Some("C1"))
        .list_fails(expired())
        .page(pods(4), 10, Some("C2"))
        .list_fails(expired())
        .list([], 12)
        .watch(idle());
    let mut run = start(script, pages_of_four());
    let expected =
        ["LIST(0, 4)", "LIST(-, 4, C1)", "LIST(0, 0)", "LIST(-, 4, C2)", "LIST(-, 4)", "WATCH(12)"];
    assert_eq!(run.requests(6).await, expected);
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_respected() {
    let busy = later(503, 100);
    let mut run =
        start(Script::new().list_fails(busy).list([], 1).watch(ScriptedWatch::open([])), list_config());
    run.requests(3).await;
    assert!((100.0..101.0).contains(&run.seconds()), "{}", run.seconds());
}
