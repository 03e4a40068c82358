//! Starting, stopping, resyncs, status and reports.

use super::{
    Config, Recorder, Run, added, bookmark, expired, idle, list_config, modified, start, start_into,
};
use crate::{
    cache::Store,
    delta_fifo::DeltaFifo,
    reflector::{ListAndWatchEnd, Reflector, ReflectorPhase, Retry},
    source::{FromFns, Page, Script, ScriptedWatch, Watch},
    testing::{PodBuilder, brief, pod, rv},
};
use k8s_openapi::api::core::v1::Pod;
use std::{
    num::NonZeroUsize,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio_util::sync::CancellationToken;

// R18
#[tokio::test(start_paused = true)]
async fn makes_no_request_if_stopped_before_it_starts() {
    let script = Arc::new(Script::<Pod>::new());
    let cancel = CancellationToken::new();
    cancel.cancel();
    Reflector::new(Arc::clone(&script), Recorder::default()).run(cancel).await;
    assert!(script.requests().is_empty());
}

// R19, R20, R36
#[tokio::test(start_paused = true)]
async fn stopping_drops_the_watch_once() {
    struct Guard(Arc<AtomicUsize>);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let ended = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&ended);
    let source = FromFns::new(
        |_| async { Ok(Page::<Pod> { items: Vec::new(), version: Some(rv(1)), continue_token: None }) },
        move |_| {
            let guard = Guard(Arc::clone(&counter));
            async {
                Ok(Watch::new(futures_util::stream::once(async move {
                    std::future::pending::<()>().await;
                    drop(guard);
                    unreachable!("pending")
                })))
            }
        },
    );
    let reflector = Reflector::new(source, Recorder::default());
    let mut status = reflector.status();
    let cancel = CancellationToken::new();
    let task = tokio::spawn(reflector.run(cancel.clone()));
    status.wait_for(|status| status.phase == ReflectorPhase::Watching).await.unwrap();
    cancel.cancel();
    task.await.unwrap();
    assert_eq!(ended.load(Ordering::Relaxed), 1);
    assert_eq!(status.borrow().phase, ReflectorPhase::Stopped);
}

#[tokio::test(start_paused = true)]
async fn stopping_ends_a_wait() {
    let mut run = start(Script::new().list_fails(expired()).list_fails(expired()), list_config());
    run.until(|run| run.status.borrow().phase == ReflectorPhase::Waiting).await;
    run.stop().await;
    assert!(run.seconds() < 0.1);
}

fn resyncing(seconds: u64) -> Config {
    Config { resync: Duration::from_secs(seconds), ..list_config() }
}

async fn wait_for_resyncs(run: &mut Run, count: usize) {
    // A resync does not change the status, so this advances time.
    for _ in 0..10_000 {
        if run.sink.calls().iter().filter(|call| *call == "resync").count() >= count {
            return;
        }
        tokio::time::advance(Duration::from_millis(100)).await;
        tokio::task::yield_now().await;
    }
    panic!("no resync: {:?}", run.sink.calls());
}

// R61
#[tokio::test(start_paused = true)]
async fn does_not_resync_without_a_period() {
    let mut run = start(Script::new().list([], 1).watch(idle()), resyncing(0));
    run.until(|run| run.status.borrow().phase == ReflectorPhase::Watching).await;
    tokio::time::advance(Duration::from_secs(290)).await;
    run.stop().await;
    assert_eq!(run.sink.calls(), ["replace 1 []"]);
}

// R62, R63
#[tokio::test(start_paused = true)]
async fn resyncs_while_watching() {
    let watch = ScriptedWatch::open([]).pause(Duration::from_secs(15)).event(added(pod("a").version(2)));
    let mut run = start(Script::new().list([], 1).watch(watch), resyncing(10));
    wait_for_resyncs(&mut run, 3).await;
    run.stop().await;
    assert_eq!(run.sink.calls(), ["replace 1 []", "resync", "add a@2", "resync", "resync"]);
    assert!((30.0..31.0).contains(&run.seconds()), "{}", run.seconds());
}

// R62
#[tokio::test(start_paused = true)]
async fn a_failed_resync_leads_to_a_relist() {
    let sink = Recorder::default();
    let script = Script::new().list([], 1).watch(idle()).list([], 2).watch(idle());
    let mut run = start_into(script, resyncing(10), sink.clone());
    wait_for_resyncs(&mut run, 1).await;
    sink.fail_once("resync");
    assert_eq!(run.requests(4).await, ["LIST(0, 500)", "WATCH(1)", "LIST(1, 0)", "WATCH(2)"]);
    assert_eq!(run.errors(), ["Deliver: sink failed"]);
}

// R63
#[tokio::test(start_paused = true)]
async fn a_resync_is_skipped_if_the_predicate_returns_false() {
    let requests = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&requests);
    let script = Arc::new(Script::new().list([], 1).watch(idle()));
    let sink = Recorder::default();
    let reflector = Reflector::with_config(script, sink.clone(), resyncing(10))
        .should_resync(move || counter.fetch_add(1, Ordering::Relaxed) % 2 == 1);
    let cancel = CancellationToken::new();
    let task = tokio::spawn(reflector.run(cancel.clone()));
    while requests.load(Ordering::Relaxed) < 4 {
        tokio::time::advance(Duration::from_secs(1)).await;
        tokio::task::yield_now().await;
    }
    cancel.cancel();
    task.await.unwrap();
    assert_eq!(sink.calls(), ["replace 1 []", "resync", "resync"]);
}

#[tokio::test(start_paused = true)]
async fn the_status_counts_lists_watches_and_events() {
    let script = Script::new()
        .list([], 1)
        .watch(ScriptedWatch::closed([
            added(pod("a").version(2)),
            modified(pod("a").version(3)),
            bookmark(4),
        ]))
        .watch_fails(expired())
        .list([], 5)
        .watch(idle());
    let mut run = start(script, list_config());
    run.until(|run| run.status.borrow().phase == ReflectorPhase::Waiting).await;
    assert_eq!(
        run.status.borrow().last_error.as_deref(),
        Some("server returned 410: too old resource version")
    );
    run.until(|run| run.status.borrow().version == Some(rv(5)) && run.status.borrow().last_error.is_none())
        .await;
    let status = run.status.borrow().clone();
    let counts = status.counts;
    assert_eq!(
        (counts.lists, counts.watches, counts.replaces, counts.events, counts.errors),
        (2, 3, 2, 3, 1)
    );
    run.stop().await;
    assert_eq!(run.status.borrow().phase, ReflectorPhase::Stopped);
}

#[tokio::test(start_paused = true)]
async fn a_report_has_the_name_and_the_retry() {
    let script = Script::new().list([], 1).watch_fails(super::throttled()).watch_fails(expired());
    let reports = Arc::new(Mutex::new(Vec::new()));
    let sender = Arc::clone(&reports);
    let script = Arc::new(script);
    let reflector = Reflector::with_config(Arc::clone(&script), Recorder::default(), list_config())
        .named("pods")
        .on_error(move |report| sender.lock().unwrap().push((report.name.to_owned(), report.retry)));
    let mut status = reflector.status();
    let cancel = CancellationToken::new();
    let task = tokio::spawn(reflector.run(cancel.clone()));
    status.wait_for(|status| status.counts.errors == 2).await.unwrap();
    cancel.cancel();
    task.await.unwrap();
    let reports = reports.lock().unwrap();
    assert!(matches!(&reports[0], (name, Retry::Rewatch(_)) if name == "pods"), "{reports:?}");
    assert!(
        matches!(reports[1].1, Retry::Relist(wait) if wait >= Duration::from_millis(1600)),
        "{reports:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_default_name_is_the_location_of_its_creation() {
    let reflector = Reflector::new(Script::<Pod>::new(), Recorder::default());
    assert!(format!("{reflector:?}").contains("lifecycle.rs:"));
}

#[tokio::test(start_paused = true)]
async fn reflects_into_a_store_without_a_queue() {
    let (store, writer) = Store::builder().build().unwrap();
    let watch = ScriptedWatch::open([
        modified(pod("a").version(3)),
        super::deleted(pod("b").version(4)),
        bookmark(9),
    ]);
    let script = Script::new().list([pod("a").version(1), pod("b").version(2)], 2).watch(watch);
    let cancel = CancellationToken::new();
    let task = tokio::spawn(Reflector::with_config(script, writer, list_config()).run(cancel.clone()));
    store.wait_for(&rv(9)).await.unwrap();
    assert_eq!(store.list().iter().map(|pod| brief(pod)).collect::<Vec<_>>(), ["a@3"]);
    cancel.cancel();
    task.await.unwrap();
}

// R52
#[tokio::test(start_paused = true)]
async fn a_relist_shares_unchanged_objects_and_does_not_transform_them_again() {
    let (store, mut writer) = Store::builder().build().unwrap();
    let transforms = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&transforms);
    let known = store.clone();
    let fifo = DeltaFifo::builder()
        .transform(move |pod: Pod| {
            counter.fetch_add(1, Ordering::Relaxed);
            Ok(pod)
        })
        .known_objects(&known)
        .build();
    let script = Script::new()
        .list([pod("a").version(1), pod("b").version(2)], 2)
        .watch_fails(expired())
        .list([pod("a").version(1), pod("b").version(3)], 3)
        .watch(idle());
    let cancel = CancellationToken::new();
    let task = tokio::spawn(Reflector::with_config(script, fifo.clone(), list_config()).run(cancel.clone()));
    let mut events = Vec::new();
    crate::delta_fifo::apply(fifo.pop().await.unwrap(), &mut writer, &mut events).done();
    let before = store.get("a").unwrap();
    let batch = fifo.pop().await.unwrap();
    let crate::delta_fifo::Entry::Replaced { listing, .. } = &batch.entries[0] else { panic!("{batch:?}") };
    let (_, listed) = &listing.objects[0];
    assert!(Arc::ptr_eq(&listed.object().arc(), &before));
    assert_eq!(transforms.load(Ordering::Relaxed), 3, "R52: once per new object");
    cancel.cancel();
    task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn list_and_watch_returns_without_a_wait_when_the_watch_cannot_continue() {
    let script = Script::new().list([], 1).watch_fails(expired()).list([], 2).watch(idle());
    let script = Arc::new(script);
    let mut reflector = Reflector::with_config(Arc::clone(&script), Recorder::default(), list_config());
    let started_at = tokio::time::Instant::now();
    let cancel = CancellationToken::new();
    assert_eq!(reflector.last_sync_version(), None);
    assert_eq!(reflector.list_and_watch(&cancel).await, ListAndWatchEnd::Failed);
    assert_eq!(reflector.last_sync_version(), Some(&rv(1)));
    let mut status = reflector.status();
    let (end, ()) = tokio::join!(reflector.list_and_watch(&cancel), async {
        status.wait_for(|status| status.version == Some(rv(2))).await.unwrap();
        cancel.cancel();
    });
    assert_eq!(end, ListAndWatchEnd::Canceled);
    assert_eq!(started_at.elapsed(), Duration::ZERO, "the caller waits between calls");
    let requests: Vec<_> = script.requests().iter().map(ToString::to_string).collect();
    assert_eq!(requests, ["LIST(0, 500)", "WATCH(1)", "LIST(1, 0)", "WATCH(2)"]);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_list_and_watch_can_be_called_again_without_loss() {
    let event = || ScriptedWatch::open([added(pod("a").version(2))]);
    let script = Arc::new(Script::new().list([], 1).watch(event()).watch(event()));
    // The list fills the queue, so the event is waiting when the call is canceled.
    let fifo = DeltaFifo::<Pod>::builder().capacity(NonZeroUsize::MIN).build();
    let mut reflector = Reflector::with_config(Arc::clone(&script), fifo.clone(), list_config());
    let cancelled = async |reflector: &mut Reflector<_, _, _>| {
        let cancel = CancellationToken::new();
        let soon = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            cancel.cancel();
        };
        assert_eq!(tokio::join!(reflector.list_and_watch(&cancel), soon).0, ListAndWatchEnd::Canceled);
    };
    cancelled(&mut reflector).await;
    assert_eq!((fifo.len(), reflector.last_sync_version()), (1, Some(&rv(1))));
    fifo.pop().await.unwrap();
    cancelled(&mut reflector).await;
    assert_eq!(fifo.pop().await.unwrap().version, Some(rv(2)));
    let requests = || script.requests().iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(requests(), ["LIST(0, 500)", "WATCH(1)", "WATCH(1)"]);

    // A canceled list starts from the first page.
    let script = Arc::new(Script::new().page([pod("a").version(1)], 1, Some("C")));
    let mut reflector = Reflector::with_config(Arc::clone(&script), fifo, list_config());
    cancelled(&mut reflector).await;
    cancelled(&mut reflector).await;
    let requests: Vec<_> = script.requests().iter().map(ToString::to_string).collect();
    assert_eq!(requests, ["LIST(0, 500)", "LIST(-, 500, C)", "LIST(0, 500)"]);
}
