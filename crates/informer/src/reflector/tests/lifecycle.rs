//! Beginning, stopping, telling again, and what it all looks like from outside.

use super::{Config, Recorder, Run, added, bookmark, expired, listing, modified, silence, start, start_into};
use crate::{
    fifo::DeltaFifo,
    list_watch::{FromFns, Page, Scene, Script, Watch},
    reflector::{Outlook, Phase, Reflector, RoundEnd},
    store::Store,
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
async fn stopped_before_it_begins_it_asks_nothing() {
    let script = Arc::new(Script::<Pod>::new());
    let cancel = CancellationToken::new();
    cancel.cancel();
    Reflector::new(Arc::clone(&script), Recorder::default()).run(cancel).await;
    assert!(script.asked().is_empty());
}

// R19, R20, R36
#[tokio::test(start_paused = true)]
async fn stopping_ends_the_watch_once() {
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
                    unreachable!("it never ends")
                })))
            }
        },
    )
    .without_streaming_lists();
    let reflector = Reflector::new(source, Recorder::default());
    let (mut status, cancel) = (reflector.status(), CancellationToken::new());
    let task = tokio::spawn(reflector.run(cancel.clone()));
    status.wait_for(|status| status.phase == Phase::Watching).await.unwrap();
    cancel.cancel();
    task.await.unwrap();
    assert_eq!(ended.load(Ordering::Relaxed), 1);
    assert_eq!(status.borrow().phase, Phase::Stopped);
}

#[tokio::test(start_paused = true)]
async fn stopping_ends_a_wait() {
    let mut run = start(Script::new().list_fails(expired()).list_fails(expired()), listing());
    run.until(|run| run.status.borrow().phase == Phase::Waiting).await;
    run.stop().await;
    assert!(run.seconds() < 0.1);
}

fn resyncing(seconds: u64) -> Config {
    Config { resync: Duration::from_secs(seconds), ..listing() }
}

async fn wait_for_resyncs(run: &mut Run, count: usize) {
    // A resync changes nothing that the status tells, so time is what to wait by.
    for _ in 0..10_000 {
        if run.sink.given().iter().filter(|given| *given == "resync").count() >= count {
            return;
        }
        tokio::time::advance(Duration::from_millis(100)).await;
        tokio::task::yield_now().await;
    }
    panic!("no resync: {:?}", run.sink.given());
}

// R61
#[tokio::test(start_paused = true)]
async fn without_a_period_nothing_is_told_again() {
    let mut run = start(Script::new().list([], 1).watch(silence()), resyncing(0));
    run.until(|run| run.status.borrow().phase == Phase::Watching).await;
    tokio::time::advance(Duration::from_secs(290)).await;
    run.stop().await;
    assert_eq!(run.sink.given(), ["replace 1 []"]);
}

// R62, R63
#[tokio::test(start_paused = true)]
async fn a_resync_goes_on_beside_the_watch() {
    let scene = Scene::open([]).pause(Duration::from_secs(15)).event(added(pod("a").version(2)));
    let mut run = start(Script::new().list([], 1).watch(scene), resyncing(10));
    wait_for_resyncs(&mut run, 3).await;
    run.stop().await;
    assert_eq!(run.sink.given(), ["replace 1 []", "resync", "add a@2", "resync", "resync"]);
    assert!((30.0..31.0).contains(&run.seconds()), "{}", run.seconds());
}

// R62
#[tokio::test(start_paused = true)]
async fn a_resync_that_fails_begins_again() {
    let sink = Recorder::default();
    let script = Script::new().list([], 1).watch(silence()).list([], 2).watch(silence());
    let mut run = start_into(script, resyncing(10), sink.clone());
    wait_for_resyncs(&mut run, 1).await;
    sink.refuses.lock().unwrap().push("resync");
    assert_eq!(run.requests(4).await, ["LIST(0, 500)", "WATCH(1)", "LIST(1, 0)", "WATCH(2)"]);
    assert_eq!(run.errors(), ["Deliver: refused"]);
}

// R63
#[tokio::test(start_paused = true)]
async fn a_resync_that_is_not_wanted_is_left_out() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let (script, sink) = (Arc::new(Script::new().list([], 1).watch(silence())), Recorder::default());
    let reflector = Reflector::with_config(script, sink.clone(), resyncing(10))
        .should_resync(move || counter.fetch_add(1, Ordering::Relaxed) % 2 == 1);
    let cancel = CancellationToken::new();
    let task = tokio::spawn(reflector.run(cancel.clone()));
    while asked.load(Ordering::Relaxed) < 4 {
        tokio::time::advance(Duration::from_secs(1)).await;
        tokio::task::yield_now().await;
    }
    cancel.cancel();
    task.await.unwrap();
    assert_eq!(sink.given(), ["replace 1 []", "resync", "resync"]);
}

#[tokio::test(start_paused = true)]
async fn the_status_tells_what_was_done() {
    let script = Script::new()
        .list([], 1)
        .watch(Scene::closed([added(pod("a").version(2)), modified(pod("a").version(3)), bookmark(4)]))
        .watch_fails(expired())
        .list([], 5)
        .watch(silence());
    let mut run = start(script, listing());
    run.until(|run| run.status.borrow().phase == Phase::Waiting).await;
    assert_eq!(
        run.status.borrow().last_error.as_deref(),
        Some("server answered 410: too old resource version")
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
    assert_eq!(run.status.borrow().phase, Phase::Stopped);
}

#[tokio::test(start_paused = true)]
async fn a_report_says_who_and_what_comes_next() {
    let script = Script::new().list([], 1).watch_fails(super::throttled()).watch_fails(expired());
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&heard);
    let script = Arc::new(script);
    let reflector = Reflector::with_config(Arc::clone(&script), Recorder::default(), listing())
        .named("pods")
        .on_error(move |report| hears.lock().unwrap().push((report.name.to_owned(), report.outlook)));
    let (mut status, cancel) = (reflector.status(), CancellationToken::new());
    let task = tokio::spawn(reflector.run(cancel.clone()));
    status.wait_for(|status| status.counts.errors == 2).await.unwrap();
    cancel.cancel();
    task.await.unwrap();
    let heard = heard.lock().unwrap();
    assert!(matches!(&heard[0], (name, Outlook::WatchesAgain(_)) if name == "pods"), "{heard:?}");
    assert!(
        matches!(heard[1].1, Outlook::BeginsAgain(wait) if wait >= Duration::from_millis(1600)),
        "{heard:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn is_named_for_where_it_was_made() {
    let reflector = Reflector::new(Script::<Pod>::new(), Recorder::default());
    assert!(format!("{reflector:?}").contains("lifecycle.rs:"));
}

/// A reflector straight into a store, without a queue.
#[tokio::test(start_paused = true)]
async fn a_store_alone_is_kept_up_to_date() {
    let (store, writer) = Store::builder().build().unwrap();
    let scene =
        Scene::open([modified(pod("a").version(3)), super::deleted(pod("b").version(4)), bookmark(9)]);
    let script = Script::new().list([pod("a").version(1), pod("b").version(2)], 2).watch(scene);
    let cancel = CancellationToken::new();
    let task = tokio::spawn(Reflector::with_config(script, writer, listing()).run(cancel.clone()));
    store.wait_for(&rv(9)).await.unwrap();
    assert_eq!(store.list().iter().map(|pod| brief(pod)).collect::<Vec<_>>(), ["a@3"]);
    cancel.cancel();
    task.await.unwrap();
}

// R52
/// Over a relist the unchanged objects of the cache are shared, not copied, and are not transformed again.
#[tokio::test(start_paused = true)]
async fn a_relist_shares_what_is_known() {
    let (store, mut writer) = Store::builder().build().unwrap();
    let transforms = Arc::new(AtomicUsize::new(0));
    let (counter, known) = (Arc::clone(&transforms), store.clone());
    let fifo = DeltaFifo::builder()
        .transform(move |pod: Pod| {
            counter.fetch_add(1, Ordering::Relaxed);
            Ok(pod)
        })
        .reuse(move |identity| known.same(identity))
        .build();
    let script = Script::new()
        .list([pod("a").version(1), pod("b").version(2)], 2)
        .watch_fails(expired())
        .list([pod("a").version(1), pod("b").version(3)], 3)
        .watch(silence());
    let cancel = CancellationToken::new();
    let task = tokio::spawn(Reflector::with_config(script, fifo.clone(), listing()).run(cancel.clone()));
    let mut events = Vec::new();
    crate::controller::apply(fifo.pop().await.unwrap(), &mut writer, &mut events).done();
    let before = store.get("a").unwrap();
    let batch = fifo.pop().await.unwrap();
    let crate::fifo::Entry::Replaced { listing, .. } = &batch.entries[0] else { panic!("{batch:?}") };
    let (key, shown) = &listing.objects[0];
    assert!(Arc::ptr_eq(&shown.object(key).arc(), &before));
    assert_eq!(transforms.load(Ordering::Relaxed), 3, "R52: once per object that is new");
    cancel.cancel();
    task.await.unwrap();
}

/// client-go's `ListAndWatch`: one round, and the waiting is the caller's.
#[tokio::test(start_paused = true)]
async fn one_round_ends_where_the_watch_cannot_go_on() {
    let script = Script::new().list([], 1).watch_fails(expired()).list([], 2).watch(silence());
    let script = Arc::new(script);
    let mut reflector = Reflector::with_config(Arc::clone(&script), Recorder::default(), listing());
    let (began, cancel) = (tokio::time::Instant::now(), CancellationToken::new());
    assert_eq!(reflector.last_sync_version(), None);
    assert_eq!(reflector.list_and_watch(&cancel).await, RoundEnd::Failed);
    assert_eq!(reflector.last_sync_version(), Some(&rv(1)));
    let mut status = reflector.status();
    let (end, ()) = tokio::join!(reflector.list_and_watch(&cancel), async {
        status.wait_for(|status| status.version == Some(rv(2))).await.unwrap();
        cancel.cancel();
    });
    assert_eq!((end, began.elapsed()), (RoundEnd::Cancelled, Duration::ZERO), "it does not wait by itself");
    let asked: Vec<_> = script.asked().iter().map(ToString::to_string).collect();
    assert_eq!(asked, ["LIST(0, 500)", "WATCH(1)", "LIST(1, 0)", "WATCH(2)"]);
}

#[tokio::test(start_paused = true)]
async fn a_round_that_is_cancelled_goes_on_without_a_loss() {
    let event = || Scene::open([added(pod("a").version(2))]);
    let script = Arc::new(Script::new().list([], 1).watch(event()).watch(event()));
    // The list fills the queue, so that the event waits when the round is cancelled.
    let fifo = DeltaFifo::<Pod>::builder().capacity(NonZeroUsize::MIN).build();
    let mut reflector = Reflector::with_config(Arc::clone(&script), fifo.clone(), listing());
    let cancelled = async |reflector: &mut Reflector<_, _, _>| {
        let cancel = CancellationToken::new();
        let soon = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            cancel.cancel();
        };
        assert_eq!(tokio::join!(reflector.list_and_watch(&cancel), soon).0, RoundEnd::Cancelled);
    };
    cancelled(&mut reflector).await;
    assert_eq!((fifo.len(), reflector.last_sync_version()), (1, Some(&rv(1))));
    fifo.pop().await.unwrap();
    cancelled(&mut reflector).await;
    assert_eq!(fifo.pop().await.unwrap().version, Some(rv(2)));
    let asked = || script.asked().iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(asked(), ["LIST(0, 500)", "WATCH(1)", "WATCH(1)"]);

    // Of a list nothing is kept.
    let script = Arc::new(Script::new().page([pod("a").version(1)], 1, Some("C")));
    let mut reflector = Reflector::with_config(Arc::clone(&script), fifo, listing());
    cancelled(&mut reflector).await;
    cancelled(&mut reflector).await;
    let asked: Vec<_> = script.asked().iter().map(ToString::to_string).collect();
    assert_eq!(asked, ["LIST(0, 500)", "LIST(-, 500, C)", "LIST(0, 500)"]);
}
