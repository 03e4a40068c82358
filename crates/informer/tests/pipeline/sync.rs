//! The lifecycle of an informer, its sync, and sync errors.

use crate::cluster::{Cluster, fail_for_bad};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube_devserver::Fault;
use kube_informer::{
    Informer,
    informer::{InformerPhase as Phase, StartError, Synced, wait_for_sync},
    source::{FromFns, ListWatch, Page},
    wire::LabelSelector,
};
use std::{error::Error, time::Duration};

fn informer(cluster: &Cluster) -> Informer<ConfigMap> {
    Informer::builder(cluster.server.client()).start().unwrap()
}

// R126, R137, R139, R142
#[tokio::test(start_paused = true)]
async fn an_informer_starts_syncs_and_stops() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let maps = Informer::<ConfigMap>::builder(cluster.server.client()).named("maps").build().unwrap();
    let subscriber = maps.subscribe();
    assert_eq!((maps.status().phase, maps.tasks()), (Phase::Idle, 0));
    assert!(!maps.has_synced() && !maps.has_started() && !maps.is_stopped());
    assert!(!subscriber.registration().has_synced());

    maps.start();
    maps.start();
    maps.synced().await.unwrap();
    let status = maps.status();
    assert_eq!((status.phase, status.objects, maps.len(), maps.tasks()), (Phase::Synced, 1, 1, 2));
    assert_eq!((status.version, status.last_error), (maps.version(), None));
    assert!(status.times.started <= status.times.synced && status.times.synced.is_some());
    assert_eq!(status.counts.streams + status.counts.lists, 1, "started once");
    assert!(maps.has_synced() && maps.has_started() && !maps.is_stopped());

    maps.stop();

    maps.stopped().await;
    assert_eq!((maps.status().phase, maps.tasks()), (Phase::Stopped, 0));
    assert!(maps.has_started() && maps.is_stopped());
    assert_eq!(maps.len(), 1, "the cache stays readable");
    maps.start();
    assert_eq!(maps.tasks(), 0);
}

// R142
#[tokio::test(start_paused = true)]
async fn dropping_the_last_handle_stops_the_informer() {
    let cluster = Cluster::new();
    let maps = informer(&cluster);
    let other = maps.clone();
    maps.synced().await.unwrap();
    let (store, mut events) = (maps.store().clone(), maps.subscribe());
    drop(maps);
    assert!(!other.is_stopped());
    drop(other);
    assert!(events.next().await.is_none());
    let never = "999".parse().unwrap();
    assert!(store.wait_for(&never).await.is_err(), "the store is closed");
}

// R142
#[tokio::test(start_paused = true)]
async fn an_informer_that_was_never_started_can_be_stopped() {
    let cluster = Cluster::new();
    let maps = Informer::<ConfigMap>::builder(cluster.server.client()).build().unwrap();
    let waits = maps.synced();
    let handler = maps.add_handler(|_: &_| {}).unwrap();
    assert_eq!(maps.tasks(), 1);
    maps.stop();
    maps.stopped().await;
    assert_eq!(maps.tasks(), 0);
    assert!(waits.await.unwrap_err().is_stopped());
    assert!(handler.is_closed() && !handler.has_synced());
}

#[tokio::test(start_paused = true)]
async fn synced_reports_a_refusal_and_succeeds_after_it_is_lifted() {
    for code in [401, 403, 404] {
        let cluster = Cluster::new();
        let fault = cluster.server.faults().inject(Fault::answer(code).of("configmaps"));
        let maps = informer(&cluster);
        let error = maps.synced().await.unwrap_err();
        assert_eq!(
            [error.is_unauthorized(), error.is_forbidden(), error.is_not_found()],
            [401, 403, 404].map(|c| c == code)
        );
        assert!(
            error.to_string().starts_with(&format!("cannot list v1 ConfigMap: server returned {code}")),
            "{error}"
        );
        let mut status = maps.watch_status();
        assert_eq!(status.now().phase, Phase::Syncing);
        assert!(status.now().last_error.unwrap().contains(&code.to_string()));
        fault.withdraw();
        status.wait_for(|status| status.phase == Phase::Synced).await;
        maps.synced().await.unwrap();
        assert_eq!(maps.status().last_error, None);
    }
}

#[tokio::test(start_paused = true)]
async fn synced_waits_during_temporary_errors() {
    let cluster = Cluster::new();
    cluster.server.faults().inject(Fault::answer(500).of("configmaps").times(3));
    let maps = informer(&cluster);
    maps.synced().await.unwrap();
    assert!(maps.status().counts.errors >= 3);
}

#[tokio::test(start_paused = true)]
async fn synced_names_skipped_objects() {
    let cluster = Cluster::new();
    cluster.create("good").await;
    cluster.create("bad").await;
    let maps =
        Informer::<ConfigMap>::builder(cluster.server.client()).transform(fail_for_bad).start().unwrap();
    let error = maps.synced().await.unwrap_err();
    assert!(error.is_skipped());
    assert_eq!(
        error.to_string(),
        "v1 ConfigMap synced without default/bad, which was skipped: transform of default/bad failed: no"
    );
    assert_eq!((maps.len(), maps.has_synced()), (1, true));
}

// R144, R145
#[tokio::test(start_paused = true)]
async fn wait_for_sync_names_those_that_have_not_synced_with_the_reasons() {
    let cluster = Cluster::new();
    wait_for_sync([], Duration::ZERO).await.unwrap();
    let maps = informer(&cluster);
    let subscriber = maps.subscribe();
    wait_for_sync([&maps as &dyn Synced, subscriber.registration()], Duration::from_secs(10)).await.unwrap();
    // A synced informer passes even with a zero timeout.
    wait_for_sync([&maps as &dyn Synced], Duration::ZERO).await.unwrap();

    let there = cluster.create("a").await.metadata.resource_version.unwrap();
    maps.wait_for(&there.parse().unwrap()).await.unwrap();
    let lazy = maps.subscribe_with(kube_informer::subscription::SubscribeOptions::new().named("lazy"));
    cluster.server.faults().inject(Fault::answer(403).of("pods"));
    cluster.server.faults().inject(Fault::answer(503).of("nodes"));
    let pods = Informer::<Pod>::builder(cluster.server.client()).start().unwrap();
    let nodes = Informer::<Node>::builder(cluster.server.client()).start().unwrap();
    let idle = Informer::<ConfigMap>::builder(cluster.server.client()).named("idle").build().unwrap();
    let all: [&dyn Synced; 5] = [&pods, &nodes, &maps, lazy.registration(), &idle];
    let error = wait_for_sync(all, Duration::from_secs(5)).await.unwrap_err();
    let names: Vec<_> = error.waiting.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["idle", "lazy", "v1 Node", "v1 Pod"]);
    let text = error.to_string();
    assert!(
        text.starts_with(
            "failed to sync all caches: idle: informer of v1 ConfigMap was not started; call `start` first; "
        ),
        "{text}"
    );
    assert!(
        text.contains("lazy: not synced within 5s, last error: 1 events have not been handled; "),
        "{text}"
    );
    assert!(text.contains("v1 Node: not synced within 5s, last error: server returned 503"), "{text}");
    assert!(text.contains("v1 Pod: cannot list v1 Pod: server returned 403"), "{text}");
    assert!(error.source().is_some());
}

// R138
#[tokio::test(start_paused = true)]
async fn invalid_configuration_is_reported_before_any_request() {
    let cluster = Cluster::new();
    let maps = || Informer::<ConfigMap>::builder(cluster.server.client());
    let message = |result: Result<Informer<ConfigMap>, StartError>| {
        let error = result.unwrap_err();
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        format!("{error}{cause}")
    };
    let labels = message(maps().labels("a in (b").start());
    assert_eq!(labels, r#"invalid label selector "a in (b" at byte 7: expected ',' or ')'"#);
    let fields = message(maps().fields("a>b").start());
    assert!(fields.starts_with(r#"invalid field selector "a>b" at byte "#), "{fields}");
    assert_eq!(fields.matches("invalid field selector").count(), 1, "{fields}");
    let by_name = |map: &ConfigMap| map.metadata.name.clone();
    let twice = maps().index("name", by_name).index("name", by_name).start();
    assert_eq!(message(twice), "indexer conflict: there is an index named \"name\" already");
    assert_eq!(
        message(maps().namespaces([""; 0]).start()),
        "no namespace was given; omit `namespaces` to watch all of them"
    );
    assert_eq!(
        message(maps().namespace("Web").start()),
        "invalid namespace name \"Web\": use at most 63 lower case letters, digits and '-', with a letter or digit at both ends"
    );
    assert_eq!(message(maps().shard(3, 3).start()), "invalid shard 3 of 3: shards are counted from 0");
    let nodes = Informer::<Node>::builder(cluster.server.client()).namespace("web").start();
    assert_eq!(nodes.unwrap_err().to_string(), "v1 Node is cluster-scoped; omit `namespaces`");
    let own = ListWatch::<ConfigMap>::all(cluster.server.client()).labels(LabelSelector::everything());
    assert_eq!(
        message(Informer::from_source(own).labels("a=b").start()),
        "`labels` does not apply to a custom source; configure the source instead"
    );
    assert_eq!(cluster.server.version(), Cluster::new().server.version(), "no request was sent");
}

#[test]
fn start_fails_outside_of_a_runtime() {
    let never = |_| std::future::pending::<Result<Page<ConfigMap>, _>>();
    let source = FromFns::new(never, |_| std::future::pending());
    let error = Informer::from_source(source).start().unwrap_err();
    assert_eq!(error.to_string(), "not within a tokio runtime");
}

#[tokio::test(start_paused = true)]
async fn an_informer_syncs_after_its_kind_is_defined() {
    let cluster = Cluster::new();
    let kind =
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("example.com", "v1", "Widget"), "widgets");
    let widgets = Informer::<DynamicObject>::dynamic(cluster.server.client(), kind).start().unwrap();
    assert!(widgets.synced().await.unwrap_err().is_not_found());
    cluster.define_widgets().await;
    widgets.watch_status().wait_for(|status| status.phase == Phase::Synced).await;
    widgets.synced().await.unwrap();
}
