//! Tests of an informer and its builder.

use super::SyncError;
use crate::{Informer, Storage, reflector::metrics::ERRORS, testing::Figures};
use k8s_openapi::api::core::v1::Namespace;
use kube_devserver::DevServer;

#[tokio::test(start_paused = true)]
async fn objects_that_a_transform_rejects_are_counted() {
    let figures = Figures::default();
    let _guard = metrics::set_default_local_recorder(&figures);
    let server = DevServer::start();
    let namespaces = Informer::<Namespace>::builder(server.client()).transform(|_| Err("no".into()));
    let namespaces = namespaces.on_error(|_| {}).start().unwrap();
    let SyncError::Skipped { keys, .. } = namespaces.synced().await.unwrap_err() else { panic!() };
    assert!(!keys.is_empty());
    assert_eq!(figures.of(ERRORS, "rejected"), keys.len() as f64, "{:?}", figures.all);
}

#[tokio::test(start_paused = true)]
async fn lazy_objects_have_the_storage_and_the_cached_labels_of_the_builder() {
    let server = DevServer::start();
    let builder = Informer::<Namespace>::builder(server.client()).storage(Storage::Encoded).cache_labels();
    let namespaces = builder.lazy().start().unwrap();
    namespaces.synced().await.unwrap();
    let snapshot = namespaces.snapshot();
    assert!(snapshot.compact_bytes() > 0, "the objects are not encoded");
    assert!(snapshot.iter().all(|entry| entry.labels().is_some()), "the labels are not cached");
}
