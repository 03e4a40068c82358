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
    BoxError, Event, Informer,
    bridge::watcher_events,
    controller::{
        Action, Controller, ControllerError, ControllerHandle, ErrorPolicy, controller_owner,
        predicates::{self, Predicate},
    },
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
#[derive(Debug)]
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

impl std::error::Error for ReconcileError {}

/// Runs a controller in a task, without context and with the default error policy.
fn spawn<F, T, E>(controller: Controller<ConfigMap>, reconcile: F) -> Running
where
    F: Fn(Key) -> T + Send + Sync + 'static,
    T: Future<Output = Result<Action, E>> + Send + 'static,
    E: Into<BoxError> + Send + 'static,
{
    let handle = controller.handle();
    let reconcile = move |key: Key, _: Arc<()>| reconcile(key);
    let task = tokio::spawn(controller.run_by_key(reconcile, ErrorPolicy::default(), Arc::new(())));
    Running { handle, task }
}

/// A controller in a task.
struct Running {
    handle: ControllerHandle,
    task: tokio::task::JoinHandle<Result<(), ControllerError>>,
}

impl Running {
    async fn stop(self) {
        self.handle.stop();
        self.task.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn failures_are_retried_with_backoff_and_successes_as_requested() {
    let cluster = Cluster::new();
    cluster.create("broken").await;
    let (maps, log) = (informer(&cluster).await, ReconcileLog::new());
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
    let running = spawn(Controller::new(&maps), reconcile);
    let times: Vec<_> = log.has(8).await.iter().map(|(_, at)| at.as_millis()).collect();
    let waits: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    for (wait, expected) in waits.iter().zip([5, 10, 20, 40, 60_000, 5, 10]) {
        // Jitter subtracts up to half of a backoff, but nothing of a requeue.
        let shortest = if expected == 60_000 { expected } else { expected / 2 };
        assert!((shortest..expected + 3).contains(wait), "{waits:?}");
    }
    cluster.change("broken", "1").await;
    log.has(9).await;
    running.stop().await;
    cluster.change("broken", "2").await;
    assert_eq!((log.read().len(), maps.tasks()), (9, 2), "the controller has ended and removed its handler");
}

#[tokio::test(start_paused = true)]
async fn a_key_is_reconciled_by_one_worker_at_a_time_and_live_events_go_first() {
    let cluster = Cluster::new();
    for name in ["a", "b", "c", "d", "e", "f"] {
        cluster.create(name).await;
    }
    let (maps, log) = (informer(&cluster).await, ReconcileLog::new());
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
    let running = spawn(Controller::new(&maps).concurrency(2), reconcile);
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
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_second_informer_can_trigger_reconciles() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let (maps, log) = (informer(&cluster).await, ReconcileLog::new());
    let others =
        Informer::<ConfigMap>::builder(cluster.server.client()).namespace("kube-system").start().unwrap();
    let writes = log.clone();
    let reconcile = move |key: Key| {
        writes.write(&key);
        async { Ok::<_, String>(Action::await_change()) }
    };
    let owner = |_: &ConfigMap| ["default/a".parse::<Key>().unwrap()];
    let reconciler = Controller::new(&maps).watches(&others, owner);
    let running = spawn(reconciler, reconcile);
    log.has(1).await;
    let other = cluster.namespace("kube-system").await;
    other.create(&<_>::default(), &named("owned")).await.unwrap();
    let names: Vec<_> = log.has(3).await.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.iter().filter(|name| *name == "a").count(), 2);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_controller_fails_if_a_cache_cannot_sync_or_is_stopped() {
    let cluster = Cluster::new();
    cluster.server.faults().inject(Fault::answer(403).of("pods"));
    let pods = Informer::<Pod>::builder(cluster.server.client()).start().unwrap();
    let maps = informer(&cluster).await;
    let never = |_: Key, _: Arc<()>| std::future::pending::<Result<Action, String>>();
    let run = |controller: Controller<ConfigMap>| {
        controller.run_by_key(never, ErrorPolicy::default(), Arc::new(()))
    };
    let error = run(Controller::new(&maps).watches(&pods, |_: &Pod| None)).await.unwrap_err();
    assert!(matches!(&error, ControllerError::Sync(cause) if cause.is_forbidden()), "{error:?}");
    run(Controller::new(&maps).shutdown_on(std::future::ready(()))).await.unwrap();
    drop(timeout(Duration::from_millis(1), run(Controller::new(&maps))).await);
    while maps.tasks() > 2 {
        tokio::task::yield_now().await;
    }
    let running = tokio::spawn(run(Controller::new(&maps)));
    tokio::time::sleep(Duration::from_secs(1)).await;
    maps.stop();
    maps.stopped().await;
    assert!(matches!(running.await.unwrap(), Err(ControllerError::Stopped)));
    let error = run(Controller::new(&maps)).await.unwrap_err();
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
    let (maps, log) = (informer(&cluster).await, ReconcileLog::new());
    let writes = log.clone();
    let reconcile = move |key: Key| {
        writes.write(&key);
        async { Ok::<_, &str>(Action::await_change()) }
    };
    let is_selected = |event: &Event<ConfigMap>| {
        event.object().get().data.as_ref().is_none_or(|data| data["value"] == "selected")
    };
    let reconciler = Controller::new(&maps).filter(is_selected);
    let running = spawn(reconciler, reconcile);
    log.has(1).await;
    cluster.change("a", "ignored").await;
    cluster.change("a", "ignored too").await;
    cluster.create("b").await;
    let names: Vec<_> = log.has(2).await.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["a", "b"]);
    cluster.change("a", "selected").await;
    log.has(3).await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn skipped_objects_do_not_block_the_reconciling_of_others() {
    let cluster = Cluster::new();
    cluster.create("good").await;
    cluster.create("bad").await;
    let maps =
        Informer::<ConfigMap>::builder(cluster.server.client()).transform(fail_for_bad).start().unwrap();
    let log = ReconcileLog::new();
    let writes = log.clone();
    let reconcile = move |key: Key| {
        writes.write(&key);
        async { Ok::<_, &str>(Action::await_change()) }
    };
    let running = spawn(Controller::new(&maps), reconcile);
    assert_eq!(log.has(1).await[0].0, "good");
    running.stop().await;
}

fn pod(version: &str, generation: Option<i64>) -> Pod {
    let mut pod = Pod::default();
    pod.metadata.name = Some("p".into());
    (pod.metadata.uid, pod.metadata.resource_version) = (Some("u".into()), Some(version.into()));
    pod.metadata.generation = generation;
    pod
}

fn update(old: &Pod, new: &Pod) -> Event<Pod> {
    Event::update(old.clone(), new.clone()).unwrap()
}

#[test]
fn the_generation_predicate_ignores_status_updates() {
    let passes = |old: Pod, new: Pod| predicates::generation(&update(&old, &new));
    assert!(!passes(pod("1", Some(1)), pod("2", Some(1))));
    assert!(passes(pod("1", Some(1)), pod("2", Some(2))));
    assert!(predicates::generation(&Event::resync(pod("1", Some(1))).unwrap()));
    assert!(passes(pod("1", None), pod("2", None)), "kinds without a generation");
    assert!(predicates::generation(&Event::create(pod("1", Some(1))).unwrap()));
    let mut recreated = pod("2", Some(1));
    recreated.metadata.uid = Some("another".into());
    assert!(passes(pod("1", Some(1)), recreated), "re-created between two events");
}

#[test]
fn each_predicate_compares_one_part_of_the_metadata() {
    type Check = fn(&Event<Pod>) -> bool;
    let before = pod("1", Some(1));
    let changed = |change: fn(&mut Pod)| {
        let mut after = pod("2", Some(1));
        change(&mut after);
        update(&before, &after)
    };
    let labels = changed(|pod| pod.metadata.labels = Some([("a".into(), "b".into())].into()));
    let annotations = changed(|pod| pod.metadata.annotations = Some([("a".into(), "b".into())].into()));
    let finalizers = changed(|pod| pod.metadata.finalizers = Some(vec!["a.b/c".into()]));
    let deletion = changed(|pod| {
        pod.metadata.deletion_timestamp =
            Some(serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap());
    });
    let empty = changed(|pod| {
        (pod.metadata.labels, pod.metadata.annotations) = (Some(BTreeMap::new()), Some(BTreeMap::new()));
        pod.metadata.finalizers = Some(Vec::new());
    });
    let events = [&labels, &annotations, &finalizers, &deletion, &empty];
    let check = |predicate: Check| events.map(predicate);
    assert_eq!(check(predicates::labels), [true, false, false, false, false]);
    assert_eq!(check(predicates::annotations), [false, true, false, false, false]);
    assert_eq!(check(predicates::finalizers), [false, false, true, false, false]);
    assert_eq!(check(predicates::deletion_timestamp), [false, false, false, true, false]);
    assert_eq!(check(predicates::generation), [false, false, true, true, false], "finalizers are not missed");
    assert_eq!(check(predicates::resource_version), [true; 5]);
    assert!(!predicates::resource_version(&Event::resync(pod("1", None)).unwrap()));

    let either = predicates::labels.or(predicates::annotations);
    assert_eq!(events.map(&either), [true, true, false, false, false]);
    let both = predicates::generation.and(predicates::deletion_timestamp);
    assert_eq!(events.map(&both), [false, false, false, true, false]);
    assert_eq!(events.map(predicates::not(predicates::labels)), [false, true, true, true, true]);
    for event in [Event::create(pod("1", Some(1))).unwrap(), Event::initial(pod("1", Some(1))).unwrap()] {
        let all: [Check; 3] = [predicates::labels, predicates::finalizers, predicates::resource_version];
        assert!(all.iter().all(|predicate| predicate(&event)), "additions pass");
    }
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
