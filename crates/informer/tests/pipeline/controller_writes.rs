//! Writes of reconcile functions: finalizers, applied objects, events, and reads of own writes.

use crate::cluster::{Cluster, named};
use http::{Request, Response};
use k8s_openapi::api::core::v1::{ConfigMap, Event as EventObject};
use kube::{
    Client, Resource,
    api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams},
    client::Body,
};
use kube_devserver::{Fault, Verb};
use kube_informer::{
    Informer, SyncError,
    controller::{
        Action, Controller, ErrorPolicy, FinalizerError, FinalizerEvent, MutationCache, apply, apply_status,
        events::{EventNote, Recorded, Recorder},
        finalizer, predicates, retry_on_conflict,
    },
    informer::WrittenError,
};
use serde_json::{Value, json};
use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

const FINALIZER: &str = "example.com/cleanup";

struct State {
    api: Api<ConfigMap>,
    log: Mutex<Vec<&'static str>>,
}

async fn reconcile(map: Arc<ConfigMap>, state: Arc<State>) -> Result<Action, FinalizerError<kube::Error>> {
    let log = &state.log;
    finalizer(&state.api, FINALIZER, map, |event| async move {
        let line = match event {
            FinalizerEvent::Apply(_) => "apply",
            FinalizerEvent::Cleanup(_) => "cleanup",
        };
        log.lock().unwrap().push(line);
        Ok(Action::await_change())
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn a_finalizer_and_the_generation_predicate_work_together() {
    let cluster = Cluster::new();
    let maps = Informer::<ConfigMap>::builder(cluster.server.client()).start().unwrap();
    let state = Arc::new(State { api: cluster.maps.clone(), log: Mutex::default() });
    let controller = Controller::new(&maps).filter(predicates::generation);
    let handle = controller.handle();
    let running = tokio::spawn(controller.run(reconcile, ErrorPolicy::default(), Arc::clone(&state)));
    handle.idle().await;
    // The patch that adds the finalizer conflicts once with another writer.
    cluster.server.faults().inject(Fault::answer(409).on(Verb::Patch).times(1));
    maps.written(&cluster.create("a").await).await.unwrap();
    handle.idle().await;
    let stored = cluster.maps.get("a").await.unwrap();
    assert_eq!(stored.metadata.finalizers, Some(vec![FINALIZER.to_owned()]));
    assert!(state.log.lock().unwrap().contains(&"apply"));
    assert!(!state.log.lock().unwrap().contains(&"cleanup"));

    cluster.maps.delete("a", &DeleteParams::default()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    handle.idle().await;
    assert!(cluster.maps.get_opt("a").await.unwrap().is_none(), "the finalizer was removed");
    assert_eq!(state.log.lock().unwrap().iter().filter(|line| **line == "cleanup").count(), 1);
    handle.stop();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn other_finalizers_remain_and_invalid_names_are_refused() {
    let cluster = Cluster::new();
    let mut map = named("a");
    map.metadata.finalizers = Some(vec!["other.example/keep".to_owned()]);
    let stale = cluster.maps.create(&PostParams::default(), &map).await.unwrap();
    cluster.change("a", "1").await; // the version of `stale` is outdated
    let maps = &cluster.maps;
    let call = |name: &'static str, map: ConfigMap| async move {
        let nothing = |_| async { Ok::<_, kube::Error>(Action::await_change()) };
        finalizer(maps, name, Arc::new(map), nothing).await
    };
    call(FINALIZER, stale.clone()).await.unwrap();
    let finalizers = cluster.maps.get("a").await.unwrap().metadata.finalizers.unwrap();
    assert_eq!(finalizers, ["other.example/keep", FINALIZER]);
    for name in ["cleanup", "/cleanup", "example.com/"] {
        let error = call(name, stale.clone()).await.unwrap_err();
        assert!(matches!(error, FinalizerError::InvalidName { .. }), "{error}");
    }
    assert!(matches!(call(FINALIZER, ConfigMap::default()).await.unwrap_err(), FinalizerError::NoName));
}

#[tokio::test(start_paused = true)]
async fn an_object_is_reconciled_again_after_a_server_did_not_serve_its_kind() {
    let cluster = Cluster::new();
    let map = cluster.create("a").await;
    let nothing = |_| async { Ok::<_, kube::Error>(Action::await_change()) };
    let not_served = || cluster.server.faults().inject(Fault::answer(404).on(Verb::Patch).times(1));
    not_served();
    let action = finalizer(&cluster.maps, FINALIZER, Arc::new(map.clone()), nothing).await.unwrap();
    assert!(action.requeue_after().is_some(), "to add the finalizer");
    finalizer(&cluster.maps, FINALIZER, Arc::new(map), nothing).await.unwrap();
    cluster.maps.delete("a", &DeleteParams::default()).await.unwrap();
    let deleting = Arc::new(cluster.maps.get("a").await.unwrap());
    not_served();
    let action = finalizer(&cluster.maps, FINALIZER, Arc::clone(&deleting), nothing).await.unwrap();
    assert!(action.requeue_after().is_some(), "to remove the finalizer");
    let action = finalizer(&cluster.maps, FINALIZER, deleting, nothing).await.unwrap();
    assert_eq!(action.requeue_after(), None);
    assert!(cluster.maps.get_opt("a").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_finalizer_of_an_object_that_was_created_again_remains() {
    let cluster = Cluster::new();
    let mut map = named("a");
    map.metadata.finalizers = Some(vec![FINALIZER.to_owned()]);
    cluster.maps.create(&PostParams::default(), &map).await.unwrap();
    cluster.maps.delete("a", &DeleteParams::default()).await.unwrap();
    let deleting = cluster.maps.get("a").await.unwrap();
    // While the cleanup runs, another program removes the finalizer and creates the object again.
    let replaced_during_cleanup = |_| async {
        let none = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        cluster.maps.patch("a", &PatchParams::default(), &none).await.unwrap();
        cluster.maps.create(&PostParams::default(), &map).await.unwrap();
        Ok::<_, kube::Error>(Action::await_change())
    };
    finalizer(&cluster.maps, FINALIZER, Arc::new(deleting), replaced_during_cleanup).await.unwrap();
    let again = cluster.maps.get("a").await.unwrap();
    assert_eq!(again.metadata.finalizers, Some(vec![FINALIZER.to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn a_failed_cleanup_keeps_the_object() {
    let cluster = Cluster::new();
    let mut map = named("a");
    map.metadata.finalizers = Some(vec![FINALIZER.to_owned()]);
    cluster.maps.create(&PostParams::default(), &map).await.unwrap();
    cluster.maps.delete("a", &DeleteParams::default()).await.unwrap();
    let deleting = cluster.maps.get("a").await.unwrap();
    let failing = |_| async { Err(std::io::Error::other("the cloud is down")) };
    let error = finalizer(&cluster.maps, FINALIZER, Arc::new(deleting), failing).await.unwrap_err();
    assert!(matches!(error, FinalizerError::Cleanup(_)), "{error}");
    assert!(cluster.maps.get_opt("a").await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn conflicts_are_retried_five_times() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let replace = || async {
        let map = cluster.maps.get("a").await?;
        cluster.maps.replace("a", &PostParams::default(), &map).await
    };
    cluster.server.faults().inject(Fault::answer(409).on(Verb::Update).times(4));
    retry_on_conflict(replace).await.unwrap();
    let conflicts = cluster.server.faults().inject(Fault::answer(409).on(Verb::Update));
    retry_on_conflict(replace).await.unwrap_err();
    assert_eq!(conflicts.hits(), 5);
    conflicts.withdraw();
    let broken = cluster.server.faults().inject(Fault::answer(500).on(Verb::Update));
    retry_on_conflict(replace).await.unwrap_err();
    assert_eq!(broken.hits(), 1, "other errors are not retried");
}

/// A server that records the requests, and responds with their body.
#[derive(Clone, Default)]
struct Echo(Arc<Mutex<Vec<Request<Value>>>>);

impl tower_service::Service<Request<Body>> for Echo {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let requests = Arc::clone(&self.0);
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let bytes = body.collect_bytes().await.unwrap();
            let value = serde_json::from_slice(&bytes).unwrap();
            requests.lock().unwrap().push(Request::from_parts(head, value));
            Ok(Response::new(Body::from(bytes.to_vec())))
        })
    }
}

#[tokio::test]
async fn apply_sends_a_forced_server_side_apply() {
    let echo = Echo::default();
    let api: Api<ConfigMap> = Api::namespaced(Client::new(echo.clone(), "default"), "shop");
    let mut map = named("settings");
    map.metadata.resource_version = Some("7".into());
    map.metadata.managed_fields = Some(Vec::new());
    map.data = Some([("mode".into(), "fast".into())].into());
    let stored = apply(&api, "example-operator", &map).await.unwrap();
    assert_eq!(stored.data, map.data, "returns what the server returned");
    apply_status(&api, "example-operator", &map).await.unwrap();
    let requests = echo.0.lock().unwrap();
    for (request, path) in requests.iter().zip(["settings", "settings/status"]) {
        assert_eq!(
            (request.method().as_str(), request.uri().path()),
            ("PATCH", &*format!("/api/v1/namespaces/shop/configmaps/{path}"))
        );
        let query = request.uri().query().unwrap();
        assert!(query.contains("force=true") && query.contains("fieldManager=example-operator"), "{query}");
        assert_eq!(request.headers()["content-type"], "application/apply-patch+yaml");
        let expected = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "settings" }, "data": { "mode": "fast" },
        });
        assert_eq!(request.body(), &expected);
    }
    assert_eq!(requests.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn own_writes_can_be_awaited_or_overlaid() {
    let cluster = Cluster::new();
    let maps = Informer::<ConfigMap>::builder(cluster.server.client()).start().unwrap();
    maps.synced_within(Duration::from_secs(10)).await.unwrap();
    let cache = MutationCache::new(maps.store());
    cluster.server.faults().inject(Fault::stall(Duration::from_secs(5)).on(Verb::Watch).times(1));
    cluster.server.cut_watches();
    let first = cluster.create("a").await;
    let key = cache.written(first.clone()).unwrap();
    assert!(maps.get(&key).is_none() && cache.get(&key).is_some(), "visible before the watch delivers it");
    let second = cluster.change("a", "2").await;
    cache.written(second.clone()).unwrap();
    cache.written(first.clone()).unwrap(); // an older version is ignored
    assert_eq!(cache.get(&key).unwrap().metadata.resource_version, second.metadata.resource_version);
    maps.written(&second).await.unwrap();
    assert_eq!(maps.get(&key).unwrap().metadata.resource_version, second.metadata.resource_version);
    assert_eq!(
        (cache.get(&key).unwrap().data.clone(), cache.pending()),
        (second.data, 0),
        "the overlay is dropped"
    );
    // A deletion by others is not hidden by the overlay.
    let third = cluster.change("a", "3").await;
    cache.written(third).unwrap();
    cluster.delete("a").await;
    maps.written(&cluster.create("b").await).await.unwrap();
    assert!(cache.get(&key).is_none());
    let error = maps.written(&named("c")).await.unwrap_err();
    assert!(matches!(error, WrittenError::NoVersion { .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn waiting_for_an_informer_that_was_not_started_is_an_error() {
    let cluster = Cluster::new();
    let idle = Informer::<ConfigMap>::builder(cluster.server.client()).build().unwrap();
    let error = idle.synced().await.unwrap_err();
    assert!(matches!(error, SyncError::NotStarted { .. }));
    assert_eq!(error.to_string(), "informer of v1 ConfigMap was not started; call `start` first");
    let error = idle.synced_within(Duration::from_secs(1)).await.unwrap_err();
    assert!(error.to_string().contains("was not started"), "{error}");
    cluster.server.faults().inject(Fault::stall_until_withdrawn().on(Verb::List));
    cluster.server.faults().inject(Fault::stall_until_withdrawn().on(Verb::Watch));
    idle.start();
    let error = idle.synced_within(Duration::from_secs(3)).await.unwrap_err();
    assert!(error.to_string().contains("not synced within 3s"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn repeated_events_increment_a_count_on_the_server() {
    let cluster = Cluster::new();
    let map = cluster.create("a").await;
    let recorder = Recorder::new(cluster.server.client(), "example-operator").instance("pod-1");
    let events: Api<EventObject> = Api::default_namespaced(cluster.server.client());
    let record = |message: &str| {
        let note = EventNote::warning("Failed", message).action("Applying");
        let (recorder, object) = (recorder.clone(), map.object_ref(&()));
        async move { recorder.record(&object, note).await.unwrap() }
    };
    assert_eq!(record("no quota").await, Recorded::Created);
    for _ in 0..2 {
        assert_eq!(record("no quota").await, Recorded::Counted);
    }
    assert_eq!(record("no node").await, Recorded::Created);
    let list = events.list(&ListParams::default()).await.unwrap().items;
    let mut counts: Vec<_> = list.iter().map(|event| (event.message.clone().unwrap(), event.count)).collect();
    counts.sort();
    assert_eq!(counts, [("no node".to_owned(), Some(1)), ("no quota".to_owned(), Some(3))]);
    let event = &list[0];
    assert_eq!((event.type_.as_deref(), event.reason.as_deref()), (Some("Warning"), Some("Failed")));
    assert_eq!(event.involved_object.name.as_deref(), Some("a"));
    // The server deletes events after an hour: the next one is created again.
    for event in &list {
        events.delete(event.metadata.name.as_deref().unwrap(), &DeleteParams::default()).await.unwrap();
    }
    assert_eq!(record("no quota").await, Recorded::Created);
    assert_eq!(record(&"long ".repeat(1000)).await, Recorded::Created);
    let patch = Patch::Merge(json!({ "metadata": { "labels": { "still": "valid" } } }));
    cluster.maps.patch("a", &PatchParams::default(), &patch).await.unwrap();
}
