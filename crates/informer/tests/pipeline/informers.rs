//! The registry of shared informers.

use crate::cluster::Cluster;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::core::{ApiResource, DynamicObject, PartialObjectMeta};
use kube_devserver::Fault;
use kube_informer::{
    Event, Informers, ManagedFields, Storage, informer::InformerBuilder, subscription::SubscribeOptions,
};
use std::time::Duration;
use tokio::time::{Instant, timeout};

const SOON: Duration = Duration::from_secs(60);

// R147
#[tokio::test(start_paused = true)]
async fn equal_requests_share_one_informer() {
    let cluster = Cluster::new();
    let informers = Informers::new(cluster.server.client());
    let maps = informers.get::<ConfigMap>().unwrap();
    assert!(informers.get::<ConfigMap>().unwrap().is_same(&maps));
    let web = informers.with::<ConfigMap>((), |builder| builder.namespaces(["web", "batch"])).unwrap();
    let same = informers.with::<ConfigMap>((), |builder| builder.namespaces(["batch", "web"])).unwrap();
    assert!(web.is_same(&same) && !web.is_same(&maps));
    let labelled = informers.with::<ConfigMap>((), |builder| builder.labels("a=b")).unwrap();
    assert!(!labelled.is_same(&maps));
    let kind = ApiResource::erase::<ConfigMap>(&());
    let dynamic = informers.with::<DynamicObject>(kind, |builder| builder).unwrap();
    informers.get::<PartialObjectMeta<ConfigMap>>().unwrap();
    assert_eq!(informers.len(), 5);

    assert!(!maps.has_started());
    informers.start();
    informers.start();
    informers.synced(SOON).await.unwrap();
    assert!(dynamic.has_synced());
    assert_eq!(maps.status().counts.streams, 1, "started once");
    let late = informers.get::<Pod>().unwrap();
    informers.synced(SOON).await.unwrap_err();
    assert!(!late.has_started(), "new informers need another start");
    informers.start();
    informers.synced(SOON).await.unwrap();
    assert!(late.has_synced());

    informers.stop();

    informers.stopped().await;
    assert!(maps.is_stopped() && late.is_stopped() && informers.is_empty());
    assert_eq!([maps.tasks(), late.tasks(), dynamic.tasks()], [0; 3]);
    let after = informers.get::<ConfigMap>().unwrap();
    informers.start();
    assert!(after.is_stopped() && !after.has_started());
}

#[tokio::test(start_paused = true)]
async fn an_informer_can_be_removed() {
    let cluster = Cluster::new();
    let informers = Informers::new(cluster.server.client());
    let (maps, pods) = (informers.get::<ConfigMap>().unwrap(), informers.get::<Pod>().unwrap());
    informers.start();
    informers.remove(&maps).await;
    assert!(maps.is_stopped() && !pods.is_stopped());
    let again = informers.get::<ConfigMap>().unwrap();
    assert!(!again.is_same(&maps) && !again.is_stopped());
    informers.start();
    informers.synced(SOON).await.unwrap();
    informers.stop();
    informers.stopped().await;
}

// R144, R145, R147
#[tokio::test(start_paused = true)]
async fn waiting_for_all_reports_those_that_cannot_sync() {
    let cluster = Cluster::new();
    cluster.server.faults().inject(Fault::answer(403).of("pods"));
    let informers = Informers::new(cluster.server.client());
    let _ = (informers.get::<ConfigMap>().unwrap(), informers.get::<Pod>().unwrap());
    let error = informers.synced(SOON).await.unwrap_err();
    assert_eq!(error.waiting.len(), 2, "not started");
    informers.start();
    let error = informers.synced(SOON).await.unwrap_err();
    assert_eq!(error.waiting.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["v1 Pod"]);
}

#[tokio::test(start_paused = true)]
async fn a_type_can_have_its_own_resync_period() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let informers = Informers::with_resync(cluster.server.client(), Duration::from_secs(10));
    informers.set_resync::<ConfigMap>(Duration::from_secs(4));
    let maps = informers.get::<ConfigMap>().unwrap();
    let metadata = informers.get::<PartialObjectMeta<ConfigMap>>().unwrap();
    informers.start();
    informers.synced(SOON).await.unwrap();
    let began = Instant::now();
    let mut events = maps.subscribe_with(SubscribeOptions::new());
    while !timeout(SOON, events.next()).await.unwrap().unwrap().is_resync() {}
    assert_eq!(began.elapsed().as_secs(), 4);
    let mut events = metadata.subscribe();
    while !matches!(timeout(SOON, events.next()).await.unwrap(), Some(event @ Event::Updated { .. }) if event.is_resync())
    {
    }
    assert!((10..=14).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn indexes_of_several_callers_are_merged_and_other_settings_must_agree() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let informers = Informers::new(cluster.server.client());
    let name = |map: &ConfigMap| map.metadata.name.clone();
    let first = informers.with::<ConfigMap>((), |builder| builder.index("name", name)).unwrap();
    let second = informers
        .with::<ConfigMap>((), |builder| {
            builder.index("name", name).index("uid", |map| map.metadata.uid.clone())
        })
        .unwrap();
    assert!(first.is_same(&second));
    informers.start();
    informers.synced(SOON).await.unwrap();
    let uid = first.get("default/a").unwrap().metadata.uid.clone().unwrap();
    assert_eq!(first.by_index("uid", &uid).unwrap().len(), 1, "the index of the second caller");
    assert_eq!(first.by_index("name", "a").unwrap().len(), 1);

    let error = informers.with::<ConfigMap>((), |builder| builder.storage(Storage::Encoded)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "shared informer of v1 ConfigMap exists with storage Decoded, but Encoded was requested; use the same settings, or an informer of its own"
    );
    let error = informers.with::<ConfigMap>((), |builder| builder.transform(Ok)).unwrap_err();
    assert!(error.to_string().contains("transform no transform, but a transform was requested"), "{error}");
    let keep = |builder: InformerBuilder<ConfigMap>| builder.managed_fields(ManagedFields::Keep);
    assert!(informers.with((), keep).is_err());
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_was_not_started_is_reported() {
    let cluster = Cluster::new();
    let informers = Informers::new(cluster.server.client());
    informers.get::<ConfigMap>().unwrap();
    informers.start();
    informers.get::<Pod>().unwrap();
    let error = informers.synced(SOON).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "failed to sync all caches: v1 Pod: informer of v1 Pod was not started; call `start` first"
    );
    informers.start();
    informers.synced(SOON).await.unwrap();
}
