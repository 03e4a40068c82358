//! A recorded history is replayed into an informer, which gets the same cache as the original.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube_core::ApiResource;
use kube_devserver::{Churn, DevServer};
use kube_history::{History, Kind, List, Recorder, RecorderOptions};
use kube_informer::{
    Event, Informer, Lazy, ManagedFields, Policy, ResourceVersion,
    controller::{Action, Controller, ErrorPolicy},
    history::Recording,
    reflector::Reflector,
    source::{ListWatch, Pager},
    subscription::SubscribeOptions,
};
use kube_informer_wire::{EventType, Key};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};
use testkit::TempFolder;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

const START: i64 = 1_800_000_000;

/// The versions of all pods by key.
type Versions = BTreeMap<Key, String>;

/// A recorded history, and the state of the original informer after each of its events.
struct Recorded {
    _folder: TempFolder,
    history: History,
    initial: Timestamp,
    end: Timestamp,
    states: Vec<Versions>,
}

fn version_of(object: &kube_informer_wire::Raw) -> String {
    object.identity().expect("a valid object").version.into_owned()
}

/// Records the changes of a server under load with an informer that keeps the bytes of objects.
async fn record() -> Recorded {
    let folder = TempFolder::new("kube-informer-history");
    let started = Instant::now();
    let now = || {
        let elapsed = i64::try_from(started.elapsed().as_micros()).expect("small");
        Timestamp::from_microsecond(START * 1_000_000 + elapsed).expect("in range")
    };
    let server = DevServer::start();
    let churning = server.churn(Churn::pods(50).rate(20.0));
    let options = RecorderOptions::default().segment_size(50_000);
    let mut recorder = Recorder::open(folder.path(), options, now()).expect("a new folder");
    let kind = recorder.add_kind(Kind::new("", "v1", "Pod", "pods"), now()).expect("a valid kind");
    let builder = Informer::<Pod>::builder(server.client()).managed_fields(ManagedFields::Keep).lazy();
    let pods: Informer<Lazy<Pod>> = builder.start().expect("in a runtime");
    pods.synced().await.expect("the server is running");
    let options = SubscribeOptions::new().policy(Policy::Unbounded);
    let mut events = pods.subscribe_with(options);
    let mut objects = Vec::new();
    let mut state = Versions::new();
    while state.len() < 50 {
        let event = events.next().await.expect("the informer is running");
        let raw = event.object().get().raw().clone();
        state.insert(event.key().clone(), version_of(&raw));
        objects.push(raw);
    }
    let version = state.values().filter_map(|version| version.parse::<u64>().ok()).max();
    let list = List { kind, namespace: None, version: version.map(ResourceVersion::number), objects };
    recorder.list(list, now()).expect("valid objects");
    let (initial, mut states) = (now(), vec![state.clone()]);
    // The next change has a later time than the list.
    tokio::time::advance(Duration::from_millis(1)).await;
    while states.len() < 400 {
        let event = events.next().await.expect("the informer is running");
        let raw = event.object().get().raw().clone();
        let recorded = match &event {
            Event::Deleted { .. } => {
                state.remove(event.key());
                EventType::Deleted
            }
            _ => {
                state.insert(event.key().clone(), version_of(&raw));
                EventType::Modified
            }
        };
        recorder.change(kind, recorded, &raw, now()).expect("a valid object");
        recorder.flush(now()).expect("the disk has space");
        states.push(state.clone());
    }
    let end = now();
    recorder.close(end).expect("the disk has space");
    churning.stop().await;
    let history = History::open(folder.path()).expect("a history");
    Recorded { _folder: folder, history, initial, end, states }
}

fn versions(pods: &Informer<Pod>) -> Versions {
    let version = |pod: &Pod| pod.metadata.resource_version.clone().unwrap_or_default();
    pods.list().iter().map(|pod| (Key::of(&**pod).expect("a valid key"), version(pod))).collect()
}

#[tokio::test(start_paused = true)]
async fn a_replay_gives_the_same_cache_after_every_event() {
    let recorded = record().await;
    let replay = recorded.history.replay(recorded.initial..recorded.end).immediate();
    let kind = replay.kind("", "v1", "pods").unwrap();
    let last = replay.last_version(kind).unwrap().unwrap();
    let pods = Informer::<Pod>::from_source(replay).start().unwrap();
    // Without waiting first: the replay may be over when the informer is synced.
    let mut events = pods.subscribe_with(SubscribeOptions::new().policy(Policy::Unbounded));
    let mut state = Versions::new();
    let mut seen = Vec::new();
    // Those of the initial list arrive one by one.
    while seen.len() < recorded.states.len() {
        let next = tokio::time::timeout(Duration::from_secs(3_600), events.next()).await;
        let event = next.expect("the replay has an event for each change").unwrap();
        match &event {
            Event::Deleted { .. } => {
                state.remove(event.key());
            }
            _ => {
                let version = event.object().get().metadata.resource_version.clone().unwrap();
                state.insert(event.key().clone(), version);
            }
        }
        if state == recorded.states[0] || !seen.is_empty() {
            seen.push(state.clone());
        }
    }
    assert_eq!(seen, recorded.states);
    pods.wait_for(&last).await.unwrap();
    assert_eq!(&versions(&pods), recorded.states.last().unwrap());
    pods.stop();
    pods.stopped().await;
}

#[tokio::test(start_paused = true)]
async fn a_replay_has_the_original_spacing_or_another_speed() {
    let recorded = record().await;
    for (speed, divisor) in [(1.0, 1), (10.0, 10)] {
        let replay = recorded.history.replay(recorded.initial..recorded.end).speed(speed);
        let last = replay.last_version(replay.kind("", "v1", "pods").unwrap()).unwrap().unwrap();
        let started = Instant::now();
        let pods = Informer::<Pod>::from_source(replay).start().unwrap();
        pods.synced().await.unwrap();
        pods.wait_for(&last).await.unwrap();
        let recorded_for = Duration::try_from(recorded.end.duration_since(recorded.initial)).unwrap();
        let (elapsed, expected) = (started.elapsed(), recorded_for / divisor);
        // Each of the 400 delays is rounded up to a millisecond.
        assert!(
            elapsed + Duration::from_secs(1) >= expected && elapsed <= expected + Duration::from_secs(2),
            "{elapsed:?} for {expected:?}"
        );
        assert_eq!(&versions(&pods), recorded.states.last().unwrap());
        pods.stop();
        pods.stopped().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_replay_starts_at_any_moment() {
    let recorded = record().await;
    let middle = recorded.initial + recorded.end.duration_since(recorded.initial) / 2;
    let replay = recorded.history.replay(middle..recorded.end).immediate();
    let last = replay.last_version(replay.kind("", "v1", "pods").unwrap()).unwrap().unwrap();
    let pods = Informer::<Pod>::from_source(replay).start().unwrap();
    pods.synced().await.unwrap();
    pods.wait_for(&last).await.unwrap();
    assert_eq!(&versions(&pods), recorded.states.last().unwrap());
    let services = Informer::<k8s_openapi::api::core::v1::Service>::from_source(
        recorded.history.replay(middle..recorded.end),
    );
    let services = services.start().unwrap();
    let failed = tokio::time::timeout(Duration::from_secs(600), services.synced()).await;
    assert!(!matches!(failed, Ok(Ok(()))), "services are not recorded");
}

/// Records the pods of a server while `work` runs, until all of its changes are recorded.
async fn recorded_while(server: &DevServer, work: impl AsyncFnOnce()) -> (TempFolder, History) {
    let folder = TempFolder::new("kube-informer-history");
    let recording = Recording::start(folder.path(), RecorderOptions::default()).expect("a new folder");
    let sink = recording.sink(Kind::new("", "v1", "Pod", "pods"), None).await.expect("pods are recorded");
    let source = ListWatch::lazy_dynamic(server.client(), None, &ApiResource::erase::<Pod>(&()));
    let last_error = sink.last_error();
    let reflector =
        Reflector::new(source, sink).on_error(move |report| last_error.set(report.cause.to_string()));
    let (mut status, cancel) = (reflector.status(), CancellationToken::new());
    let task = tokio::spawn(reflector.run(cancel.clone()));
    status.wait_for(|status| status.version.is_some()).await.expect("it is running");
    work().await;
    let version = ResourceVersion::number(server.version());
    status.wait_for(|status| status.version.as_ref() == Some(&version)).await.expect("it is running");
    cancel.cancel();
    task.await.expect("it does not panic");
    recording.stop().await.expect("the disk has space");
    let history = History::open(folder.path()).expect("a history");
    (folder, history)
}

async fn pods_of(server: &DevServer) -> Versions {
    let source = ListWatch::<Pod>::all(server.client());
    let list = Pager::new(&source).list::<Pod>(&Default::default()).await.expect("the server is running");
    let version = |pod: &Pod| pod.metadata.resource_version.clone().unwrap_or_default();
    list.items.iter().map(|pod| (Key::of(pod).expect("a valid key"), version(pod))).collect()
}

fn last_state(history: &History) -> Versions {
    let pods = history.kind("pods").expect("pods are recorded");
    let snapshot = history.at(history.span().expect("readable").end).expect("in range");
    let versions = snapshot.list(pods, None).map(|version| version.expect("intact"));
    versions.map(|one| (one.key().clone(), one.version().expect("it exists").to_string())).collect()
}

#[tokio::test(start_paused = true)]
async fn a_recording_ends_with_the_state_of_the_server() {
    let server = DevServer::start();
    let churning = server.churn(Churn::pods(30).rate(100.0));
    let (_folder, history) = recorded_while(&server, async || {
        tokio::time::sleep(Duration::from_secs(5)).await;
        churning.stop().await;
    })
    .await;
    assert_eq!(last_state(&history), pods_of(&server).await);
    assert!(history.gaps().unwrap().iter().all(|gap| gap.reason == "not listed yet" && gap.to.is_some()));
    let span = history.span().unwrap();
    let changes = history.changes(span.start..span.end, kube_history::Filter::new()).unwrap().count();
    assert!(changes > 400, "{changes} changes are recorded");
}

#[tokio::test(start_paused = true)]
async fn a_list_after_a_lost_watch_ends_a_gap_with_its_reason() {
    let server = DevServer::start();
    let churning = server.churn(Churn::pods(30).rate(0.0));
    let (_folder, history) = recorded_while(&server, async || {
        tokio::time::sleep(Duration::from_secs(5)).await;
        // The version of the last event has expired.
        let maps: kube::Api<ConfigMap> = kube::Api::default_namespaced(server.client());
        let mut map = ConfigMap::default();
        map.metadata.name = Some("other".to_owned());
        maps.create(&kube::api::PostParams::default(), &map).await.expect("the server is running");
        server.compact();
        server.cut_watches();
        churning.stop().await;
    })
    .await;
    assert_eq!(last_state(&history), pods_of(&server).await);
    let gaps = history.gaps().unwrap();
    let gap = gaps.iter().find(|gap| gap.reason != "not listed yet").expect("the watch was lost");
    assert!(gap.to.is_some_and(|to| to >= gap.from) && !gap.reason.is_empty(), "{gap:?}");
}

/// Runs a controller on a replay, and returns its decisions in order. A decision depends on the pod and on the complete cache.
async fn decisions(recorded: &Recorded) -> Vec<(Key, String)> {
    let replay = recorded.history.replay(recorded.initial..recorded.end);
    let last = replay.last_version(replay.kind("", "v1", "pods").expect("recorded")).expect("intact");
    let last = last.expect("pods were listed");
    let pods = Informer::<Pod>::from_source(replay).start().expect("in a runtime");
    let made = Arc::new(Mutex::new(Vec::new()));
    let (log, store) = (Arc::clone(&made), pods.store().clone());
    let reconcile = move |key: Key, _: Arc<()>| {
        let (log, store) = (Arc::clone(&log), store.clone());
        async move {
            let pod = store.get(&key);
            let version = pod.and_then(|pod| pod.metadata.resource_version.clone());
            let decision = match version {
                Some(version) => format!("check version {version}, one of {} pods", store.len()),
                None => format!("forget it, {} pods remain", store.len()),
            };
            log.lock().expect("not poisoned").push((key, decision));
            Ok::<_, std::convert::Infallible>(Action::await_change())
        }
    };
    let controller = Controller::new(&pods);
    let handle = controller.handle();
    let running = tokio::spawn(controller.run_by_key(reconcile, ErrorPolicy::default(), Arc::new(())));
    pods.wait_for(&last).await.expect("the replay reaches its end");
    handle.idle().await;
    handle.stop();
    running.await.expect("it does not panic").expect("it was stopped");
    pods.stop();
    pods.stopped().await;
    let made = made.lock().expect("not poisoned");
    made.clone()
}

#[tokio::test(start_paused = true)]
async fn a_controller_on_a_replay_makes_the_same_decisions_twice() {
    let recorded = record().await;
    let first = decisions(&recorded).await;
    // Each pod of the initial list and most of the 399 changes; changes that arrive together are one reconcile.
    assert!(first.len() > 300, "{} decisions", first.len());
    assert!(first.iter().any(|(_, decision)| decision.starts_with("forget")), "pods were deleted");
    let last: BTreeMap<_, _> = first.iter().cloned().collect();
    for (key, version) in recorded.states.last().unwrap() {
        assert!(last[key].starts_with(&format!("check version {version},")), "{key}: {}", last[key]);
    }
    assert_eq!(decisions(&recorded).await, first);
}
