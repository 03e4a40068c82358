//! The order of events, and the default content of cached objects.

use crate::cluster::{Cluster, named};
use k8s_openapi::{api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry};
use kube::api::PostParams;
use kube_devserver::{Fault, Verb};
use kube_informer::{
    Event, Informer, Storage,
    event::Phase,
    reflector::Strategy,
    source::Encoding,
    subscription::{Policy, SubscribeOptions},
    wire::ManagedFields,
};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

const STORAGES: [Storage; 3] = [Storage::Decoded, Storage::Encoded, Storage::Compressed];

fn version(map: &ConfigMap) -> u64 {
    map.metadata.resource_version.as_deref().unwrap().parse().unwrap()
}

/// Changes three objects in turn, and deletes and re-creates one of them. Returns the names in the order of the writes, and the last
/// version.
async fn interleaved_writes(cluster: &Cluster) -> (Vec<&'static str>, u64) {
    let mut names = Vec::new();
    let mut last = 0;
    for round in 0..10 {
        for name in ["a", "b", "a", "c"] {
            last = version(&cluster.change(name, &format!("{round} {}", names.len())).await);
            names.push(name);
        }
        cluster.delete("b").await;
        names.push("b");
        last = version(&cluster.create("b").await).max(last);
        names.push("b");
    }
    (names, last)
}

// A1
#[tokio::test(start_paused = true)]
async fn events_of_different_objects_are_delivered_in_the_order_of_the_watch() {
    for strategy in [Strategy::Stream, Strategy::List] {
        for storage in STORAGES {
            let cluster = Cluster::new();
            for name in ["a", "b", "c"] {
                cluster.create(name).await;
            }
            let maps = Informer::<ConfigMap>::builder(cluster.server.client())
                .namespace("default")
                .strategy(strategy)
                .storage(storage)
                .on_error(|_| {})
                .start()
                .unwrap();
            maps.synced().await.unwrap();
            let mut events = maps.subscribe_with(SubscribeOptions::new().policy(Policy::Unbounded));
            let (mut names, _) = interleaved_writes(&cluster).await;
            // The next writes are received in one batch, when the watch reconnects.
            let fault = cluster.server.faults().inject(Fault::answer(503).on(Verb::Watch));
            cluster.server.cut_watches();
            let (more, last) = interleaved_writes(&cluster).await;
            names.extend(more);
            fault.withdraw();
            maps.wait_for(&last.to_string().parse().unwrap()).await.unwrap();
            let mut received = Vec::new();
            let mut versions = Vec::new();
            while events.registration().depth() > 0 {
                let event = events.next().await.unwrap();
                if !matches!(event, Event::Added { phase: Phase::Initial, .. }) {
                    received.push(event.key().name().to_owned());
                    versions.push(version(event.object().get()));
                }
            }
            assert_eq!(received, names, "{strategy:?} {storage:?}");
            assert!(versions.is_sorted_by(|one, next| one < next), "{strategy:?} {storage:?}: {versions:?}");
            maps.stop();
            maps.stopped().await;
        }
    }
}

// A5
#[tokio::test(start_paused = true)]
async fn managed_fields_are_dropped_by_default_and_kept_on_request() {
    let cluster = Cluster::new();
    let mut map = named("a");
    map.metadata.managed_fields = Some(vec![ManagedFieldsEntry {
        manager: Some("test".into()),
        operation: Some("Update".into()),
        ..ManagedFieldsEntry::default()
    }]);
    // The server records the owner of the label.
    map.metadata.labels = Some([("a".to_owned(), "b".to_owned())].into());
    let created = cluster.maps.create(&PostParams::default(), &map).await.unwrap();
    assert!(created.metadata.managed_fields.is_some(), "the server sends them");
    for storage in STORAGES {
        for encoding in [Encoding::Json, Encoding::Protobuf] {
            let maps = || {
                let maps = Informer::<ConfigMap>::builder(cluster.server.client()).namespace("default");
                maps.storage(storage).encoding(encoding)
            };
            let dropped = maps().start().unwrap();
            let kept = maps().managed_fields(ManagedFields::Keep).start().unwrap();
            let mut expected = created.clone();
            for (maps, fields) in [(&kept, created.metadata.managed_fields.clone()), (&dropped, None)] {
                maps.synced().await.unwrap();
                expected.metadata.managed_fields = fields;
                assert_eq!(maps.get("default/a").as_deref(), Some(&expected), "{storage:?} {encoding:?}");
                let event = maps.subscribe().next().await.unwrap();
                assert_eq!(event.object().get(), &expected, "{storage:?} {encoding:?}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_transform_runs_once_per_object_with_every_storage() {
    for storage in STORAGES {
        let cluster = Cluster::new();
        for name in ["a", "b", "c"] {
            cluster.create(name).await;
        }
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let transform = move |mut map: ConfigMap| {
            let call = counted.fetch_add(1, Ordering::Relaxed);
            map.data = Some([("call".to_owned(), call.to_string())].into());
            Ok(map)
        };
        let maps = Informer::<ConfigMap>::builder(cluster.server.client()).namespace("default");
        let maps = maps.storage(storage).transform(transform).start().unwrap();
        maps.synced().await.unwrap();
        let call = |name: &str| maps.get(("default", name)).unwrap().data.as_ref().unwrap()["call"].clone();
        let objects = maps.len();
        assert_eq!(calls.load(Ordering::Relaxed), objects, "{storage:?}");
        for name in ["a", "b", "c"] {
            assert_eq!(call(name), call(name), "{storage:?}");
        }
        let mut events = maps.subscribe();
        while events.registration().depth() > 0 {
            let event = events.next().await.unwrap();
            assert_eq!(event.object().get().data.as_ref().unwrap()["call"], call(event.key().name()));
        }
        assert_eq!(calls.load(Ordering::Relaxed), objects, "reads do not run it again: {storage:?}");
        let changed = cluster.change("b", "1").await.metadata.resource_version.unwrap();
        maps.wait_for(&changed.parse().unwrap()).await.unwrap();
        assert_eq!(call("b"), objects.to_string());
        assert_eq!(calls.load(Ordering::Relaxed), objects + 1, "{storage:?}");
        maps.stop();
        maps.stopped().await;
    }
}
