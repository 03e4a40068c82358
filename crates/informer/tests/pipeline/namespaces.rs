//! Informers of several namespaces.

use crate::cluster::{Cluster, named};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, PostParams};
use kube_devserver::Fault;
use kube_informer::{
    Event, Informer, Subscription, event::Phase, informer::NamespaceError, reflector::Strategy,
};
use std::time::Duration;
use tokio::time::timeout;

fn keys(maps: &Informer<ConfigMap>) -> Vec<String> {
    let mut keys: Vec<_> = maps.store().keys().iter().map(ToString::to_string).collect();
    keys.sort();
    keys
}

#[tokio::test(start_paused = true)]
async fn a_relist_of_one_namespace_does_not_affect_others() {
    for strategy in [Strategy::Stream, Strategy::List] {
        let cluster = Cluster::new();
        for (namespace, name) in [("web", "a"), ("web", "b"), ("batch", "a"), ("other", "x")] {
            cluster.namespace(namespace).await.create(&PostParams::default(), &named(name)).await.unwrap();
        }
        let maps = Informer::<ConfigMap>::builder(cluster.server.client())
            .namespaces(["web", "batch", "web"])
            .strategy(strategy)
            .start()
            .unwrap();
        maps.synced().await.unwrap();
        assert_eq!(keys(&maps), ["batch/a", "web/a", "web/b"]);
        assert_eq!(maps.status().sources.len(), 2, "one source per namespace");
        let mut events = maps.subscribe();
        for _ in 0..3 {
            assert!(matches!(events.next().await, Some(Event::Added { phase: Phase::Initial, .. })));
        }
        // Both watches are closed during a deletion in one of the namespaces.
        cluster.server.cut_watches();
        cluster.namespace("web").await.delete("b", &DeleteParams::default()).await.unwrap();
        let last =
            cluster.namespace("batch").await.create(&PostParams::default(), &named("z")).await.unwrap();
        cluster.server.compact();
        let mut received = Vec::new();
        for _ in 0..2 {
            let event = timeout(Duration::from_secs(600), events.next()).await.unwrap().unwrap();
            let kind = if matches!(event, Event::Deleted { .. }) { '-' } else { '+' };
            received.push(format!("{kind}{}", event.key().name()));
        }
        received.sort();
        assert_eq!(received, ["+z", "-b"]);
        assert_eq!(keys(&maps), ["batch/a", "batch/z", "web/a"]);
        let last = last.metadata.resource_version.unwrap().parse().unwrap();
        timeout(Duration::from_secs(600), maps.wait_for(&last)).await.unwrap().unwrap();
        maps.stop();
        maps.stopped().await;
        assert_eq!(maps.tasks(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn an_informer_syncs_when_all_namespaces_have_and_names_the_failing_one() {
    let cluster = Cluster::new();
    let fault = cluster.server.faults().inject(Fault::answer(403).of("configmaps").times(u32::MAX).after(1));
    let maps = Informer::<ConfigMap>::builder(cluster.server.client())
        .namespaces(["web", "batch"])
        .strategy(Strategy::List)
        .start()
        .unwrap();
    let error = maps.synced().await.unwrap_err();
    assert!(error.is_forbidden() && !maps.has_synced());
    assert!(error.to_string().starts_with("cannot list v1 ConfigMap in namespace "), "{error}");
    assert_eq!(maps.version(), None, "no version before all namespaces have one");
    fault.withdraw();
    maps.watch_status().wait_for(|status| status.times.synced.is_some()).await;
    maps.synced().await.unwrap();
    assert!(maps.version().is_some());
}

async fn next(events: &mut Subscription<ConfigMap>) -> String {
    let event = timeout(Duration::from_secs(600), events.next()).await.unwrap().unwrap();
    let kind = match &event {
        Event::Added { phase: Phase::Initial, .. } => "initial",
        Event::Added { .. } => "added",
        Event::Updated { .. } => "updated",
        Event::Deleted { .. } => "deleted",
        Event::Released { .. } => "released",
        _ => "other",
    };
    format!("{kind} {}", event.key())
}

// A10
#[tokio::test(start_paused = true)]
async fn namespaces_are_added_and_removed_while_the_informer_runs() {
    for strategy in [Strategy::Stream, Strategy::List] {
        let cluster = Cluster::new();
        for (namespace, name) in [("web", "a"), ("batch", "b"), ("other", "x")] {
            cluster.namespace(namespace).await.create(&PostParams::default(), &named(name)).await.unwrap();
        }
        let maps = Informer::<ConfigMap>::builder(cluster.server.client())
            .namespace("web")
            .strategy(strategy)
            .start()
            .unwrap();
        maps.synced().await.unwrap();
        let mut events = maps.subscribe();
        assert_eq!(next(&mut events).await, "initial web/a");

        maps.add_namespace("batch").unwrap();
        maps.add_namespace("batch").unwrap();
        assert!(!maps.has_synced());
        maps.synced().await.unwrap();
        assert_eq!(keys(&maps), ["batch/b", "web/a"]);
        assert_eq!(maps.status().sources.len(), 2);
        assert_eq!(next(&mut events).await, "initial batch/b");
        let last =
            cluster.namespace("batch").await.create(&PostParams::default(), &named("c")).await.unwrap();
        maps.written(&last).await.unwrap();
        assert_eq!(next(&mut events).await, "added batch/c");

        maps.remove_namespace("web").unwrap();
        assert_eq!(keys(&maps), ["batch/b", "batch/c"]);
        assert_eq!(next(&mut events).await, "released web/a");
        assert!(maps.has_synced());
        // A change in a namespace that was removed is not received, and the version does not wait for it.
        cluster.namespace("web").await.create(&PostParams::default(), &named("z")).await.unwrap();
        let last =
            cluster.namespace("batch").await.create(&PostParams::default(), &named("d")).await.unwrap();
        maps.written(&last).await.unwrap();
        assert_eq!(next(&mut events).await, "added batch/d");
        assert_eq!(maps.tasks(), 2, "one source, and the resyncs");

        maps.add_namespace("web").unwrap();
        maps.synced().await.unwrap();
        assert_eq!(keys(&maps), ["batch/b", "batch/c", "batch/d", "web/a", "web/z"]);
        maps.remove_namespace("web").unwrap();
        maps.remove_namespace("batch").unwrap();
        assert!(maps.is_empty() && maps.has_synced());
        assert_eq!(maps.namespaces(), Some(Vec::new()));
        maps.stop();
        maps.stopped().await;
        assert_eq!(maps.tasks(), 0);
        assert_eq!(
            maps.add_namespace("web").unwrap_err().to_string(),
            "informer of v1 ConfigMap was stopped"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn namespaces_of_an_informer_of_all_namespaces_cannot_change() {
    let cluster = Cluster::new();
    let maps = Informer::<ConfigMap>::builder(cluster.server.client()).start().unwrap();
    assert_eq!(maps.namespaces(), None);
    let error = maps.add_namespace("web").unwrap_err();
    assert!(matches!(error, NamespaceError::AllNamespaces { .. }), "{error}");
    assert!(error.to_string().contains("build it with `namespaces`"), "{error}");
    let error = maps.add_namespace("No").unwrap_err();
    assert!(error.to_string().starts_with("invalid namespace name \"No\": use at most 63"), "{error}");
}
