//! A server: the devserver or a real one, with the operations that both support.

use crate::{badge::Badge, program::Program, proxy::Proxy, request_log::RequestLog};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::{
    Client, Config,
    api::{Api, PostParams},
    client::ClientBuilder,
    config::{AuthInfo, KubeConfigOptions, Kubeconfig},
};
use kube_devserver::{Controllers, DevServer, Fault, Injected, Versions};
use std::{
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

/// The server of a test.
#[derive(Debug)]
pub struct Server {
    kind: Kind,
    config: Config,
    _turn: Turn,
}

#[derive(Debug)]
enum Kind {
    Dev(Box<DevServer>),
    Real(&'static Program),
}

/// Tests that disturb the shared server have exclusive access to it.
#[derive(Debug)]
enum Turn {
    Own,
    Shared { _guard: OwnedRwLockReadGuard<()> },
    Alone { _guard: OwnedRwLockWriteGuard<()> },
}

/// Requests that change or read data wait until this is dropped.
#[derive(Debug)]
#[must_use = "it goes on when this is dropped"]
pub struct Paused<'s> {
    stalled: Option<Injected>,
    server: &'s Server,
}

impl Server {
    /// Returns the shared kube-apiserver if `CLUSTER_PROGRAM` is set, otherwise a devserver for one test.
    pub async fn under_test() -> Self {
        if Program::is_given() { Self::real().await } else { Self::dev().await }
    }

    /// Returns the server under test with exclusive access.
    pub async fn under_test_alone() -> Self {
        if Program::is_given() { Self::real_alone().await } else { Self::dev().await }
    }

    /// Creates a devserver for one test.
    pub async fn dev() -> Self {
        let builder = DevServer::builder().listen("127.0.0.1:0").tls([""; 0]).token("secret");
        // A kube-apiserver alone runs no controllers either.
        let builder = builder.controllers(Controllers::None);
        let server = builder.bookmark_interval(Duration::from_secs(1)).start().await.unwrap();
        let config = config(&server.kubeconfig().unwrap()).await;
        Self { kind: Kind::Dev(Box::new(server)), config, _turn: Turn::Own }
    }

    /// Returns the shared real server.
    pub async fn real() -> Self {
        let turn = Turn::Shared { _guard: turns().read_owned().await };
        Self::shared(turn).await
    }

    /// Returns the real server with exclusive access.
    pub async fn real_alone() -> Self {
        let turn = Turn::Alone { _guard: turns().write_owned().await };
        Self::shared(turn).await
    }

    async fn shared(turn: Turn) -> Self {
        let program = tokio::task::spawn_blocking(Program::shared).await.unwrap();
        let config = config(&std::fs::read_to_string(&program.ready.kubeconfig).unwrap()).await;
        Self { kind: Kind::Real(program), config, _turn: turn }
    }

    /// Returns true for a real server.
    #[must_use]
    pub fn is_real(&self) -> bool {
        matches!(self.kind, Kind::Real(_))
    }

    /// Returns the devserver, for injected faults.
    #[must_use]
    pub fn as_dev(&self) -> Option<&DevServer> {
        match &self.kind {
            Kind::Dev(server) => Some(server),
            Kind::Real(_) => None,
        }
    }

    /// Returns a client with all permissions and without retries.
    #[must_use]
    pub fn client(&self) -> Client {
        Client::try_from(self.config.clone()).unwrap()
    }

    /// Returns a client with another token, which can be replaced, through a proxy.
    #[must_use]
    pub fn client_with(&self, badge: &Badge, proxy: &Proxy) -> Client {
        let mut config = self.through(proxy);
        config.auth_info = AuthInfo::default();
        ClientBuilder::try_from(config).unwrap().with_layer(badge).build()
    }

    /// Returns a client that connects through a proxy.
    #[must_use]
    pub fn client_through(&self, proxy: &Proxy) -> Client {
        Client::try_from(self.through(proxy)).unwrap()
    }

    /// Returns a client that connects through a proxy and whose requests are counted.
    #[must_use]
    pub fn client_recorded(&self, requests: &RequestLog, proxy: &Proxy) -> Client {
        ClientBuilder::try_from(self.through(proxy)).unwrap().with_layer(requests).build()
    }

    /// Creates a proxy to this server.
    pub async fn proxy(&self, seed: u64) -> Proxy {
        Proxy::start(self.config.cluster_url.authority().unwrap().as_str().parse().unwrap(), seed).await
    }

    fn through(&self, proxy: &Proxy) -> Config {
        let mut config = self.config.clone();
        config.cluster_url = format!("https://{}", proxy.address()).parse().unwrap();
        config
    }

    /// Creates a namespace for one test.
    pub async fn namespace(&self) -> String {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("test-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some(name.clone());
        Api::all(self.client()).create(&PostParams::default(), &namespace).await.unwrap();
        name
    }

    /// Drops the history: older versions expire.
    ///
    /// On a real server this affects resources without a watch cache, which are the secrets.
    pub async fn forget_history(&self) {
        match self.alone() {
            Kind::Dev(server) => server.compact(),
            Kind::Real(program) => drop(program.send("compact".into()).await),
        }
    }

    /// Kills the server and starts it again with the same data.
    pub async fn restart(&self) {
        match self.alone() {
            Kind::Dev(server) => server.restart(Versions::Kept),
            Kind::Real(program) => drop(program.send("restart kube-apiserver".into()).await),
        }
    }

    /// Kills and restarts etcd. The devserver has no etcd; its watches are cut.
    pub async fn restart_data(&self) {
        match self.alone() {
            Kind::Dev(server) => server.cut_watches(),
            Kind::Real(program) => drop(program.send("restart etcd".into()).await),
        }
    }

    /// Pauses etcd.
    pub async fn pause(&self) -> Paused<'_> {
        let stalled = match self.alone() {
            Kind::Dev(server) => Some(server.faults().inject(Fault::stall_until_withdrawn())),
            Kind::Real(program) => {
                program.send("pause etcd".into()).await;
                None
            }
        };
        Paused { stalled, server: self }
    }

    /// Returns a token of a service account with a lifetime; `None` for the devserver, which has no accounts.
    pub async fn token(&self, account: &ServiceAccount, life: Duration) -> Option<String> {
        let Kind::Real(program) = &self.kind else { return None };
        let word = |word: &Option<String>| word.clone().unwrap();
        let metadata = &account.metadata;
        let (namespace, name, uid) = (word(&metadata.namespace), word(&metadata.name), word(&metadata.uid));
        let command = format!("token {namespace} {name} {uid} {}", life.as_secs());
        let answer = program.send(command).await;
        Some(answer["token"].as_str().unwrap().to_owned())
    }

    /// Returns the kubeconfig of this server.
    #[must_use]
    pub fn kubeconfig(&self) -> String {
        match &self.kind {
            Kind::Dev(server) => server.kubeconfig().unwrap(),
            Kind::Real(program) => std::fs::read_to_string(&program.ready.kubeconfig).unwrap(),
        }
    }

    /// Returns the version of Kubernetes.
    #[must_use]
    pub fn version(&self) -> &str {
        match &self.kind {
            Kind::Dev(_) => "devserver",
            Kind::Real(program) => &program.ready.version,
        }
    }

    /// Returns whether this is a kube-apiserver before version 1.`minor`. A claim that does not hold there names the missing feature.
    #[must_use]
    pub fn is_older_than(&self, minor: u32) -> bool {
        match &self.kind {
            Kind::Dev(_) => false,
            Kind::Real(program) => minor_of(&program.ready.version).is_some_and(|own| own < minor),
        }
    }

    /// Returns the exclusive server, for operations that affect other tests.
    fn alone(&self) -> &Kind {
        let is_alone = match self._turn {
            Turn::Own | Turn::Alone { .. } => true,
            Turn::Shared { .. } => false,
        };
        assert!(is_alone, "others use this server: list the test under `alone`");
        &self.kind
    }
}

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        if let Some(stalled) = &self.stalled {
            stalled.withdraw();
        }
        if let Kind::Real(program) = self.server.kind {
            // Required even if a test fails.
            program.send_blocking("resume etcd");
        }
    }
}

/// Returns the minor version of `v1.36.4`.
fn minor_of(version: &str) -> Option<u32> {
    version.strip_prefix("v1.")?.split('.').next()?.parse().ok()
}

fn turns() -> Arc<RwLock<()>> {
    static TURNS: LazyLock<Arc<RwLock<()>>> = LazyLock::new(Arc::default);
    Arc::clone(&TURNS)
}

async fn config(kubeconfig: &str) -> Config {
    let kubeconfig = Kubeconfig::from_yaml(kubeconfig).unwrap();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    config.default_retry = false;
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minor_is_the_second_number_of_a_version() {
        assert_eq!(minor_of("v1.36.4"), Some(36));
        assert_eq!(minor_of("unknown"), None);
    }
}
