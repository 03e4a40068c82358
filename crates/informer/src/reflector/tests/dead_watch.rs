//! Watches without data, and versions that the server does not have.

use super::{Config, Run, Strategy, added, bookmark, complete, idle, list_config, start};
use crate::{
    source::{Request, Script, ScriptedWatch},
    testing::{PodBuilder, pod},
};
use k8s_openapi::api::core::v1::Pod;
use kube_informer_wire::WatchEvent;
use std::time::Duration;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn idle_timeout(timeout: u64) -> Config {
    Config { idle_timeout: seconds(timeout), ..list_config() }
}

/// Returns the timeouts that were requested for watches, in seconds.
fn timeouts(run: &Run) -> Vec<u64> {
    let timeout = |request: &Request| match request {
        Request::Watch(options) => options.timeout.map(|timeout| timeout.as_secs()),
        Request::List(_) => None,
    };
    run.script.requests().iter().filter_map(timeout).collect()
}

// A2
#[tokio::test(start_paused = true)]
async fn a_watch_that_is_silent_after_a_bookmark_is_opened_again_within_90_seconds() {
    let script = Script::new().list([], 10).watch(ScriptedWatch::open([bookmark(12)])).watch(idle());
    let mut run = start(script, list_config());
    assert_eq!(run.requests(3).await, ["LIST(0, 500)", "WATCH(10)", "WATCH(12)"]);
    assert!((89.0..=90.1).contains(&run.seconds()), "{}", run.seconds());
    assert_eq!(run.errors(), ["Watch: watch received no data for the idle timeout"]);
}

// A2
#[tokio::test(start_paused = true)]
async fn a_streamed_list_whose_watch_dies_is_watched_again_within_90_seconds() {
    let script = Script::new().watch(ScriptedWatch::open([complete(7)])).watch(idle());
    let mut run = start(script, Config::default());
    assert_eq!(run.requests(2).await, ["STREAM(-)", "WATCH(7)"]);
    assert!((89.0..=90.1).contains(&run.seconds()), "{}", run.seconds());
}

// A2
#[tokio::test(start_paused = true)]
async fn a_connection_that_dies_before_the_first_bookmark_is_noticed_within_90_seconds() {
    let mut run = start(Script::new().list([], 10).watch(idle()).watch(idle()), list_config());
    assert_eq!(run.requests(3).await, ["LIST(0, 500)", "WATCH(10)", "WATCH(10)"]);
    assert!((89.0..=90.1).contains(&run.seconds()), "{}", run.seconds());
    assert_eq!(timeouts(&run), [81, 81], "the server ends a quiet watch before it is considered dead");
}

// A2
#[tokio::test(start_paused = true)]
async fn the_server_ends_quiet_watches_of_a_source_without_bookmarks() {
    let quiet = || ScriptedWatch::closed([]).pause(seconds(81));
    let script = (0..20).fold(Script::new().list([], 10), |script, _| script.watch(quiet()));
    let mut run = start(script, list_config());
    run.requests(20).await;
    assert!(run.errors().is_empty());
    assert!(timeouts(&run).iter().all(|timeout| *timeout == 81));
}

// A2
#[tokio::test(start_paused = true)]
async fn an_idle_timeout_below_the_bookmark_interval_is_requested_from_the_server() {
    for (idle_timeout_seconds, expected) in [(20, 18), (75, 67), (0, 9)] {
        let script = Script::new()
            .list([], 10)
            .watch(ScriptedWatch::closed([bookmark(11)]))
            .watch(idle())
            .watch(idle());
        let mut run = start(script, idle_timeout(idle_timeout_seconds));
        run.requests(4).await;
        assert_eq!(timeouts(&run)[..2], [expected; 2]);
        let idle = f64::from(u32::try_from(idle_timeout_seconds.max(10)).unwrap());
        assert!((idle - 0.1..=idle + 0.1).contains(&run.seconds()), "{}", run.seconds());
    }
}

// A2
#[tokio::test(start_paused = true)]
async fn events_and_bookmarks_keep_a_watch_alive() {
    let watch = ScriptedWatch::open([bookmark(11)])
        .pause(seconds(80))
        .event(added(pod("a").version(12)))
        .pause(seconds(80))
        .event(bookmark(13))
        .pause(seconds(80))
        .event(bookmark(14));
    let script =
        Script::new().list([], 10).watch(ScriptedWatch::closed([bookmark(10)])).watch(watch).watch(idle());
    let mut run = start(script, list_config());
    assert_eq!(run.requests(4).await[3], "WATCH(14)");
    assert!((329.0..=330.1).contains(&run.seconds()), "{}", run.seconds());
}

// A2
#[tokio::test(start_paused = true)]
async fn the_status_shows_the_time_since_the_last_data() {
    let mut run = start(Script::new().list([], 10).watch(ScriptedWatch::open([bookmark(12)])), list_config());
    assert_eq!(run.status.borrow().since_last_data(), None);
    run.until(|run| run.sink.calls().len() == 2).await;
    tokio::time::sleep(seconds(60)).await;
    let since = run.status.borrow().since_last_data().unwrap();
    assert!((seconds(59)..=seconds(61)).contains(&since), "{since:?}");
}

/// Some proxies send the headers of a response with its first event.
#[tokio::test(start_paused = true)]
async fn a_quiet_watch_whose_headers_arrive_with_the_first_bookmark_causes_no_error() {
    use crate::source::{FromFns, Page, Watch};
    use futures_util::stream;
    use std::sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    };
    let lists = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&lists);
    let list = move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        async {
            Ok(Page::<Pod> { items: Vec::new(), version: Some(crate::testing::rv(10)), continue_token: None })
        }
    };
    let watch = |options: kube_informer_wire::WatchOptions| async move {
        let timeout = options.timeout.unwrap();
        let first = timeout.saturating_sub(seconds(2)).min(seconds(75));
        tokio::time::sleep(first).await;
        let bookmark: WatchEvent<Pod> = bookmark(11);
        Ok(Watch::new(stream::iter([Ok(bookmark)])))
    };
    let errors = Arc::new(Mutex::new(Vec::new()));
    let reported = Arc::clone(&errors);
    let reflector =
        super::Reflector::with_config(FromFns::new(list, watch), super::Recorder::default(), list_config())
            .on_error(move |report| reported.lock().unwrap().push(report.cause.to_string()));
    let cancel = tokio_util::sync::CancellationToken::new();
    let task = tokio::spawn(reflector.run(cancel.clone()));
    tokio::time::sleep(seconds(3600)).await;
    assert_eq!((lists.load(Ordering::Relaxed), errors.lock().unwrap().len()), (1, 0));
    cancel.cancel();
    task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_version_that_the_server_cannot_have_reached_is_not_recorded() {
    let absurd =
        |version: &str| WatchEvent::Bookmark { version: version.parse().unwrap(), initial_events_end: false };
    for version in ["abc", "999999999999999999", &"9".repeat(60)] {
        let script = Script::new()
            .list([], 10)
            .watch(ScriptedWatch::closed([bookmark(12), absurd(version)]))
            .watch(idle());
        let mut run = start(script, list_config());
        assert_eq!(run.requests(3).await[2], "WATCH(12)", "{version}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_version_of_a_source_that_falls_silent_is_compared_with_the_server() {
    // The version is plausible, and the server does not have it: it sends nothing.
    let quiet = || ScriptedWatch::closed([]).pause(seconds(81));
    let script = Script::new()
        .list([], 10)
        .watch(ScriptedWatch::closed([bookmark(5000)]))
        .watch(ScriptedWatch::open([]))
        .watch(quiet())
        .list([], 20)
        .list([pod("a").version(15)], 20)
        .watch(idle());
    let mut run = start(script, list_config());
    let requests = run.requests(7).await;
    assert_eq!(
        requests,
        [
            "LIST(0, 500)",
            "WATCH(10)",
            "WATCH(5000)",
            "WATCH(5000)",
            "LIST(-, 1)",
            "LIST(-, 500)",
            "WATCH(20)"
        ]
    );
    assert_eq!(run.sink.calls().last().unwrap(), "replace 20 [a@15]");
}

#[tokio::test(start_paused = true)]
async fn the_version_of_a_silent_source_is_compared_once() {
    let quiet = || ScriptedWatch::closed([]).pause(seconds(81));
    let script = (0..10).fold(
        Script::new()
            .list([], 10)
            .watch(ScriptedWatch::closed([bookmark(12)]))
            .watch(ScriptedWatch::open([]))
            .list([], 12),
        |script, _| script.watch(quiet()),
    );
    let mut run = start(script, list_config());
    let requests = run.requests(10).await;
    assert_eq!(requests.iter().filter(|requests| requests.starts_with("LIST(-")).count(), 1, "{requests:?}");
    assert_eq!(run.sink.calls(), ["replace 10 []", "version 12"]);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_refused_at_a_version_is_repeated_without_it() {
    for code in [400, 422] {
        let script = Script::new()
            .list([], 10)
            .watch(ScriptedWatch::open([super::error(500, "InternalError")]))
            .list_fails(super::failure(code, "BadRequest", "invalid resource version"))
            .list([], 12)
            .watch(idle());
        let mut run = start(script, list_config());
        let expected = ["LIST(0, 500)", "WATCH(10)", "LIST(10, 0)", "LIST(-, 500)", "WATCH(12)"];
        assert_eq!(run.requests(5).await, expected);
    }
}

// R1
#[tokio::test(start_paused = true)]
async fn the_first_list_can_request_the_most_recent_state() {
    use crate::reflector::InitialList;
    let config = Config { initial_list: InitialList::MostRecent, ..list_config() };
    let script = Script::new().list([], 10).watch_fails(super::expired()).list([], 12).watch(idle());
    let mut run = start(script, config);
    assert_eq!(run.requests(4).await, ["LIST(-, 500)", "WATCH(10)", "LIST(10, 0)", "WATCH(12)"]);
}

// A9
#[tokio::test(start_paused = true)]
async fn a_busy_stream_without_an_end_is_given_up_once_and_for_all() {
    let busy = (0..1000).fold(ScriptedWatch::open([added(pod("a").version(1))]), |watch, version| {
        watch.pause(seconds(1)).event(super::modified(pod("a").version(version + 2)))
    });
    let script = Script::new()
        .watch(busy)
        .list([pod("a").version(9)], 9)
        .watch_fails(super::failure(403, "Forbidden", "no"))
        .list([], 10)
        .watch(idle());
    let mut run = start(script, Config::default());
    run.until(|run| run.sink.calls().len() == 1).await;
    assert!(run.seconds() < 62.0, "{}", run.seconds());
    assert_eq!(run.requests(5).await, ["STREAM(-)", "LIST(0, 500)", "WATCH(9)", "LIST(9, 0)", "WATCH(10)"]);
}

// A9
#[tokio::test(start_paused = true)]
async fn a_stream_of_additions_without_an_end_is_given_up_after_five_minutes() {
    let busy = (0..1000).fold(ScriptedWatch::open([]), |watch, version| {
        watch.pause(seconds(1)).event(added(pod(&format!("p{version}")).version(version + 1)))
    });
    let mut run = start(Script::new().watch(busy).list([], 9).watch(idle()), Config::default());
    assert_eq!(run.requests(3).await, ["STREAM(-)", "LIST(0, 500)", "WATCH(9)"]);
    assert!((299.0..=301.0).contains(&run.seconds()), "{}", run.seconds());
}

// A9
#[tokio::test(start_paused = true)]
async fn a_stream_only_reflector_tries_to_stream_again() {
    let config = Config { strategy: Strategy::StreamOnly, ..Config::default() };
    let mut run = start(Script::new().watch(ScriptedWatch::open([added(pod("a").version(1))])), config);
    assert_eq!(run.requests(2).await, ["STREAM(-)", "STREAM(-)"]);
}
