//! Runs the controllers of a manager.

use super::{
    health::{Health, ObservedInformer},
    http::{DebugEndpoint, Endpoints, serve},
    prometheus::PrometheusRecorder,
    rbac::{rbac_rules, roles_yaml},
};
use crate::{
    boxed::{BoxError, BoxFuture},
    controller::{Action, Controller, ControllerError, ControllerHandle, OnError},
    informer::{Informer, ServedResource},
};
use futures_util::{
    FutureExt,
    future::{pending, select_all},
};
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube_core::Resource;
use kube_informer_wire::Key;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    net::SocketAddr,
    pin::pin,
    sync::Arc,
    time::Duration,
};
use tokio::{net::TcpListener, task::JoinSet};

/// Runs several controllers with one graceful shutdown, probes and metrics.
///
/// When one controller ends with an error, the others are shut down, so that the process ends and Kubernetes restarts it.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_devserver::DevServer;
/// use kube_informer::{Informer, controller::{Action, Controller, ErrorPolicy}, manager::{Manager, PrometheusRecorder}};
/// use std::{sync::Arc, time::Duration};
///
/// async fn reconcile(_: Arc<ConfigMap>, _: Arc<()>) -> Result<Action, kube::Error> {
///     Ok(Action::await_change())
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = DevServer::start();
/// # let signal = std::future::ready(()); // instead of `kube_informer::manager::shutdown_signal()`
/// let recorder = PrometheusRecorder::new(); // and `recorder.install()?`
/// let maps = Informer::<ConfigMap>::builder(server.client()).start()?;
/// Manager::new()
///     .informer(&maps)
///     .controller(Controller::new(&maps).named("maps"), reconcile, ErrorPolicy::default(), Arc::new(()))
///     .serve("127.0.0.1:0".parse()?) // /healthz, /readyz and /metrics
///     .metrics(recorder)
///     .shutdown_on(signal)
///     .shutdown_deadline(Duration::from_secs(25))
///     .run()
///     .await?;
/// # Ok(()) }
/// ```
#[must_use]
#[derive(Default)]
pub struct Manager {
    controllers: Vec<ManagedController>,
    informers: Vec<Arc<dyn ObservedInformer>>,
    address: Option<SocketAddr>,
    metrics: Option<PrometheusRecorder>,
    debug: Option<DebugEndpoint>,
    shutdown: Vec<BoxFuture<'static, ()>>,
    shutdown_deadline: Option<Duration>,
    rules: Vec<PolicyRule>,
    #[cfg(feature = "leases")]
    leases: Vec<kube_leases::Leases>,
}

struct ManagedController {
    handle: ControllerHandle,
    run: BoxFuture<'static, Result<(), ControllerError>>,
}

/// The reason why a manager did not start, or ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManagerError {
    /// Two controllers have the same name, and would share their metrics.
    #[error("two controllers are named {name:?}; call `Controller::named`")]
    #[non_exhaustive]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// There is no controller.
    #[error("the manager has no controller; call `Manager::controller`")]
    NoController,
    /// The address for probes and metrics cannot be used.
    #[error("cannot listen on {address}")]
    #[non_exhaustive]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error.
        #[source]
        source: std::io::Error,
    },
    /// A controller ended with an error.
    #[error("controller {name} failed")]
    #[non_exhaustive]
    Controller {
        /// The name of the controller.
        name: String,
        /// The error.
        #[source]
        source: ControllerError,
    },
    /// Controllers did not end within the shutdown deadline. Their reconciles were dropped.
    #[error("controllers did not end within {deadline:?}: {}", names.join(", "))]
    #[non_exhaustive]
    ShutdownDeadline {
        /// The deadline.
        deadline: Duration,
        /// The names of the controllers.
        names: Vec<String>,
    },
}

impl Manager {
    /// Creates a manager without controllers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a controller with the arguments of [`Controller::run`].
    pub fn controller<K, F, T, E, P, C>(
        mut self,
        controller: Controller<K>,
        reconcile: F,
        error_policy: P,
        context: Arc<C>,
    ) -> Self
    where
        K: Resource + Send + Sync + 'static,
        F: Fn(Arc<K>, Arc<C>) -> T + Send + Sync + 'static,
        T: Future<Output = Result<Action, E>> + Send + 'static,
        E: Into<BoxError> + Send + 'static,
        P: OnError<Arc<K>, E, C>,
        C: Send + Sync + 'static,
    {
        let handle = controller.handle();
        let run = controller.run(reconcile, error_policy, context).boxed();
        self.controllers.push(ManagedController { handle, run });
        self
    }

    /// Adds a controller with the arguments of [`Controller::run_by_key`].
    pub fn controller_by_key<K, F, T, E, P, C>(
        mut self,
        controller: Controller<K>,
        reconcile: F,
        error_policy: P,
        context: Arc<C>,
    ) -> Self
    where
        K: Resource + Send + Sync + 'static,
        F: Fn(Key, Arc<C>) -> T + Send + Sync + 'static,
        T: Future<Output = Result<Action, E>> + Send + 'static,
        E: Into<BoxError> + Send + 'static,
        P: OnError<Key, E, C>,
        C: Send + Sync + 'static,
    {
        let handle = controller.handle();
        let run = controller.run_by_key(reconcile, error_policy, context).boxed();
        self.controllers.push(ManagedController { handle, run });
        self
    }

    /// Adds an informer to the probes and to [`rbac_rules`](Self::rbac_rules).
    pub fn informer<K: Resource + Send + Sync + 'static>(mut self, informer: &Informer<K>) -> Self {
        self.informers.push(Arc::new(informer.clone()));
        self
    }

    /// Serves `/healthz`, `/livez` and `/readyz` at this address, and `/metrics` with [`metrics`](Self::metrics). By default nothing is
    /// served. The server accepts only GET and HEAD, and has no encryption: use a loopback address or a network policy.
    pub fn serve(mut self, address: SocketAddr) -> Self {
        self.address = Some(address);
        self
    }

    /// Serves the metrics of this recorder at `/metrics`.
    pub fn metrics(mut self, recorder: PrometheusRecorder) -> Self {
        self.metrics = Some(recorder);
        self
    }

    /// Serves `/debug/controllers`, and `/debug/controllers/NAME/NAMESPACE/OBJECT` with the recent reconciles of an object. They
    /// contain the names of objects and the texts of errors.
    pub fn debug_endpoint(mut self) -> Self {
        self.debug = Some(DebugEndpoint::On);
        self
    }

    /// Shuts down when the future completes, such as [`shutdown_signal`](super::shutdown_signal). Can be called several times; the
    /// first future that completes counts.
    pub fn shutdown_on(mut self, signal: impl Future<Output = ()> + Send + 'static) -> Self {
        self.shutdown.push(signal.boxed());
        self
    }

    /// Limits the time that a shutdown waits for running reconciles. Kubernetes kills a pod 30 seconds after SIGTERM by default. By
    /// default there is no limit.
    pub fn shutdown_deadline(mut self, deadline: Duration) -> Self {
        self.shutdown_deadline = Some(deadline);
        self
    }

    /// Returns the handles of the controllers.
    #[must_use]
    pub fn handles(&self) -> Vec<ControllerHandle> {
        self.controllers.iter().map(|controller| controller.handle.clone()).collect()
    }

    /// Adds a rule to [`rbac_rules`](Self::rbac_rules) and to the `ClusterRole` of [`role_yaml`](Self::role_yaml), for the requests
    /// of a reconcile function, such as the one of [`rule`](super::rule).
    pub fn rule(mut self, rule: PolicyRule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Adds leases that controllers use ([`Controller::leases`]). They are stopped and released when all controllers have ended, so that
    /// successors take over at once, and their rules are added to [`rbac_rules`](Self::rbac_rules), and to
    /// [`role_yaml`](Self::role_yaml) as a `Role` in their namespace.
    #[cfg(feature = "leases")]
    #[cfg_attr(docsrs, doc(cfg(feature = "leases")))]
    pub fn leases(mut self, leases: &kube_leases::Leases) -> Self {
        self.leases.push(leases.clone());
        self
    }

    /// Returns the rules that the [informers](Self::informer) and leases need, see [`rbac_rules`](super::rbac_rules), and the
    /// [added](Self::rule) ones.
    #[must_use]
    pub fn rbac_rules(&self) -> Vec<PolicyRule> {
        let mut rules = rbac_rules(self.served_resources());
        rules.extend(self.further_rules().into_values().flatten());
        rules
    }

    /// Returns the rules that no informer needs, by namespace.
    fn further_rules(&self) -> BTreeMap<Option<String>, Vec<PolicyRule>> {
        let mut rules = BTreeMap::new();
        if !self.rules.is_empty() {
            rules.insert(None, self.rules.clone());
        }
        #[cfg(feature = "leases")]
        for leases in &self.leases {
            let namespace = Some(leases.namespace().to_owned());
            rules.entry(namespace).or_insert_with(Vec::new).extend(leases.rules());
        }
        rules
    }

    /// Returns the manifests of the roles that the [informers](Self::informer) and leases need, with the [added](Self::rule) rules; see
    /// [`role_yaml`](super::role_yaml).
    #[must_use]
    pub fn role_yaml(&self, name: &str) -> String {
        roles_yaml(name, self.served_resources(), &self.further_rules())
    }

    fn served_resources(&self) -> impl Iterator<Item = &ServedResource> {
        self.informers.iter().filter_map(|informer| informer.served_resource())
    }

    /// Runs all controllers until a shutdown, or until one of them fails.
    ///
    /// # Errors
    /// [`ManagerError`] if the manager cannot start, if a controller fails, or if the shutdown deadline passes.
    pub async fn run(self) -> Result<(), ManagerError> {
        let handles = self.handles();
        check_names(&handles)?;
        let listener = match self.address {
            None => None,
            Some(address) => {
                let failed = |source| ManagerError::Listen { address, source };
                Some(TcpListener::bind(address).await.map_err(failed)?)
            }
        };
        let endpoints = Endpoints {
            health: Health { controllers: handles.clone(), informers: self.informers },
            metrics: self.metrics,
            debug: self.debug.unwrap_or(DebugEndpoint::Off),
        };
        let mut server = JoinSet::new();
        if let Some(listener) = listener {
            tracing::info!(address = ?listener.local_addr().ok(), "serving probes");
            server.spawn(serve(listener, endpoints));
        }
        let mut tasks = JoinSet::new();
        for ManagedController { handle, run } in self.controllers {
            tasks.spawn(async move {
                let name = handle.name().to_string();
                run.await.map_err(|source| ManagerError::Controller { name, source })
            });
        }
        let shutdown = async {
            if self.shutdown.is_empty() { pending().await } else { select_all(self.shutdown).await }
        };
        let mut shutdown = pin!(shutdown);
        let mut result = Ok(());
        tokio::select! {
            _ = &mut shutdown => tracing::info!("shutting down"),
            // A controller that was stopped with its handle ends all of them, too.
            ended = tasks.join_next() => result = ended.map_or(Ok(()), flatten),
        }
        handles.iter().for_each(ControllerHandle::stop);
        let rest = join_all(&mut tasks, self.shutdown_deadline, &handles).await;
        #[cfg(feature = "leases")]
        release(&self.leases).await;
        server.shutdown().await;
        result.and(rest)
    }
}

/// Releases all leases.
#[cfg(feature = "leases")]
async fn release(leases: &[kube_leases::Leases]) {
    leases.iter().for_each(kube_leases::Leases::stop);
    for leases in leases {
        leases.stopped().await;
    }
}

fn check_names(handles: &[ControllerHandle]) -> Result<(), ManagerError> {
    if handles.is_empty() {
        return Err(ManagerError::NoController);
    }
    let mut names = BTreeSet::new();
    match handles.iter().map(ControllerHandle::name).find(|name| !names.insert(Arc::clone(name))) {
        Some(name) => Err(ManagerError::DuplicateName { name: name.to_string() }),
        None => Ok(()),
    }
}

/// Waits until all controllers have ended. After the deadline, the remaining ones are dropped. Returns the first error.
async fn join_all(
    tasks: &mut JoinSet<Result<(), ManagerError>>,
    deadline: Option<Duration>,
    handles: &[ControllerHandle],
) -> Result<(), ManagerError> {
    let mut result = Ok(());
    let ended = async {
        while let Some(ended) = tasks.join_next().await {
            let ended = flatten(ended);
            if result.is_ok() {
                result = ended;
            }
        }
    };
    let Some(deadline) = deadline else {
        ended.await;
        return result;
    };
    if tokio::time::timeout(deadline, ended).await.is_ok() {
        return result;
    }
    let is_running = |handle: &&ControllerHandle| handle.state() != crate::controller::RunState::Ended;
    let names: Vec<_> = handles.iter().filter(is_running).map(|handle| handle.name().to_string()).collect();
    tasks.shutdown().await;
    tracing::error!(?names, "controllers did not end within the shutdown deadline");
    result.and(Err(ManagerError::ShutdownDeadline { deadline, names }))
}

/// Returns the result of a task. A controller catches panics of the user's functions, so that its task does not panic.
fn flatten(ended: Result<Result<(), ManagerError>, tokio::task::JoinError>) -> Result<(), ManagerError> {
    match ended {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Ok(()),
        },
    }
}

impl fmt::Debug for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.controllers.iter().map(|controller| controller.handle.name()).collect();
        f.debug_struct("Manager")
            .field("controllers", &names)
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}
