//! Informers of several namespaces.

use crate::cluster::{Cluster, named};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, PostParams};
use kube_devserver::Fault;
use kube_informer::{Event, Informer, event::Phase, reflector::Strategy};
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
