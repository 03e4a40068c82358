//! A server, a reflector with a cache, and a handler that checks every event against the previous state.

use crate::cluster::{Cluster, ReceivedState, versions};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Client, api::Api};
use kube_devserver::DevServer;
use kube_informer::{
    Storage,
    cache::Store,
    delta_fifo::DeltaFifo,
    delta_fifo::apply,
    reflector::{Config, Reflector, ReflectorStatus, Strategy},
    source::ListWatch,
    wire::ResourceVersion,
};
use std::{
    num::NonZeroUsize,
    ops::Deref,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{sync::watch, task::JoinSet, time::timeout};
use tokio_util::sync::CancellationToken;

pub(crate) struct Harness {
    pub(crate) cluster: Cluster,
    pub(crate) store: Store<ConfigMap>,
    pub(crate) status: watch::Receiver<ReflectorStatus>,
    received: Arc<Mutex<ReceivedState>>,
    reports: Arc<Mutex<Vec<String>>>,
    cancel: CancellationToken,
    tasks: JoinSet<()>,
}

pub(crate) fn listing() -> Config {
    let mut config = Config::default();
    config.strategy = Strategy::List;
    config
}

/// One configuration for each strategy.
pub(crate) fn strategies() -> [Config; 2] {
    [Config::default(), listing()]
}

impl Harness {
    pub(crate) fn new(config: Config) -> Self {
        Self::on(DevServer::start(), config)
    }

    /// Starts with this storage.
    pub(crate) fn with_storage(storage: Storage, config: Config) -> Self {
        let server = DevServer::start();
        Self::through(server.client(), server, storage, config)
    }

    pub(crate) fn on(server: DevServer, config: Config) -> Self {
        let client = server.client();
        Self::through(client, server, Storage::Decoded, config)
    }

    /// Connects to the server with this client.
    pub(crate) fn through(client: Client, server: DevServer, storage: Storage, config: Config) -> Self {
        let maps = Api::default_namespaced(client.clone());
        let cluster = Cluster { server, maps };
        let (store, mut writer) = Store::builder().build().unwrap();
        let known = store.clone();
        let fifo = DeltaFifo::builder().known_objects(&known).storage(storage).build();
        let received = Arc::new(Mutex::new(ReceivedState::default()));
        let reports = Arc::<Mutex<Vec<String>>>::default();
        let recorded = Arc::clone(&reports);
        let source = ListWatch::<ConfigMap>::namespaced(client, "default");
        let reflector = Reflector::with_config(source, fifo.clone(), config).on_error(move |report| {
            recorded.lock().unwrap().push(format!("{:?}: {}", report.activity, report.cause));
        });
        let (status, cancel, mut tasks) = (reflector.status(), CancellationToken::new(), JoinSet::new());
        tasks.spawn(reflector.run(cancel.clone()));
        let handler = Arc::clone(&received);
        tasks.spawn(async move {
            while let Some(batch) = fifo.pop_batch(NonZeroUsize::MAX).await {
                let mut events = Vec::new();
                let applied = apply(batch, &mut writer, &mut events);
                events.iter().for_each(|event| handler.lock().unwrap().apply(event));
                applied.done();
            }
        });
        Self { cluster, store, status, received, reports, cancel, tasks }
    }

    /// Waits until all writes are in the cache, and compares the cache and the handler with the server.
    pub(crate) async fn check_converged(&self) {
        static NUMBER: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let name = format!("marker-{}", NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        let marker = self.create(&name).await.metadata.resource_version.unwrap();
        let version: ResourceVersion = marker.parse().unwrap();
        let waited = timeout(Duration::from_secs(3600), self.store.wait_for(&version)).await;
        waited.unwrap_or_else(|_| panic!("stuck: {:?}\n{:?}", self.status.borrow(), self.reports())).unwrap();
        let server = self.versions().await;
        assert_eq!(
            versions(self.store.list().iter().map(|map| &**map)),
            server,
            "the cache equals the server"
        );
        while self.received.lock().unwrap().known != server {
            tokio::task::yield_now().await;
        }
    }

    /// Returns the number of lists and of streaming lists.
    pub(crate) fn list_counts(&self) -> (u64, u64) {
        let counts = self.status.borrow().counts;
        (counts.lists, counts.streams)
    }

    pub(crate) fn reports(&self) -> Vec<String> {
        self.reports.lock().unwrap().clone()
    }

    pub(crate) fn inferred_deletions(&self) -> Vec<String> {
        self.received.lock().unwrap().inferred_deletions.clone()
    }

    /// Stops all tasks and waits for them.
    pub(crate) async fn stop(mut self) {
        self.cancel.cancel();
        self.tasks.join_next().await.unwrap().unwrap();
        self.tasks.shutdown().await;
        self.cluster.server.stop().await;
    }
}

impl Deref for Harness {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.cluster
    }
}
