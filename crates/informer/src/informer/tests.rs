//! Tests of the metrics of an informer.

use super::SyncError;
use crate::{Informer, reflector::metrics::ERRORS, testing::Figures};
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
