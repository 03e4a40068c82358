//! Reflectors for typed and dynamic objects, metadata only, custom structs, namespaces and selectors.

use k8s_openapi::{
    api::core::v1::{ConfigMap, Node},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{
    Resource,
    api::{Api, ApiResource, DynamicObject, PostParams},
    core::PartialObjectMeta,
};
use kube_devserver::DevServer;
use kube_informer::{
    cache::Store,
    reflector::{Reflector, ReflectorStatus},
    source::ListWatch,
};
use serde::{Deserialize, de::DeserializeOwned};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};
use tokio::{sync::watch, task::JoinHandle};
use tokio_util::sync::CancellationToken;

/// A store with its reflector.
struct ReflectedStore<K> {
    store: Store<K>,
    status: watch::Receiver<ReflectorStatus>,
    reports: Arc<Mutex<Vec<String>>>,
    cancel: CancellationToken,
    task: JoinHandle<()>,
}

impl<K: Resource + DeserializeOwned + Send + Sync + 'static> ReflectedStore<K> {
    async fn of(source: ListWatch<K>) -> Self {
        let (store, writer) = Store::builder().build().unwrap();
        let reports = Arc::new(Mutex::new(Vec::new()));
        let recorded = Arc::clone(&reports);
        let reflector = Reflector::new(source, writer)
            .on_error(move |report| recorded.lock().unwrap().push(report.cause.to_string()));
        let (mut status, cancel) = (reflector.status(), CancellationToken::new());
        let task = tokio::spawn(reflector.run(cancel.clone()));
        status.wait_for(|status| status.counts.replaces >= 1).await.unwrap();
        Self { store, status, reports, cancel, task }
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = self.store.keys().iter().map(ToString::to_string).collect();
        names.sort();
        names
    }

    async fn stop(self) {
        self.cancel.cancel();
        self.task.await.unwrap();
    }
}

async fn create(server: &DevServer, namespace: &str, name: &str, labels: &[(&str, &str)]) -> String {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.into());
    map.metadata.labels =
        Some(labels.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect());
    map.data = (!labels.is_empty()).then(|| BTreeMap::from([("k".into(), "v".into())]));
    let api: Api<ConfigMap> = Api::namespaced(server.client(), namespace);
    api.create(&PostParams::default(), &map).await.unwrap().metadata.resource_version.unwrap()
}

async fn seeded() -> DevServer {
    let server = DevServer::start();
    create(&server, "default", "a", &[("tier", "front")]).await;
    create(&server, "default", "b", &[("tier", "back")]).await;
    create(&server, "kube-system", "c", &[("tier", "front")]).await;
    server
}

#[tokio::test(start_paused = true)]
async fn watches_all_namespaces_or_one_with_selectors() {
    let server = seeded().await;
    let all = ReflectedStore::of(ListWatch::<ConfigMap>::all(server.client())).await;
    let ours = |name: &String| !name.ends_with("kube-root-ca.crt");
    assert_eq!(
        all.names().into_iter().filter(ours).collect::<Vec<_>>(),
        ["default/a", "default/b", "kube-system/c"]
    );
    let front =
        ListWatch::<ConfigMap>::namespaced(server.client(), "default").labels("tier=front".parse().unwrap());
    let front = ReflectedStore::of(front).await;
    assert_eq!(front.names(), ["default/a"]);
    let named = ListWatch::<ConfigMap>::all(server.client()).fields("metadata.name=c".parse().unwrap());
    let named = ReflectedStore::of(named).await;
    assert_eq!(named.names(), ["kube-system/c"]);
    let modified = ListWatch::<ConfigMap>::all(server.client())
        .modify_list(|options| options.label_selector = "tier=back".parse().unwrap())
        .modify_watch(|options| options.label_selector = "tier=back".parse().unwrap());
    let modified = ReflectedStore::of(modified).await;
    assert_eq!(modified.names(), ["default/b"]);
    for subscriber in [all, front, named, modified] {
        subscriber.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn watches_dynamic_objects_metadata_and_cluster_scoped_kinds() {
    let server = seeded().await;
    let kind = ApiResource::erase::<ConfigMap>(&());
    let dynamic =
        ReflectedStore::of(ListWatch::<DynamicObject>::dynamic(server.client(), Some("default"), &kind))
            .await;
    assert_eq!(dynamic.store.get("default/a").unwrap().data["data"]["k"], "v");
    let source = ListWatch::<PartialObjectMeta<ConfigMap>>::namespaced(server.client(), "kube-system");
    let metadata = ReflectedStore::of(source.labels("tier=front".parse().unwrap())).await;
    let found = metadata.store.get("kube-system/c").unwrap();
    assert_eq!(found.metadata.labels.as_ref().unwrap()["tier"], "front");
    let mut node = Node::default();
    node.metadata.name = Some("n1".into());
    Api::<Node>::all(server.client()).create(&PostParams::default(), &node).await.unwrap();
    let nodes = ReflectedStore::of(ListWatch::<Node>::all(server.client())).await;
    assert_eq!(nodes.names(), ["n1"]);
    dynamic.stop().await;
    metadata.stop().await;
    nodes.stop().await;
}

/// A config map that must have data.
#[derive(Debug, Deserialize, Resource)]
#[resource(inherit = "ConfigMap")]
struct Settings {
    metadata: ObjectMeta,
    #[expect(dead_code, reason = "only decoded")]
    data: BTreeMap<String, String>,
}

#[tokio::test(start_paused = true)]
async fn an_undecodable_object_is_reported_and_skipped() {
    let server = seeded().await;
    create(&server, "default", "empty", &[]).await;
    let settings = ReflectedStore::of(ListWatch::<Settings>::namespaced(server.client(), "default")).await;
    let decoded: Vec<_> =
        settings.names().into_iter().filter(|name| !name.ends_with("kube-root-ca.crt")).collect();
    assert_eq!(decoded, ["default/a", "default/b"]);
    let report =
        settings.reports.lock().unwrap().iter().find(|report| report.contains("default/empty")).cloned();
    assert!(report.as_ref().is_some_and(|report| report.contains("missing field `data`")), "{report:?}");
    create(&server, "default", "also-empty", &[]).await;
    let version = create(&server, "default", "z", &[("tier", "front")]).await;
    settings.store.wait_for(&version.parse().unwrap()).await.unwrap();
    assert!(settings.store.get("default/z").is_some() && settings.store.get("default/also-empty").is_none());
    assert_eq!(settings.status.borrow().counts.streams, 1, "no second list");
    settings.stop().await;
}
