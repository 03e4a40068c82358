//! A server and a cache that follows it, with a handler that checks every event against what it knew.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube_devserver::DevServer;
use kube_informer::{
    controller::{Event, apply},
    fifo::DeltaFifo,
    list_watch::ListWatch,
    reflector::{Config, Reflector, Status, Strategy},
    store::Store,
    wire::{Key, ResourceVersion},
};
use serde_json::json;
use std::{
    collections::BTreeMap,
    num::NonZeroUsize,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{sync::watch, task::JoinSet, time::timeout};
use tokio_util::sync::CancellationToken;

/// Key to version.
pub(crate) type Versions = BTreeMap<String, String>;

pub(crate) struct World {
    pub(crate) server: DevServer,
    pub(crate) maps: Api<ConfigMap>,
    pub(crate) store: Store<ConfigMap>,
    pub(crate) status: watch::Receiver<Status>,
    told: Arc<Mutex<Told>>,
    cancel: CancellationToken,
    tasks: JoinSet<()>,
}

/// What the handler was told.
#[derive(Default)]
struct Told {
    known: Versions,
    unseen_deletions: Vec<String>,
    reports: Vec<String>,
}

pub(crate) fn listing() -> Config {
    let mut config = Config::default();
    config.strategy = Strategy::List;
    config
}

/// Both ways to get the initial state.
pub(crate) fn strategies() -> [Config; 2] {
    [Config::default(), listing()]
}

impl World {
    pub(crate) fn new(config: Config) -> Self {
        Self::on(DevServer::start(), config)
    }

    pub(crate) fn on(server: DevServer, config: Config) -> Self {
        let client = server.client();
        Self::through(client, server, config)
    }

    /// Reaches the server through this client.
    pub(crate) fn through(client: Client, server: DevServer, config: Config) -> Self {
        let maps = Api::default_namespaced(client.clone());
        let (store, mut writer) = Store::builder().build().unwrap();
        let known = store.clone();
        let fifo = DeltaFifo::builder().reuse(move |key, object| known.same(key, object)).build();
        let told = Arc::new(Mutex::new(Told::default()));
        let hears = Arc::clone(&told);
        let source = ListWatch::<ConfigMap>::namespaced(client, "default");
        let reflector = Reflector::with_config(source, fifo.clone(), config).on_error(move |report| {
            hears.lock().unwrap().reports.push(format!("{:?}: {}", report.activity, report.cause));
        });
        let (status, cancel, mut tasks) = (reflector.status(), CancellationToken::new(), JoinSet::new());
        tasks.spawn(reflector.run(cancel.clone()));
        let handler = Arc::clone(&told);
        tasks.spawn(async move {
            while let Some(batch) = fifo.pop_batch(NonZeroUsize::MAX).await {
                let mut events = Vec::new();
                let applied = apply(batch, &mut writer, &mut events);
                events.iter().for_each(|event| handler.lock().unwrap().hear(event));
                applied.done();
            }
        });
        Self { server, maps, store, status, told, cancel, tasks }
    }

    pub(crate) async fn create(&self, name: &str) -> ConfigMap {
        let mut map = ConfigMap::default();
        map.metadata.name = Some(name.into());
        self.maps.create(&PostParams::default(), &map).await.unwrap()
    }

    pub(crate) async fn change(&self, name: &str, value: &str) {
        let patch = Patch::Merge(json!({ "data": { "value": value } }));
        self.maps.patch(name, &PatchParams::default(), &patch).await.unwrap();
    }

    pub(crate) async fn delete(&self, name: &str) {
        self.maps.delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// Waits until all that has been written is in the cache, and holds cache and handler against the server.
    pub(crate) async fn settled(&self) {
        static TURN: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let name = format!("marker-{}", TURN.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        let marker = self.create(&name).await.metadata.resource_version.unwrap();
        let version: ResourceVersion = marker.parse().unwrap();
        let waited = timeout(Duration::from_secs(3600), self.store.wait_for(&version)).await;
        waited.unwrap_or_else(|_| panic!("stuck: {:?}\n{:?}", self.status.borrow(), self.reports())).unwrap();
        let listed = self.maps.list(&ListParams::default()).await.unwrap();
        let server = versions(listed.items.iter());
        assert_eq!(versions(self.store.list().iter().map(|map| &**map)), server, "the cache is the server");
        while self.told.lock().unwrap().known != server {
            tokio::task::yield_now().await;
        }
    }

    /// How often the initial state was asked for, by lists and by streams.
    pub(crate) fn asked(&self) -> (u64, u64) {
        let counts = self.status.borrow().counts;
        (counts.lists, counts.streams)
    }

    pub(crate) fn reports(&self) -> Vec<String> {
        self.told.lock().unwrap().reports.clone()
    }

    pub(crate) fn unseen_deletions(&self) -> Vec<String> {
        self.told.lock().unwrap().unseen_deletions.clone()
    }

    /// Stops everything, and waits until it has.
    pub(crate) async fn stop(mut self) {
        self.cancel.cancel();
        self.tasks.join_next().await.unwrap().unwrap();
        self.tasks.shutdown().await;
        self.server.stop().await;
    }
}

fn versions<'a>(maps: impl Iterator<Item = &'a ConfigMap>) -> Versions {
    maps.map(|map| (Key::of(map).unwrap().to_string(), map.metadata.resource_version.clone().unwrap()))
        .collect()
}

impl Told {
    /// Folds an event into what is known, which it has to fit.
    fn hear(&mut self, event: &Event<ConfigMap>) {
        let key = Key::of(&**event.object()).unwrap().to_string();
        let version = |map: &ConfigMap| map.metadata.resource_version.clone().unwrap();
        match event {
            Event::Added { object, .. } => {
                assert_eq!(self.known.insert(key, version(object)), None, "added what was there");
            }
            Event::Updated { old, new } => {
                let (old, new) = (version(old), version(new));
                assert!(old.parse::<u64>().unwrap() <= new.parse().unwrap(), "{key} went back in time");
                assert_eq!(self.known.insert(key, new), Some(old), "changed from something else");
            }
            Event::Deleted { old, observed, .. } => {
                assert_eq!(self.known.remove(&key), Some(version(old)), "deleted something else");
                if !observed {
                    self.unseen_deletions.push(key);
                }
            }
        }
    }
}
