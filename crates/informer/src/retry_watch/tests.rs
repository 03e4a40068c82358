//! Tests of watches that are reopened.

use super::*;
use crate::{
    source::{Script, ScriptedWatch},
    testing::{PodBuilder, brief, pod},
};
use k8s_openapi::api::core::v1::Pod;

fn rv(version: u64) -> ResourceVersion {
    ResourceVersion::number(version)
}

fn status(code: u16, reason: &str) -> Status {
    Status::failure("message", reason).with_code(code)
}

fn error(code: u16, reason: &str) -> Error {
    Error::status(status(code, reason))
}

fn error_event(code: u16, reason: &str) -> WatchEvent<Pod> {
    WatchEvent::Error(status(code, reason).boxed())
}

fn added(name: &str, version: u64) -> WatchEvent<Pod> {
    WatchEvent::Added(pod(name).version(version))
}

fn bookmark(version: u64) -> WatchEvent<Pod> {
    WatchEvent::Bookmark { version: rv(version), initial_events_end: false }
}

fn describe(next: Option<Result<WatchEvent<Arc<Pod>>, Error>>) -> String {
    match next {
        None => "end".to_owned(),
        Some(Err(error)) => format!("error: {error}"),
        Some(Ok(WatchEvent::Added(pod))) => format!("+{}", brief(&pod)),
        Some(Ok(WatchEvent::Modified(pod))) => format!("~{}", brief(&pod)),
        Some(Ok(WatchEvent::Deleted(pod))) => format!("-{}", brief(&pod)),
        Some(Ok(other)) => panic!("{other:?} is not delivered"),
    }
}

async fn take<S: ListerWatcher<Pod>>(watch: &mut RetryWatch<Pod, S>, count: usize) -> Vec<String> {
    let mut events = Vec::new();
    for _ in 0..count {
        events.push(describe(watch.next().await));
    }
    events
}

fn requests(source: &Script<Pod>) -> Vec<String> {
    source.requests().iter().map(ToString::to_string).collect()
}

// R160
#[test]
fn needs_a_concrete_version() {
    let error = RetryWatch::<Pod, _>::new(Script::<Pod>::new(), ResourceVersion::ANY).unwrap_err();
    assert!(error.to_string().starts_with("initial version \"0\" is not supported"), "{error}");
    assert_eq!(ResourceVersion::parse_optional("").unwrap(), None, "an empty version is not a version");
    assert!(RetryWatch::<Pod, _>::new(Script::<Pod>::new(), rv(1)).is_ok());
}

// R161
#[tokio::test(start_paused = true)]
async fn survives_closed_watches_and_temporary_errors_without_duplicates() {
    let source = Arc::new(
        Script::new()
            .watch(ScriptedWatch::closed([added("a", 2), WatchEvent::Modified(pod("a").version(3))]))
            .watch_fails(Error::Transport("connection refused".into()))
            .watch_fails(error(500, "InternalError"))
            .watch(ScriptedWatch::closed([]))
            .watch(ScriptedWatch::closed([error_event(504, "Timeout")]))
            .watch(ScriptedWatch::closed([error_event(500, "InternalError")]))
            .watch(ScriptedWatch::closed([error_event(422, "Unknown")]))
            // The server repeats an event that was delivered before.
            .watch(ScriptedWatch::closed([
                WatchEvent::Modified(pod("a").version(3)),
                added("b", 4),
                bookmark(9),
            ]))
            .watch(
                ScriptedWatch::open([WatchEvent::Deleted(pod("a").version(12))])
                    .fails(Error::Transport("cut".into())),
            )
            .watch(ScriptedWatch::open([added("c", 13)])),
    );
    let mut watch = RetryWatch::new(Arc::clone(&source), rv(1)).unwrap();
    assert_eq!(take(&mut watch, 5).await, ["+a@2", "~a@3", "+b@4", "-a@12", "+c@13"]);
    let versions = ["1", "3", "3", "3", "3", "3", "3", "3", "9", "12"];
    assert_eq!(requests(&source), versions.map(|version| format!("WATCH({version})")));
    assert_eq!(watch.version(), &rv(13));
}

// R162
#[tokio::test(start_paused = true)]
async fn delivers_an_error_that_a_retry_cannot_resolve_and_ends() {
    let refused = [error(401, "Unauthorized"), error(403, "Forbidden"), error(410, "Expired")];
    for refusal in refused {
        let expected = format!("error: {refusal}");
        let source = Arc::new(Script::<Pod>::new().watch_fails(refusal));
        let mut watch = RetryWatch::new(Arc::clone(&source), rv(1)).unwrap();
        assert_eq!(take(&mut watch, 3).await, [&expected, "end", "end"]);
        assert_eq!(requests(&source), ["WATCH(1)"]);
    }
    for event in [error_event(410, "Gone"), error_event(410, "Expired")] {
        let source =
            Arc::new(Script::new().watch(ScriptedWatch::open([added("a", 2), event, added("b", 3)])));
        let mut watch = RetryWatch::new(source, rv(1)).unwrap();
        assert_eq!(take(&mut watch, 3).await, ["+a@2", "error: server returned 410: message", "end"]);
    }
}

/// Sends an event at a time, and notes when it is dropped.
struct Endless(Arc<()>);

impl ListerWatcher<Pod> for Endless {
    fn list<'a>(
        &'a self,
        _: &'a kube_informer_wire::ListOptions,
        _: crate::source::OnItem<'a, Pod>,
    ) -> crate::boxed::BoxFuture<'a, Result<kube_informer_wire::ListMeta, Error>> {
        Box::pin(std::future::pending())
    }

    fn watch<'a>(&'a self, _: &'a WatchOptions) -> crate::boxed::BoxFuture<'a, Result<Watch<Pod>, Error>> {
        let open = Arc::clone(&self.0);
        let events = stream::unfold((2, open), |(version, open)| async move {
            Some((Ok(added("a", version)), (version + 1, open)))
        });
        Box::pin(async { Ok(Watch::new(events)) })
    }
}

// R163
#[tokio::test(start_paused = true)]
async fn closes_the_watch_when_it_is_dropped_with_unread_events() {
    let open = Arc::new(());
    let mut watch = RetryWatch::new(Endless(Arc::clone(&open)), rv(1)).unwrap();
    assert_eq!(take(&mut watch, 2).await, ["+a@2", "+a@3"]);
    assert_eq!(Arc::strong_count(&open), 3, "the watch is open");
    drop(watch);
    assert_eq!(Arc::strong_count(&open), 1);

    let mut stream = Box::pin(RetryWatch::new(Endless(Arc::clone(&open)), rv(1)).unwrap().into_stream());
    assert_eq!(describe(futures_util::StreamExt::next(&mut stream).await), "+a@2");
    drop(stream);
    assert_eq!(Arc::strong_count(&open), 1);
}

#[tokio::test(start_paused = true)]
async fn waits_between_requests_and_respects_retry_after() {
    let began = Instant::now();
    let mut source = Script::new();
    for _ in 0..10 {
        source = source.watch(ScriptedWatch::closed([]));
    }
    let mut watch = RetryWatch::new(source.watch(ScriptedWatch::open([added("a", 2)])), rv(1)).unwrap();
    assert_eq!(take(&mut watch, 1).await, ["+a@2"]);
    assert_eq!(began.elapsed(), MIN_RESTART_DELAY * 10, "a watch that closes at once");

    let began = Instant::now();
    let mut source = Script::new();
    for _ in 0..8 {
        source = source.watch_fails(error(500, "InternalError"));
    }
    let mut watch = RetryWatch::new(source.watch(ScriptedWatch::open([added("a", 2)])), rv(1)).unwrap();
    assert_eq!(take(&mut watch, 1).await, ["+a@2"]);
    assert_eq!(began.elapsed(), Duration::from_secs(1 + 2 + 4 + 8 + 16 + 30 + 30 + 30), "failures");

    let began = Instant::now();
    let busy = Error::Status {
        status: Box::new(status(429, "TooManyRequests")),
        retry_after: Some(Duration::from_secs(77)),
    };
    let source = Script::new().watch_fails(busy).watch(ScriptedWatch::open([added("a", 2)]));
    assert_eq!(take(&mut RetryWatch::new(source, rv(1)).unwrap(), 1).await, ["+a@2"]);
    assert_eq!(began.elapsed(), Duration::from_secs(77), "Retry-After");

    let began = Instant::now();
    let busy = Error::Status {
        status: Box::new(status(503, "ServiceUnavailable")),
        retry_after: Some(Duration::MAX),
    };
    let source = Script::new().watch_fails(busy).watch(ScriptedWatch::open([added("a", 2)]));
    assert_eq!(take(&mut RetryWatch::new(source, rv(1)).unwrap(), 1).await, ["+a@2"]);
    assert_eq!(began.elapsed(), MAX_RETRY_AFTER, "a Retry-After that is too long");
}

#[tokio::test(start_paused = true)]
async fn reopens_a_watch_that_is_silent_after_its_timeout() {
    let began = Instant::now();
    let source = Script::new().watch(ScriptedWatch::open([])).watch(ScriptedWatch::open([added("a", 2)]));
    assert_eq!(take(&mut RetryWatch::new(source, rv(1)).unwrap(), 1).await, ["+a@2"]);
    assert_eq!(began.elapsed(), WATCH_TIMEOUT + GRACE);
}

#[tokio::test(start_paused = true)]
async fn ends_if_an_object_has_no_version() {
    let source = Script::new().watch(ScriptedWatch::open([WatchEvent::Added(pod("a")), added("b", 3)]));
    let mut watch = RetryWatch::new(source, rv(1)).unwrap();
    let events = take(&mut watch, 2).await;
    assert!(events[0].contains("no valid resourceVersion") && events[1] == "end", "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn until_returns_the_event_that_fulfills_the_condition() {
    let is = |name: &'static str| move |event: &WatchEvent<Arc<Pod>>| matches!(event, WatchEvent::Added(pod) if pod.metadata.name.as_deref() == Some(name));
    let source = Script::new()
        .watch(ScriptedWatch::closed([added("a", 2), added("b", 3)]))
        .watch(ScriptedWatch::open([added("c", 4), added("d", 5), error_event(410, "Expired")]));
    let mut watch = RetryWatch::new(source, rv(1)).unwrap();
    for name in ["b", "c"] {
        let event = watch.until(is(name)).await.unwrap();
        assert!(is(name)(&event));
    }
    let ended = watch.until(is("a")).await.unwrap_err();
    assert!(
        ended.error.is_some_and(|error| error.is_expired()),
        "events before the first condition are consumed"
    );
}
