//! Controllers on an informer: our loop, and that of kube's runtime.

use crate::cluster::{Cluster, all_but_bad, named};
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

/// What was reconciled, and when.
#[derive(Clone)]
struct Diary {
    entries: Arc<Mutex<Vec<(String, Duration)>>>,
    began: Instant,
}

impl Diary {
    fn new() -> Self {
        Self { entries: Arc::default(), began: Instant::now() }
    }

    /// Writes down a key, and says how often it had been there.
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
                // Time is paused: it goes on when all else waits.
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

/// An error of which one sort cannot even be told.
enum Verdict {
    NotYet,
    Unspeakable,
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotYet => f.write_str("not yet"),
            Self::Unspeakable => panic!("no words"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_comes_back_later_each_time_and_a_success_when_it_asked_to() {
    let cluster = Cluster::new();
    cluster.create("broken").await;
    let (maps, diary, cancel) = (informer(&cluster).await, Diary::new(), CancellationToken::new());
    let writes = diary.clone();
    let reconcile = move |key: Key| {
        let before = writes.write(&key);
        async move {
            match before {
                0..4 => Err(Verdict::NotYet),
                4 => Ok(Action::requeue(Duration::from_secs(60))),
                5 => panic!("once"),
                6 => Err(Verdict::Unspeakable),
                _ => Ok(Action::await_change()),
            }
        }
    };
    let running = tokio::spawn(Controller::new(&maps).run(reconcile, cancel.clone()));
    let times: Vec<_> = diary.has(8).await.iter().map(|(_, at)| at.as_millis()).collect();
    let waits: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    for (wait, expected) in waits.iter().zip([5, 10, 20, 40, 60_000, 5, 10]) {
        assert!((expected..expected + 3).contains(wait), "{waits:?}");
    }
    cluster.change("broken", "1").await;
    diary.has(9).await;
    cancel.cancel();
    running.await.unwrap().unwrap();
    cluster.change("broken", "2").await;
    assert_eq!((diary.read().len(), maps.tasks()), (9, 2), "it is over, and its handler is gone");
}

#[tokio::test(start_paused = true)]
async fn a_key_is_in_one_hand_at_a_time_and_what_happens_now_goes_first() {
    let cluster = Cluster::new();
    for name in ["a", "b", "c", "d", "e", "f"] {
        cluster.create(name).await;
    }
    let (maps, diary, cancel) = (informer(&cluster).await, Diary::new(), CancellationToken::new());
    let (writes, gate) = (diary.clone(), Arc::new(Semaphore::new(0)));
    let (hands, open) = (Arc::new(Mutex::new(BTreeMap::<String, u32>::new())), Arc::clone(&gate));
    let reconcile = move |key: Key| {
        writes.write(&key);
        let (hands, open) = (Arc::clone(&hands), Arc::clone(&open));
        async move {
            let in_hand = |change: i32| {
                let mut hands = hands.lock().unwrap();
                let count = hands.entry(key.name().to_owned()).or_default();
                *count = count.checked_add_signed(change).unwrap();
                assert!(*count <= 1, "{key} is in two hands");
                assert!(hands.values().sum::<u32>() <= 2, "two at a time");
            };
            in_hand(1);
            open.acquire().await.unwrap().forget();
            in_hand(-1);
            Ok::<_, String>(Action::await_change())
        }
    };
    let running = tokio::spawn(Controller::new(&maps).concurrency(2).run(reconcile, cancel.clone()));
    let first = diary.has(2).await;
    // While both hands are full: what one of them holds changes, and something new comes.
    cluster.change(&first[0].0, "1").await;
    let new = cluster.create("new").await.metadata.resource_version.unwrap();
    maps.wait_for(&new.parse().unwrap()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    gate.add_permits(1);
    assert_eq!(diary.has(3).await[2].0, "new", "before the rest of what was there");
    gate.add_permits(100);
    let all = diary.has(8).await;
    assert_eq!(all.iter().filter(|(name, _)| *name == first[0].0).count(), 2, "the change brought it back");
    cancel.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn another_informer_may_bring_keys_too() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let (maps, diary, cancel) = (informer(&cluster).await, Diary::new(), CancellationToken::new());
    let others =
        Informer::<ConfigMap>::builder(cluster.server.client()).namespace("kube-system").start().unwrap();
    let writes = diary.clone();
    let reconcile = move |key: Key| {
        writes.write(&key);
        async { Ok::<_, String>(Action::await_change()) }
    };
    let owner = |_: &ConfigMap| ["default/a".parse::<Key>().unwrap()];
    let reconciler = Controller::new(&maps).watches(&others, owner);
    let running = tokio::spawn(reconciler.run(reconcile, cancel.clone()));
    diary.has(1).await;
    let other = cluster.namespace("kube-system").await;
    other.create(&<_>::default(), &named("owned")).await.unwrap();
    let names: Vec<_> = diary.has(3).await.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.iter().filter(|name| *name == "a").count(), 2);
    cancel.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn it_does_not_act_on_a_cache_that_cannot_be_complete() {
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
async fn kube_is_told_in_its_own_words() {
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
    // What changes before the initial state has been read is part of it, but for what goes.
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
async fn only_what_is_wanted_is_reconciled() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let (maps, diary, cancel) = (informer(&cluster).await, Diary::new(), CancellationToken::new());
    let writes = diary.clone();
    let reconcile = move |key: Key| {
        writes.write(&key);
        async { Ok::<_, &str>(Action::await_change()) }
    };
    let is_loud = |event: &Event<ConfigMap>| {
        event.object().get().data.as_ref().is_none_or(|data| data["value"] == "loud")
    };
    let reconciler = Controller::filtered(&maps, is_loud);
    let running = tokio::spawn(reconciler.run(reconcile, cancel.clone()));
    diary.has(1).await;
    cluster.change("a", "quiet").await;
    cluster.change("a", "quieter").await;
    cluster.create("b").await;
    let names: Vec<_> = diary.has(2).await.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["a", "b"]);
    cluster.change("a", "loud").await;
    diary.has(3).await;
    cancel.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_does_not_keep_the_rest_from_being_reconciled() {
    let cluster = Cluster::new();
    cluster.create("good").await;
    cluster.create("bad").await;
    let maps =
        Informer::<ConfigMap>::builder(cluster.server.client()).transform(all_but_bad).start().unwrap();
    let (diary, cancel) = (Diary::new(), CancellationToken::new());
    let writes = diary.clone();
    let reconcile = move |key: Key| {
        writes.write(&key);
        async { Ok::<_, &str>(Action::await_change()) }
    };
    let running = tokio::spawn(Controller::new(&maps).run(reconcile, cancel.clone()));
    assert_eq!(diary.has(1).await[0].0, "good");
    cancel.cancel();
    running.await.unwrap().unwrap();
}

#[test]
fn news_of_a_spec_is_told_from_news_of_a_status() {
    let pod = |version: &str, generation: Option<i64>| {
        let mut pod = Pod::default();
        pod.metadata.name = Some("p".into());
        (pod.metadata.uid, pod.metadata.resource_version) = (Some("u".into()), Some(version.into()));
        pod.metadata.generation = generation;
        pod
    };
    let is_news = |old: Pod, new: Pod| generation_changed(&Event::<Pod>::update(old, new).unwrap());
    assert!(!is_news(pod("1", Some(1)), pod("2", Some(1))));
    assert!(is_news(pod("1", Some(1)), pod("2", Some(2))));
    assert!(generation_changed(&Event::resync(pod("1", Some(1))).unwrap()));
    assert!(is_news(pod("1", None), pod("2", None)), "what is not counted");
    assert!(generation_changed(&Event::create(pod("1", Some(1))).unwrap()));
    let mut recreated = pod("2", Some(1));
    recreated.metadata.uid = Some("another".into());
    assert!(is_news(pod("1", Some(1)), recreated), "what was made anew unseen");
}

#[test]
fn an_owner_is_who_controls_it() {
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
