//! The controller: configuration and the run loop.

#[cfg(feature = "leases")]
mod leased;
#[cfg(not(feature = "leases"))]
mod unleased;

#[cfg(feature = "leases")]
use self::leased::Leased;
use super::{
    action::Action,
    error::ControllerError,
    error_policy::{Backoff, OnError},
    gate::Gate,
    handle::{ControllerHandle, HandleParts, RunState},
    predicates::Predicate,
    reason::Reason,
    reconciler::{ByKey, ByObject, Functions, Reconciler},
    trigger::{InformerTrigger, Mapper, OwnerMapper, OwnerScope, Relation, Trigger},
    work::Work,
    worker::Workers,
};
use crate::{
    boxed::{BoxError, BoxFuture},
    event::Event,
    informer::{Informer, InformerStatus},
    object::is_cluster_scoped,
};
use futures_core::Stream;
use futures_util::{
    FutureExt, StreamExt,
    future::{join_all, pending, select_all},
    stream::BoxStream,
};
use kube_core::{DynamicResourceScope, Resource};
use kube_informer_wire::Key;
use std::{any::TypeId, fmt, pin::pin, sync::Arc, sync::PoisonError, time::Duration};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Calls a reconcile function for each object that changed.
///
/// A key is never reconciled concurrently with itself: a change during a reconcile adds it to the queue again. After a
/// failure, the error policy decides on the delay; see [`ErrorPolicy`](super::ErrorPolicy). Changes have priority over the
/// initial list and resyncs. A panic of a user's function is caught and logged.
///
/// ```
/// use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
/// use kube_devserver::DevServer;
/// use kube_informer::{Informer, controller::{Action, Controller, ErrorPolicy, predicates}};
/// use std::sync::Arc;
///
/// struct Context {
///     client: kube::Client,
/// }
///
/// async fn reconcile(deployment: Arc<Deployment>, context: Arc<Context>) -> Result<Action, kube::Error> {
///     println!("{:?} changed; {}", deployment.metadata.name, context.client.default_namespace());
///     Ok(Action::await_change())
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = DevServer::start();
/// # let client = server.client();
/// # let signal = std::future::ready(());
/// let deployments = Informer::<Deployment>::builder(client.clone()).start()?;
/// let maps = Informer::<ConfigMap>::builder(client.clone()).start()?;
/// Controller::new(&deployments)
///     .owns(&maps)
///     .filter(predicates::generation)
///     .concurrency(4)
///     .shutdown_on(signal)
///     .run(reconcile, ErrorPolicy::default(), Arc::new(Context { client }))
///     .await?;
/// # Ok(()) }
/// ```
#[must_use]
#[doc(alias = "Reconciler")]
pub struct Controller<K> {
    informer: Informer<K>,
    predicate: Option<Arc<dyn Predicate<K>>>,
    related: Vec<Arc<dyn Trigger>>,
    key_streams: Vec<BoxStream<'static, Key>>,
    all_streams: Vec<BoxStream<'static, ()>>,
    shutdown: Vec<BoxFuture<'static, ()>>,
    shutdown_deadline: Option<Duration>,
    concurrency: usize,
    initial_errors: InitialErrors,
    gate: Option<Gate>,
    #[cfg(feature = "leases")]
    leases: Option<Leased<K>>,
    /// A mistake in the configuration, which `run` returns.
    invalid: Option<ControllerError>,
    parts: Arc<HandleParts>,
}

/// What happens if the server refuses the initial list of an informer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InitialErrors {
    End,
    Retry,
}

impl<K: Resource + Send + Sync + 'static> Controller<K> {
    /// Creates a controller of the objects of this informer.
    pub fn new(informer: &Informer<K>) -> Self {
        let work = Arc::new(Work::new(informer.name()));
        Self {
            informer: informer.clone(),
            predicate: None,
            related: Vec::new(),
            key_streams: Vec::new(),
            all_streams: Vec::new(),
            shutdown: Vec::new(),
            shutdown_deadline: None,
            concurrency: 1,
            initial_errors: InitialErrors::End,
            gate: None,
            #[cfg(feature = "leases")]
            leases: None,
            invalid: None,
            parts: Arc::new(HandleParts::new(work)),
        }
    }

    /// Sets the name of the controller in metrics, logs and spans. The default is the name of the informer. Give each of several
    /// controllers of one informer a name, because controllers with the same name share their metrics.
    pub fn named(self, name: impl AsRef<str>) -> Self {
        self.parts.work.set_name(name.as_ref());
        self
    }

    /// Reconciles only after events of the objects for which `predicate` returns true, such as
    /// [`predicates::generation`](super::predicates::generation). Several filters must all match. Events of other informers
    /// ([`owns`](Self::owns), [`watches`](Self::watches)) are not filtered.
    #[doc(alias = "predicate_filter")]
    #[doc(alias = "WithEventFilter")]
    pub fn filter(mut self, predicate: impl Predicate<K>) -> Self {
        self.predicate = Some(match self.predicate.take() {
            None => Arc::new(predicate),
            Some(first) => Arc::new(move |event: &Event<K>| first.matches(event) && predicate.matches(event)),
        });
        self
    }

    /// Also reconciles the owner when an object of another informer changes: the object of the owner reference with
    /// `controller: true`, if its kind is that of this controller. Works for kinds that are known at run time as well.
    ///
    /// The informer of owned objects may be of `PartialObjectMeta<O>`, because only the metadata is read.
    #[doc(alias = "EnqueueRequestForOwner")]
    pub fn owns<O: Resource + Send + Sync + 'static>(self, informer: &Informer<O>) -> Self {
        self.owns_filtered(informer, |_: &Event<O>| true)
    }

    /// Also reconciles the owner after events of another informer for which `predicate` returns true; see [`owns`](Self::owns).
    pub fn owns_filtered<O: Resource + Send + Sync + 'static>(
        mut self,
        informer: &Informer<O>,
        predicate: impl Predicate<O>,
    ) -> Self {
        let scope = if is_cluster_scoped::<K>() {
            OwnerScope::Cluster
        } else if TypeId::of::<K::Scope>() == TypeId::of::<DynamicResourceScope>() {
            OwnerScope::Dynamic
        } else {
            OwnerScope::Namespaced
        };
        match OwnerMapper::new(&self.informer, scope) {
            Ok(owners) => self.watches_filtered(informer, predicate, move |owned: &O| owners.owner_of(owned)),
            Err(error) => {
                self.invalid.get_or_insert(error);
                self
            }
        }
    }

    /// Also reconciles after events of another informer. `mapper` returns the keys to reconcile. It is called with the old and
    /// with the new version of an object.
    #[doc(alias = "EnqueueRequestsFromMapFunc")]
    pub fn watches<O, I>(
        self,
        informer: &Informer<O>,
        mapper: impl Fn(&O) -> I + Send + Sync + 'static,
    ) -> Self
    where
        O: Resource + Send + Sync + 'static,
        I: IntoIterator<Item = Key>,
    {
        self.watches_filtered(informer, |_: &Event<O>| true, mapper)
    }

    /// Also reconciles after events of another informer for which `predicate` returns true; see [`watches`](Self::watches).
    pub fn watches_filtered<O, I>(
        mut self,
        informer: &Informer<O>,
        predicate: impl Predicate<O>,
        mapper: impl Fn(&O) -> I + Send + Sync + 'static,
    ) -> Self
    where
        O: Resource + Send + Sync + 'static,
        I: IntoIterator<Item = Key>,
    {
        let mapper = move |object: &O, add: &mut dyn FnMut(Key)| mapper(object).into_iter().for_each(add);
        self.related.push(Arc::new(InformerTrigger {
            informer: informer.clone(),
            predicate: Arc::new(predicate),
            mapper: Arc::new(mapper),
            relation: Relation::Related,
        }));
        self
    }

    /// Also reconciles the keys of a stream, such as the messages of a webhook or of a cloud queue. The stream is polled while the
    /// controller runs, and may end before it. [`ControllerHandle::trigger`] does the same for a single key.
    pub fn reconcile_on(mut self, keys: impl Stream<Item = Key> + Send + 'static) -> Self {
        self.key_streams.push(keys.boxed());
        self
    }

    /// Also reconciles all objects of the cache for each item of a stream, such as a change of the configuration.
    pub fn reconcile_all_on(mut self, stream: impl Stream<Item = ()> + Send + 'static) -> Self {
        self.all_streams.push(stream.boxed());
        self
    }

    /// Sets the number of keys that are reconciled at the same time. The default is 1. Unlike in kube-rs, 0 is an error.
    #[doc(alias = "MaxConcurrentReconciles")]
    pub fn concurrency(mut self, keys: usize) -> Self {
        self.concurrency = keys;
        self.parts.work.set_max_workers(keys);
        self
    }

    /// Delays each reconcile by this time after the first event, so that the events within it cause one reconcile. Unlike in
    /// kube-rs, later events do not prolong the delay, so that an object that changes all the time is reconciled as well.
    /// Requeues and retries are not delayed.
    pub fn debounce(self, time: Duration) -> Self {
        self.parts.work.set_debounce(time);
        self
    }

    /// Pauses the controller while the gate is closed, for example while another replica is the leader.
    pub fn gate(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    /// Continues to wait for the caches if the server refuses the initial list (400, 401, 403, 404, 405, 406 or 422), for example
    /// because a role or a custom resource definition is created at the same time. By default, [`run`](Self::run) ends with the error.
    pub fn retry_initial_errors(mut self) -> Self {
        self.initial_errors = InitialErrors::Retry;
        self
    }

    /// Shuts the controller down when the future completes: no further reconcile starts, and [`run`](Self::run) returns when the
    /// running ones have finished. Can be called several times; the first future that completes counts.
    #[doc(alias = "graceful_shutdown_on")]
    #[doc(alias = "shutdown_on_signal")]
    pub fn shutdown_on(mut self, signal: impl Future<Output = ()> + Send + 'static) -> Self {
        self.shutdown.push(signal.boxed());
        self
    }

    /// Limits the time that a shutdown waits for running reconciles. After it, they are dropped at their next await point, and
    /// [`run`](Self::run) returns [`ControllerError::ShutdownDeadline`]. By default, there is no limit.
    #[doc(alias = "GracefulShutdownTimeout")]
    pub fn shutdown_deadline(mut self, deadline: Duration) -> Self {
        self.shutdown_deadline = Some(deadline);
        self
    }

    /// Returns a handle, which observes and controls the controller while it runs.
    #[must_use]
    pub fn handle(&self) -> ControllerHandle {
        ControllerHandle { parts: Arc::clone(&self.parts) }
    }

    /// Waits until all caches have synced, then reconciles until it is shut down. Returns when the last reconcile has finished.
    /// Objects that a cache skipped are logged, and do not prevent the start.
    ///
    /// `reconcile` is a plain `async fn(Arc<K>, Arc<C>) -> Result<Action, E>`, as in kube-rs. It is not called for objects that
    /// were deleted; use finalizers, or [`run_by_key`](Self::run_by_key). `error_policy` is an
    /// [`ErrorPolicy`](super::ErrorPolicy), or a function `fn(Arc<K>, &E, Arc<C>) -> Action`.
    ///
    /// # Errors
    /// [`ControllerError`] if the controller cannot start, or an informer is stopped. Errors of `reconcile` are logged, and
    /// the key is retried.
    pub fn run<F, T, E, P, C>(
        self,
        reconcile: F,
        error_policy: P,
        context: Arc<C>,
    ) -> impl Future<Output = Result<(), ControllerError>> + Send + 'static
    where
        F: Fn(Arc<K>, Arc<C>) -> T + Send + Sync + 'static,
        T: Future<Output = Result<Action, E>> + Send + 'static,
        E: Into<BoxError> + Send + 'static,
        P: OnError<Arc<K>, E, C>,
        C: Send + Sync + 'static,
    {
        let store = self.informer.store().clone();
        let functions = Functions::new(reconcile, error_policy, context);
        self.run_reconciler(ByObject { store, functions })
    }

    /// Runs a reconcile function that is called with the key, also of objects that were deleted; see [`run`](Self::run).
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_by_key<F, T, E, P, C>(
        self,
        reconcile: F,
        error_policy: P,
        context: Arc<C>,
    ) -> impl Future<Output = Result<(), ControllerError>> + Send + 'static
    where
        F: Fn(Key, Arc<C>) -> T + Send + Sync + 'static,
        T: Future<Output = Result<Action, E>> + Send + 'static,
        E: Into<BoxError> + Send + 'static,
        P: OnError<Key, E, C>,
        C: Send + Sync + 'static,
    {
        self.run_reconciler(ByKey { functions: Functions::new(reconcile, error_policy, context) })
    }

    /// Returns the names and the current status of the informers of the controller, the primary one first.
    #[must_use]
    pub fn informers(&self) -> Vec<(String, InformerStatus)> {
        self.triggers().iter().map(|trigger| (trigger.name().to_owned(), trigger.status())).collect()
    }

    /// Returns the informers of the controller, the primary one first.
    fn triggers(&self) -> Vec<Arc<dyn Trigger>> {
        let predicate = self.predicate.clone().unwrap_or_else(|| Arc::new(|_: &Event<K>| true));
        // The key of a primary object is that of its event.
        let mapper: Arc<Mapper<K>> = Arc::new(|_, _| {});
        let informer = self.informer.clone();
        let primary = InformerTrigger { informer, predicate, mapper, relation: Relation::Primary };
        std::iter::once(Arc::new(primary) as Arc<dyn Trigger>).chain(self.related.iter().cloned()).collect()
    }

    async fn run_reconciler<R: Reconciler>(mut self, reconciler: R) -> Result<(), ControllerError> {
        let end = EndOnDrop(Arc::clone(&self.parts));
        let triggers = self.triggers();
        self.check(&triggers)?;
        #[cfg(feature = "leases")]
        if let Some(leased) = &self.leases {
            self.parts.work.set_permits(Arc::clone(&leased.permits) as _);
        }
        let backoff = Backoff::new(reconciler.backoff_policy());
        self.parts.work.set_rate_limit(backoff.bucket());
        let shutdown = std::mem::take(&mut self.shutdown);
        let mut stopped = pin!(wait_for_shutdown(self.parts.stop.clone(), shutdown));
        let started = tokio::select! {
            biased;
            () = &mut stopped => return Ok(()),
            started = add_handlers(&self.parts, &triggers, self.initial_errors) => started,
        };
        started?;
        if self.is_ready_with_caches() {
            self.parts.running.send_replace(RunState::Running);
        }
        let mut feeds = self.spawn_streams();
        let workers = Arc::new(Workers {
            name: self.parts.work.name(),
            work: Arc::clone(&self.parts.work),
            reconciler,
            backoff,
            gate: self.gate.clone(),
            stop: CancellationToken::new(),
        });
        let mut tasks = JoinSet::new();
        for _ in 0..self.concurrency {
            tasks.spawn(Arc::clone(&workers).run());
        }
        let removed = select_all(self.parts.handlers().iter().map(|handler| handler.removed()));
        let result = tokio::select! {
            () = stopped => Ok(()),
            _ = removed => Err(ControllerError::Stopped),
            never = self.parts.work.update_gauges() => match never {},
            never = self.follow_leases(&triggers) => match never {},
        };
        workers.stop.cancel();
        self.parts.work.shut_down();
        feeds.shutdown().await;
        let finished = join(&self.parts.work, &mut tasks, self.shutdown_deadline).await;
        self.parts.remove_handlers();
        join_all(self.parts.handlers().iter().map(|handler| handler.removed())).await;
        drop(end);
        result.and(finished)
    }

    /// Checks the configuration.
    fn check(&mut self, triggers: &[Arc<dyn Trigger>]) -> Result<(), ControllerError> {
        if let Some(error) = self.invalid.take() {
            return Err(error);
        }
        if self.concurrency == 0 {
            return Err(ControllerError::NoWorkers);
        }
        if let Some(trigger) = triggers.iter().find(|trigger| !trigger.has_started()) {
            return Err(ControllerError::NotStarted { informer: trigger.name().to_owned() });
        }
        self.check_leases(triggers)
    }

    /// Polls the streams of `reconcile_on` and `reconcile_all_on`.
    fn spawn_streams(&mut self) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        for mut keys in std::mem::take(&mut self.key_streams) {
            let work = Arc::clone(&self.parts.work);
            tasks.spawn(async move {
                while let Some(key) = keys.next().await {
                    work.add(key, Reason::Stream);
                }
            });
        }
        for mut stream in std::mem::take(&mut self.all_streams) {
            let work = Arc::clone(&self.parts.work);
            let store = self.informer.store().clone();
            tasks.spawn(async move {
                while let Some(()) = stream.next().await {
                    store.keys().into_iter().for_each(|key| work.add(key, Reason::All));
                }
            });
        }
        tasks
    }
}

/// Adds a handler to each informer, and waits until all caches have synced.
async fn add_handlers(
    parts: &HandleParts,
    triggers: &[Arc<dyn Trigger>],
    initial_errors: InitialErrors,
) -> Result<(), ControllerError> {
    for trigger in triggers {
        let handler = trigger.add_handler(&parts.work)?.into();
        parts.handlers.lock().unwrap_or_else(PoisonError::into_inner).push(handler);
    }
    for trigger in triggers {
        match trigger.synced().await {
            Ok(()) => {}
            Err(error) if error.is_skipped() => {
                tracing::error!(%error, "starting with an incomplete cache");
            }
            Err(error) if error.as_status().is_some() && initial_errors == InitialErrors::Retry => {
                tracing::warn!(%error, "cannot list yet; waiting");
                trigger.synced_eventually().await.ok_or(ControllerError::Stopped)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Waits until the workers have ended. After the shutdown deadline, their reconciles are dropped.
async fn join(
    work: &Work,
    tasks: &mut JoinSet<()>,
    deadline: Option<Duration>,
) -> Result<(), ControllerError> {
    let ended = async { while tasks.join_next().await.is_some() {} };
    let Some(deadline) = deadline else {
        ended.await;
        return Ok(());
    };
    if tokio::time::timeout(deadline, ended).await.is_ok() {
        return Ok(());
    }
    let keys = work.running();
    tasks.shutdown().await;
    tracing::error!(controller = &*work.name(), ?keys, "reconciles were dropped at the shutdown deadline");
    Err(ControllerError::ShutdownDeadline { keys })
}

/// Waits until the handle is stopped, or one of the futures completes.
async fn wait_for_shutdown(stop: CancellationToken, signals: Vec<BoxFuture<'static, ()>>) {
    let signal = async {
        if signals.is_empty() {
            pending().await
        } else {
            select_all(signals).await;
        }
    };
    stop.run_until_cancelled(signal).await;
}

/// Removes the handlers of a controller and ends its queue, also if `run` is dropped.
struct EndOnDrop(Arc<HandleParts>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.remove_handlers();
        self.0.work.end();
        self.0.running.send_replace(RunState::Ended);
    }
}

impl<K> fmt::Debug for Controller<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller")
            .field("name", &self.parts.work.name())
            .field("concurrency", &self.concurrency)
            .finish_non_exhaustive()
    }
}
