//! The registry of shared informers.

use crate::cluster::{Cluster, named};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kube::api::PostParams;
use kube::core::{ApiResource, DynamicObject, PartialObjectMeta};
use kube_devserver::Fault;
use kube_informer::{
    Event, Informer, Informers, ManagedFields, StartError, Storage,
    informer::InformerBuilder,
    reflector::Strategy,
    source::{FromFns, Page, Watch},
    subscription::SubscribeOptions,
};
use std::{
    num::NonZeroU64,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
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

// R147
#[tokio::test(start_paused = true)]
async fn defaults_of_the_registry_apply_to_all_informers() {
    let cluster = Cluster::new();
    for (namespace, name) in [("web", "a"), ("web", "b"), ("db", "c")] {
        let maps = cluster.namespace(namespace).await;
        maps.create(&PostParams::default(), &named(name)).await.unwrap();
    }
    let informers = Informers::builder(cluster.server.client())
        .namespace("web")
        .namespace("web")
        .modify_list(|options| options.field_selector = "metadata.name!=b".parse().unwrap())
        .modify_watch(|options| options.field_selector = "metadata.name!=b".parse().unwrap())
        .configure(|maps| maps.transform(|map: ConfigMap| Ok(ConfigMap { data: None, ..map })))
        .build();
    let maps = informers.get::<ConfigMap>().unwrap();
    assert!(informers.get::<ConfigMap>().unwrap().is_same(&maps), "functions of the registry are shared");
    let own = informers.with::<ConfigMap>((), |builder| builder.modify_list(|_| {})).unwrap();
    assert!(!own.is_same(&maps), "functions cannot be compared");
    let db = informers.with::<ConfigMap>((), |builder| builder.namespace("db")).unwrap();
    let namespaces = informers.get::<Namespace>().unwrap();
    informers.start();
    informers.synced(SOON).await.unwrap();
    let keys = |informer: &Informer<ConfigMap>| {
        let mut keys: Vec<_> = informer.store().keys().iter().map(ToString::to_string).collect();
        keys.sort();
        keys
    };
    assert_eq!(maps.namespaces(), Some(vec!["web".to_owned()]), "no namespace is watched twice");
    assert_eq!((keys(&maps), keys(&db)), (vec!["web/a".to_owned()], vec!["db/c".to_owned()]));
    assert!(maps.list().iter().all(|map| map.data.is_none()), "the transform ran");
    assert!(namespaces.len() > 2, "a cluster-scoped kind has no namespace");
    informers.stop();
    informers.stopped().await;
}

#[tokio::test(start_paused = true)]
async fn requests_are_modified_together_with_namespaces_and_labels() {
    let cluster = Cluster::new();
    for (namespace, name) in [("web", "a"), ("web", "b"), ("db", "c"), ("rest", "d")] {
        let maps = cluster.namespace(namespace).await;
        maps.create(&PostParams::default(), &named(name)).await.unwrap();
    }
    let limits = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&limits);
    let maps = Informer::<ConfigMap>::builder(cluster.server.client())
        .namespaces(["web", "db"])
        .labels("!unknown")
        .strategy(Strategy::List)
        .modify_list(|options| {
            options.limit = NonZeroU64::new(1);
            // A list at any version is sent in one response.
            options.resource_version = None;
        })
        .modify_list(move |options| {
            assert_eq!(options.limit, NonZeroU64::new(1), "functions run in order");
            assert!(!options.label_selector.is_everything());
            counted.fetch_add(1, Ordering::SeqCst);
        })
        .start()
        .unwrap();
    maps.synced().await.unwrap();
    assert_eq!((maps.len(), limits.load(Ordering::SeqCst)), (3, 3), "a page for each object");
    let source = FromFns::new(
        |_| async { Ok(Page { items: Vec::<ConfigMap>::new(), version: None, continue_token: None }) },
        |_| async { Ok(Watch::new(futures_util::stream::empty())) },
    );
    let error = Informer::from_source(source).modify_watch(|_| {}).build().unwrap_err();
    assert!(matches!(error, StartError::NotForSource { .. }), "{error}");
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
