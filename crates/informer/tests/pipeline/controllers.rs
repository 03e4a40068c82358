//! Controllers on an informer: this crate's and kube's.

use crate::cluster::{Cluster, fail_for_bad, named};
use futures_util::StreamExt;
use k8s_openapi::api::{
    apps::v1::ReplicaSet,
    core::v1::{ConfigMap, Node, Pod},
};
use kube::runtime::watcher;
use kube_devserver::Fault;
use kube_informer::{
    Event, Informer,
    bridge::watcher_events,
    controller::{Action, Controller, ControllerError, controller_owner, generation_changed},
    wire::Key,
};
use serde_json::json;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

/// The reconciled keys with their times.
#[derive(Clone)]
struct ReconcileLog {
    entries: Arc<Mutex<Vec<(String, Duration)>>>,
    began: Instant,
}

impl ReconcileLog {
    fn new() -> Self {
        Self { entries: Arc::default(), began: Instant::now() }
    }

    /// Records a key. Returns how often it was recorded before.
    fn write(&self, key: &Key) -> usize {
        let mut entries = self.entries.lock().unwrap();
        let before = entries.iter().filter(|(name, _)| name == key.name()).count();
        entries.push((key.name().to_owned(), self.began.elapsed()));
        before
    }

    fn read(&self) -> Vec<(String, Duration)> {
        self.entries.lock().unwrap().clone()
    }

    async fn has(&self, count: usize) -> Vec<(String, Duration)> {
        let wait = async {
            while self.read().len() < count {
                // Time is paused: it advances when all tasks are idle.
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            self.read()
        };
        timeout(Duration::from_secs(3600), wait).await.unwrap_or_else(|_| panic!("only {:?}", self.read()))
    }
}

async fn informer(cluster: &Cluster) -> Informer<ConfigMap> {
    let maps = Informer::<ConfigMap>::builder(cluster.server.client()).start().unwrap();
    maps.synced().await.unwrap();
    maps
}

/// An error. One variant panics when it is formatted.
enum ReconcileError {
    NotReady,
    PanicsOnDisplay,
}

impl std::fmt::Display for ReconcileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotReady => f.write_str("not ready"),
            Self::PanicsOnDisplay => panic!("in Display"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn failures_are_retried_with_backoff_and_successes_as_requested() {
    let cluster = Cluster::new();
    cluster.create("broken").await;
    let (maps, log, cancel) = (informer(&cluster).await, ReconcileLog::new(), CancellationToken::new());
    let writes = log.clone();
    let reconcile = move |key: Key| {
        let before = writes.write(&key);
        async move {
            match before {
                0..4 => Err(ReconcileError::NotReady),
                4 => Ok(Action::requeue(Duration::from_secs(60))),
                5 => panic!("once"),
                6 => Err(ReconcileError::PanicsOnDisplay),
                _ => Ok(Action::await_change()),
            }
        }
    };
    let running = tokio::spawn(Controller::new(&maps).run(reconcile, cancel.clone()));
    let times: Vec<_> = log.has(8).await.iter().map(|(_, at)| at.as_millis()).collect();
    let waits: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    for (wait, expected) in waits.iter().zip([5, 10, 20, 40, 60_000, 5, 10]) {
        assert!((expected..expected + 3).contains(wait), "{waits:?}");
    }
    cluster.change("broken", "1").await;
    log.has(9).await;
    cancel.cancel();
    running.await.unwrap().unwrap();
    cluster.change("broken", "2").await;
    assert_eq!((log.read().len(), maps.tasks()), (9, 2), "the controller has ended and removed its handler");
}

#[tokio::test(start_paused = true)]
async fn a_key_is_reconciled_by_one_worker_at_a_time_and_live_events_go_first() {
    let cluster = Cluster::new();
    for name in ["a", "b", "c", "d", "e", "f"] {
        cluster.create(name).await;
    }
    let (maps, log, cancel) = (informer(&cluster).await, ReconcileLog::new(), CancellationToken::new());
    let (writes, gate) = (log.clone(), Arc::new(Semaphore::new(0)));
    let (running_keys, open) = (Arc::new(Mutex::new(BTreeMap::<String, u32>::new())), Arc::clone(&gate));
    let reconcile = move |key: Key| {
        writes.write(&key);
        let (running_keys, open) = (Arc::clone(&running_keys), Arc::clone(&open));
        async move {
            let set_running = |change: i32| {
                let mut running_keys = running_keys.lock().unwrap();
                let count = running_keys.entry(key.name().to_owned()).or_default();
                *count = count.checked_add_signed(change).unwrap();
                assert!(*count <= 1, "{key} is reconciled twice at the same time");
                assert!(running_keys.values().sum::<u32>() <= 2, "more than two at a time");
            };
            set_running(1);
            open.acquire().await.unwrap().forget();
            set_running(-1);
            Ok::<_, String>(Action::await_change())
        }
    };
    let running = tokio::spawn(Controller::new(&maps).concurrency(2).run(reconcile, cancel.clone()));
    let first = log.has(2).await;
    // While both workers are busy, one of their objects changes, and a new object is created.
    cluster.change(&first[0].0, "1").await;
    let new = cluster.create("new").await.metadata.resource_version.unwrap();
    maps.wait_for(&new.parse().unwrap()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    gate.add_permits(1);
    assert_eq!(log.has(3).await[2].0, "new", "before the remaining initial objects");
    gate.add_permits(100);
    let all = log.has(8).await;
    assert_eq!(all.iter().filter(|(name, _)| *name == first[0].0).count(), 2, "the change requeued it");
    cancel.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_second_informer_can_trigger_reconciles() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let (maps, log, cancel) = (informer(&cluster).await, ReconcileLog::new(), CancellationToken::new());
    let others =
        Informer::<ConfigMap>::builder(cluster.server.client()).namespace("kube-system").start().unwrap();
    let writes = log.clone();
    let reconcile = move |key: Key| {
        writes.write(&key);
        async { Ok::<_, String>(Action::await_change()) }
    };
    let owner = |_: &ConfigMap| ["default/a".parse::<Key>().unwrap()];
    let reconciler = Controller::new(&maps).watches(&others, owner);
    let running = tokio::spawn(reconciler.run(reconcile, cancel.clone()));
    log.has(1).await;
    let other = cluster.namespace("kube-system").await;
    other.create(&<_>::default(), &named("owned")).await.unwrap();
    let names: Vec<_> = log.has(3).await.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.iter().filter(|name| *name == "a").count(), 2);
    cancel.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_controller_fails_if_a_cache_cannot_sync_or_is_stopped() {
    let cluster = Cluster::new();
    cluster.server.faults().inject(Fault::answer(403).of("pods"));
    let pods = Informer::<Pod>::builder(cluster.server.client()).start().unwrap();
    let maps = informer(&cluster).await;
    let never = |_: Key| std::future::pending::<Result<Action, String>>();
    let reconciler = || Controller::new(&maps).watches(&pods, |_: &Pod| None);
    let error = reconciler().run(never, CancellationToken::new()).await.unwrap_err();
    assert!(matches!(&error, ControllerError::Sync(cause) if cause.is_forbidden()), "{error:?}");
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    Controller::new(&maps).run(never, cancelled).await.unwrap();
    drop(
        timeout(Duration::from_millis(1), Controller::new(&maps).run(never, CancellationToken::new())).await,
    );
    while maps.tasks() > 2 {
        tokio::task::yield_now().await;
    }
    let running = tokio::spawn(Controller::new(&maps).run(never, CancellationToken::new()));
    tokio::time::sleep(Duration::from_secs(1)).await;
    maps.stop();
    maps.stopped().await;
    assert!(matches!(running.await.unwrap(), Err(ControllerError::Stopped)));
    pods.stop();
    pods.stopped().await;
    let error = Controller::new(&pods).run(never, CancellationToken::new()).await.unwrap_err();
    assert!(matches!(error, ControllerError::AddHandler(_)));
}

fn short(event: &watcher::Event<ConfigMap>) -> String {
    let name = |map: &ConfigMap| map.metadata.name.clone().unwrap();
    match event {
        watcher::Event::Init => "init".into(),
        watcher::Event::InitApply(map) => format!("({})", name(map)),
        watcher::Event::InitDone => "done".into(),
        watcher::Event::Apply(map) => format!("+{}", name(map)),
        watcher::Event::Delete(map) => format!("-{}", name(map)),
    }
}

#[tokio::test(start_paused = true)]
async fn events_are_converted_to_kube_watcher_events() {
    let cluster = Cluster::new();
    let maps = informer(&cluster).await;
    let mut empty = Box::pin(watcher_events(maps.subscribe()));
    for expected in ["init", "done"] {
        assert_eq!(short(&empty.next().await.unwrap().unwrap()), expected);
    }
    let there = cluster.create("a").await.metadata.resource_version.unwrap();
    maps.wait_for(&there.parse().unwrap()).await.unwrap();
    let mut full = Box::pin(watcher_events(maps.subscribe()));
    for expected in ["init", "(a)", "done"] {
        assert_eq!(short(&full.next().await.unwrap().unwrap()), expected);
    }
    cluster.change("a", "1").await;
    cluster.create("b").await;
    cluster.delete("a").await;
    for expected in ["+a", "+b", "-a"] {
        assert_eq!(short(&full.next().await.unwrap().unwrap()), expected);
    }
    // Changes that happen before the initial list was read are part of it, except deletions.
    let mut late = Box::pin(watcher_events(maps.subscribe()));
    let last = cluster.create("c").await.metadata.resource_version.unwrap();
    maps.wait_for(&last.parse().unwrap()).await.unwrap();
    for expected in ["init", "(b)", "(c)", "done"] {
        assert_eq!(short(&late.next().await.unwrap().unwrap()), expected);
    }
    maps.stop();
    maps.stopped().await;
    assert!(late.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn only_events_that_pass_the_predicate_are_reconciled() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let (maps, log, cancel) = (informer(&cluster).await, ReconcileLog::new(), CancellationToken::new());
    let writes = log.clone();
    let reconcile = move |key: Key| {
        writes.write(&key);
        async { Ok::<_, &str>(Action::await_change()) }
    };
    let is_selected = |event: &Event<ConfigMap>| {
        event.object().get().data.as_ref().is_none_or(|data| data["value"] == "selected")
    };
    let reconciler = Controller::filtered(&maps, is_selected);
    let running = tokio::spawn(reconciler.run(reconcile, cancel.clone()));
    log.has(1).await;
    cluster.change("a", "ignored").await;
    cluster.change("a", "ignored too").await;
    cluster.create("b").await;
    let names: Vec<_> = log.has(2).await.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["a", "b"]);
    cluster.change("a", "selected").await;
    log.has(3).await;
    cancel.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn skipped_objects_do_not_block_the_reconciling_of_others() {
    let cluster = Cluster::new();
    cluster.create("good").await;
    cluster.create("bad").await;
    let maps =
        Informer::<ConfigMap>::builder(cluster.server.client()).transform(fail_for_bad).start().unwrap();
    let (log, cancel) = (ReconcileLog::new(), CancellationToken::new());
    let writes = log.clone();
    let reconcile = move |key: Key| {
        writes.write(&key);
        async { Ok::<_, &str>(Action::await_change()) }
    };
    let running = tokio::spawn(Controller::new(&maps).run(reconcile, cancel.clone()));
    assert_eq!(log.has(1).await[0].0, "good");
    cancel.cancel();
    running.await.unwrap().unwrap();
}

#[test]
fn generation_changed_ignores_status_updates() {
    let pod = |version: &str, generation: Option<i64>| {
        let mut pod = Pod::default();
        pod.metadata.name = Some("p".into());
        (pod.metadata.uid, pod.metadata.resource_version) = (Some("u".into()), Some(version.into()));
        pod.metadata.generation = generation;
        pod
    };
    let passes = |old: Pod, new: Pod| generation_changed(&Event::<Pod>::update(old, new).unwrap());
    assert!(!passes(pod("1", Some(1)), pod("2", Some(1))));
    assert!(passes(pod("1", Some(1)), pod("2", Some(2))));
    assert!(generation_changed(&Event::resync(pod("1", Some(1))).unwrap()));
    assert!(passes(pod("1", None), pod("2", None)), "kinds without a generation");
    assert!(generation_changed(&Event::create(pod("1", Some(1))).unwrap()));
    let mut recreated = pod("2", Some(1));
    recreated.metadata.uid = Some("another".into());
    assert!(passes(pod("1", Some(1)), recreated), "re-created between two events");
}

#[test]
fn controller_owner_returns_the_key_of_the_controller() {
    let owned = |references: serde_json::Value| -> Pod {
        let metadata = json!({ "name": "p", "namespace": "shop", "ownerReferences": references });
        serde_json::from_value(json!({ "metadata": metadata })).unwrap()
    };
    let owner = |version: &str, kind: &str, controller: bool| json!({ "apiVersion": version, "kind": kind, "name": "o", "uid": "1", "controller": controller });
    let set = |pod: &Pod| controller_owner::<ReplicaSet, Pod>(pod).map(|key| key.to_string());
    let other = owner("apps/v1", "ReplicaSet", false);
    assert_eq!(set(&owned(json!([other, owner("apps/v1", "ReplicaSet", true)]))), Some("shop/o".into()));
    assert_eq!(set(&owned(json!([owner("other.io/v1", "ReplicaSet", true)]))), None);
    assert_eq!(set(&owned(json!([other]))), None);
    assert_eq!(set(&owned(json!([]))), None);
    let on_node = owned(json!([owner("v1", "Node", true)]));
    assert_eq!(controller_owner::<Node, Pod>(&on_node).unwrap().to_string(), "o");
    assert_eq!(controller_owner::<ConfigMap, Pod>(&on_node), None);
}
