//! Metrics, status, spans and logs.

use super::{
    Config, Recorder, Run, Scripted, added, bookmark, complete, deleted, error, expired, idle, list_config,
    modified, start, start_with,
};
use crate::{
    reflector::{Report, metrics as names},
    source::{Error, Script, ScriptedWatch},
    testing::{Figures, PodBuilder, pod, rv},
};
use k8s_openapi::api::core::v1::Pod;
use std::{
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

#[tokio::test(start_paused = true)]
async fn metrics_count_lists_watches_and_events() {
    let figures = Figures::default();
    let _guard = metrics::set_default_local_recorder(&figures);
    let first = ScriptedWatch::open([added(pod("a").version(1)), added(pod("b").version(2))])
        .pause(Duration::from_secs(3))
        .event(complete(2))
        .event(modified(pod("a").version(3)))
        .event(deleted(pod("b").version(4)))
        .event(bookmark(5))
        .pause(Duration::from_secs(20))
        .event(error(410, "Expired"));
    let script = Script::new().watch(first).watch_fails(expired()).watch_fails(super::failure(
        422,
        "Invalid",
        "no streams",
    ));
    let script = script.list([pod("a").version(3)], 7).watch(ScriptedWatch::open([bookmark(9)]));
    let mut run = start(script, Config::default());
    run.until(|run| run.status.borrow().version == Some(rv(9))).await;
    run.stop().await;
    let expected = [
        (names::LISTS, "stream", 3.0),
        (names::LISTS, "list", 1.0),
        (names::LIST_ITEMS, "", 3.0),
        (names::WATCHES, "", 1.0),
        (names::EVENTS, "added", 2.0),
        (names::EVENTS, "modified", 1.0),
        (names::EVENTS, "deleted", 1.0),
        (names::EVENTS, "bookmark", 3.0),
        (names::EVENTS, "error", 1.0),
        (names::EVENTS, "unknown", 0.0),
        (names::ERRORS, "expired", 2.0),
        (names::ERRORS, "status", 1.0),
        (names::RELISTS, "expired", 1.0),
        (names::VERSION, "", 9.0),
        (names::BYTES, "", 0.0),
    ];
    for (name, label, figure) in expected {
        assert_eq!(figures.of(name, label), figure, "{name} {label}: {:?}", figures.all);
    }
    let near = |name, seconds: f64| (seconds..seconds + 0.1).contains(&figures.of(name, ""));
    assert!(near(names::LIST_DURATION, 3.0) && near(names::WATCH_DURATION, 23.0), "{:?}", figures.all);
}

#[tokio::test(start_paused = true)]
async fn a_recorder_that_is_installed_later_gets_metrics_from_then_on() {
    let watch = ScriptedWatch::open([bookmark(2)])
        .pause(Duration::from_secs(5))
        .event(modified(pod("a").version(3)))
        .pause(Duration::from_secs(5))
        .event(modified(pod("a").version(4)))
        .event(error(410, "Expired"));
    let mut run = start(Script::new().list([], 1).watch(watch).list([], 7).watch(idle()), list_config());
    run.until(|run| run.status.borrow().version == Some(rv(3))).await;
    let figures = Figures::default();
    let _guard = metrics::set_default_local_recorder(&figures);
    run.until(|run| run.status.borrow().version == Some(rv(4))).await;
    assert_eq!(figures.of(names::EVENTS, "bookmark"), 0.0, "before the recorder was installed");
    assert_eq!(figures.of(names::EVENTS, "modified"), 1.0);
    assert_eq!(figures.of(names::VERSION, ""), 4.0);
    run.until(|run| run.status.borrow().version == Some(rv(7))).await;
    run.stop().await;
    let relisted = [(names::LISTS, "list"), (names::RELISTS, "expired"), (names::ERRORS, "expired")];
    for (name, label) in relisted {
        assert_eq!(figures.of(name, label), 1.0, "{name} {label}: {:?}", figures.all);
    }
}

#[tokio::test(start_paused = true)]
async fn the_status_has_the_progress_of_lists_and_streams() {
    let watch = ScriptedWatch::open([added(pod("a").version(1)), added(pod("b").version(2)), complete(2)]);
    let mut run = start(Script::new().watch(watch), Config::default());
    run.calls(1).await;
    let status = run.status.borrow().clone();
    assert_eq!((status.counts.replaces, status.counts.streamed, status.progress.received), (1, 1, 2));
    let pods = |count: usize| (0..count).map(|number| pod(&number.to_string()).version(1));
    let page = || Script::new().page(pods(100), 3, Some("C1"));
    let mut run = start(page(), list_config());
    run.until(|run| run.script.requests().len() == 2).await;
    assert_eq!(run.status.borrow().progress.received, 100, "the second page was not received");
    run.stop().await;
    let mut run = start(page().list(pods(30), 3).watch(idle()), list_config());
    run.calls(1).await;
    let status = run.status.borrow().clone();
    assert_eq!((status.counts.replaces, status.counts.streamed, status.progress.received), (1, 0, 130));
}

#[tokio::test(start_paused = true)]
async fn events_do_not_register_metrics() {
    let registered = async |events: u64| {
        let figures = Figures::default();
        let _guard = metrics::set_default_local_recorder(&figures);
        let watch = ScriptedWatch::open((0..events).map(|version| modified(pod("a").version(version + 2))));
        let mut run = start(Script::new().list([], 1).watch(watch), list_config());
        run.calls(1 + events as usize).await;
        figures.registered.load(Ordering::Relaxed)
    };
    assert_eq!(registered(1).await, registered(100).await);
}

/// Records spans and events as text: the name or message, and the fields.
#[derive(Clone, Default)]
struct Traces {
    all: Arc<Mutex<Vec<String>>>,
    spans: Arc<AtomicU64>,
}

#[derive(Default)]
struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() != "reflector" {
            self.0 += &format!(" {}={value:?}", field.name());
        }
    }
}

impl Traces {
    fn containing(&self, text: &str) -> Vec<String> {
        self.all.lock().unwrap().iter().filter(|trace| trace.contains(text)).cloned().collect()
    }

    async fn of(run: impl AsyncFnOnce() -> Run) -> Self {
        let traces = Self::default();
        let _guard = tracing::subscriber::set_default(traces.clone());
        run().await.stop().await;
        traces
    }
}

impl Subscriber for Traces {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("kube_informer")
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields(format!("span {}", span.metadata().name()));
        span.record(&mut fields);
        self.all.lock().unwrap().push(fields.0);
        Id::from_u64(self.spans.fetch_add(1, Ordering::Relaxed) + 1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields("event".into());
        event.record(&mut fields);
        self.all.lock().unwrap().push(fields.0);
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[tokio::test(start_paused = true)]
async fn each_list_and_watch_has_a_span() {
    let traces = Traces::of(async || {
        let script = Script::new()
            .page([pod("a").version(1)], 5, Some("C1"))
            .list([pod("b").version(1)], 5)
            .watch(ScriptedWatch::closed([bookmark(6)]))
            .watch(idle());
        let mut run = start(script, list_config());
        run.until(|run| run.script.requests().len() == 4).await;
        run
    })
    .await;
    let spans = traces.containing("span");
    let kind = format!("resource={:?}", std::any::type_name::<Pod>());
    assert_eq!(spans[0], format!("span list {kind} version=0 limit=500 is_continued=false"));
    assert_eq!(spans[1], format!("span list {kind} limit=500 is_continued=true"));
    assert!(spans[2].starts_with(&format!("span watch {kind} version=5 timeout=")), "{spans:?}");
    assert!(spans[3].starts_with(&format!("span watch {kind} version=6 timeout=")), "{spans:?}");
    assert!(traces.containing("slow list").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_slow_list_is_logged_with_its_timings() {
    let traces = Traces::of(async || {
        let watch = ScriptedWatch::open([])
            .pause(Duration::from_secs(4))
            .event(added(pod("a").version(1)))
            .pause(Duration::from_secs(8))
            .event(complete(2));
        let mut run = start(Script::new().watch(watch), Config::default());
        run.until(|run| run.status.borrow().version.is_some()).await;
        run
    })
    .await;
    let slow = traces.containing("slow list");
    assert_eq!(slow.len(), 1, "{slow:?}");
    for step in ["via=Stream", "pages=0", "items=1", "first_item=Some(4", "replace=0ns", "total=12"] {
        assert!(slow[0].contains(step), "{step}: {slow:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_is_logged_with_its_causes() {
    let traces = Traces::of(async || {
        let handshake = Handshake(std::io::Error::other("certificate expired"));
        let script =
            Script::new().list_fails(Error::Transport(Box::new(handshake))).list([], 5).watch(idle());
        let log = |reflector: Scripted| reflector.on_error(|report: &Report<'_>| report.log());
        let mut run = start_with(script, list_config(), Recorder::default(), log);
        run.until(|run| run.status.borrow().version == Some(rv(5))).await;
        run
    })
    .await;
    let logged = traces.containing("reflector failed");
    assert_eq!(logged.len(), 1, "{logged:?}");
    // The text of the cause is not repeated.
    let cause = "cause=connection to the server failed: handshake failed (certificate expired) ";
    assert!(logged[0].contains(cause), "{logged:?}");
}

/// An error whose text contains that of its cause, as those of some crates do.
#[derive(Debug, thiserror::Error)]
#[error("handshake failed ({0})")]
struct Handshake(#[source] std::io::Error);

// R53
#[tokio::test(start_paused = true)]
async fn a_stalled_stream_is_logged_every_ten_seconds() {
    let traces = Traces::of(async || {
        let watch = ScriptedWatch::open([added(pod("a").version(1))])
            .pause(Duration::from_secs(25))
            .event(added(pod("b").version(2)))
            .pause(Duration::from_secs(15))
            .event(complete(2))
            .pause(Duration::from_secs(80))
            .event(bookmark(3));
        let mut run = start(Script::new().watch(watch), Config::default());
        run.until(|run| run.status.borrow().version == Some(rv(3))).await;
        run
    })
    .await;
    let stalls: Vec<_> = traces
        .containing("streaming list is stalled")
        .iter()
        .map(|trace| {
            (trace.contains("items=2"), trace.split("idle=").nth(1).map(|idle| idle[..2].to_owned()))
        })
        .collect();
    let ten = || Some("10".to_owned());
    assert_eq!(stalls, [(false, ten()), (false, Some("20".into())), (true, ten())]);
}
