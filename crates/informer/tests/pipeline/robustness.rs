//! Panics in user code, objects of other namespaces, and waits with a timeout.

use crate::{cluster::Cluster, restart::abc};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Resource, api::ObjectMeta};
use kube_devserver::DevServer;
use kube_informer::{
    Informer, Storage,
    cache::{Store, WaitError},
    reflector::{Reflector, Strategy},
    source::ListWatch,
};
use serde::{Deserialize, Deserializer, Serialize};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio_util::sync::CancellationToken;

/// A `ConfigMap` whose `Deserialize` implementation panics at the value `panic`.
#[derive(Clone, Debug, Deserialize, Serialize, Resource)]
#[resource(inherit = "ConfigMap")]
struct Fragile {
    metadata: ObjectMeta,
    #[serde(default, deserialize_with = "panics")]
    data: Option<Values>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Values {
    value: String,
}

fn panics<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Values>, D::Error> {
    let values = Option::<Values>::deserialize(deserializer)?;
    assert!(values.as_ref().is_none_or(|values| values.value != "panic"), "a bug of the user");
    Ok(values)
}

fn value(map: Option<Arc<Fragile>>) -> Option<String> {
    Some(map?.data.as_ref()?.value.clone())
}

// A7
#[tokio::test(start_paused = true)]
async fn a_panic_in_deserialize_skips_the_object_and_is_reported() {
    for storage in [Storage::Decoded, Storage::Encoded, Storage::Compressed] {
        for strategy in [Strategy::List, Strategy::Stream] {
            let cluster = abc().await;
            cluster.change("a", "panic").await;
            let reports = Arc::new(Mutex::new(Vec::new()));
            let recorded = Arc::clone(&reports);
            let maps = Informer::<Fragile>::builder(cluster.server.client())
                .storage(storage)
                .strategy(strategy)
                .on_error(move |report| recorded.lock().unwrap().push(report.cause.to_string()))
                .start()
                .unwrap();
            assert!(maps.synced().await.unwrap_err().is_skipped());
            assert!(maps.get("default/a").is_none() && maps.get("default/b").is_some());
            // The watch survives a panic too, and a repaired object is received.
            cluster.change("b", "panic").await;
            cluster.change("a", "fine").await;
            let last = cluster.change("c", "last").await;
            maps.wait_for(&last.metadata.resource_version.unwrap().parse().unwrap()).await.unwrap();
            assert_eq!(value(maps.get("default/a")).as_deref(), Some("fine"));
            assert_ne!(value(maps.get("default/b")).as_deref(), Some("panic"));
            assert_eq!(value(maps.get("default/c")).as_deref(), Some("last"));
            let reports = reports.lock().unwrap().clone();
            for name in ["a", "b"] {
                let expected = format!("object cannot be decoded: decoder of object default/{name} panicked");
                assert!(reports.contains(&expected), "{storage:?} {strategy:?}: {reports:?}");
            }
            maps.stop();
            maps.stopped().await;
        }
    }
}

// A2
#[tokio::test(start_paused = true)]
async fn a_wait_for_a_version_can_have_a_timeout() {
    let cluster: Cluster = abc().await;
    let maps = Informer::<ConfigMap>::builder(cluster.server.client()).start().unwrap();
    maps.synced().await.unwrap();
    let reached = maps.version().unwrap();
    assert_eq!(maps.wait_for_within(&reached, Duration::from_secs(5)).await, Ok(()));
    let future = "999999".parse().unwrap();
    let error = maps.wait_for_within(&future, Duration::from_secs(5)).await.unwrap_err();
    assert!(matches!(error, WaitError::TimedOut { .. }));
    assert_eq!(error.to_string(), "store of v1 ConfigMap did not reach version 999999 within 5s");
}

// R52
#[tokio::test(start_paused = true)]
async fn a_store_that_a_reflector_fills_directly_has_a_transform() {
    let cluster = abc().await;
    let (store, writer) = Store::builder()
        .transform(|mut map: ConfigMap| {
            map.data = None;
            map.metadata.labels = Some([("transformed".to_owned(), "yes".to_owned())].into());
            Ok(map)
        })
        .build()
        .unwrap();
    let reflector = Reflector::new(ListWatch::<ConfigMap>::all(cluster.server.client()), writer);
    let cancel = CancellationToken::new();
    let task = tokio::spawn(reflector.run(cancel.clone()));
    let last = cluster.change("a", "changed").await;
    store.wait_for(&last.metadata.resource_version.unwrap().parse().unwrap()).await.unwrap();
    assert_eq!(store.len(), 3);
    for map in store.list() {
        assert!(map.data.is_none() && map.metadata.labels.as_ref().unwrap().contains_key("transformed"));
    }
    cancel.cancel();
    task.await.unwrap();
}

// R40
#[tokio::test(start_paused = true)]
async fn the_seconds_since_the_last_byte_are_in_the_status() {
    let server = DevServer::start();
    let maps = Informer::<ConfigMap>::builder(server.client()).start().unwrap();
    maps.synced().await.unwrap();
    tokio::time::sleep(Duration::from_secs(30)).await;
    let since = maps.status().sources[0].status.since_last_data().unwrap();
    assert!((29.0..31.0).contains(&since.as_secs_f64()), "{since:?}");
}
