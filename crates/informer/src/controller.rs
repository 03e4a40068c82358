//! The reconcile loop of a controller.

#![cfg_attr(docsrs, doc(cfg(feature = "controller")))]

use crate::{
    boxed::BoxFuture,
    event::{Event, Phase},
    informer::{Informer, SyncError},
    object::is_cluster_scoped,
    subscription::{AddHandlerError, Registration},
};
use futures_util::{
    FutureExt,
    future::{join_all, select_all},
};
use kube_core::Resource;
use kube_informer_wire::Key;
use kube_workqueue::{Priority, Queue, limiter};
use std::{fmt, num::NonZeroUsize, panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Calls a reconcile function for each key that changed.
///
/// A key is never reconciled concurrently with itself: a change during a reconcile adds it to the queue again. After a
/// failure it is added again with exponential backoff, from 5 milliseconds to 1000 seconds. Changes have priority over the
/// initial list and resyncs.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_devserver::DevServer;
/// use kube_informer::{Informer, controller::{Action, Controller}};
/// use tokio_util::sync::CancellationToken;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = DevServer::start();
/// let maps = Informer::<ConfigMap>::builder(server.client()).start()?;
/// let store = maps.store().clone();
/// let cancel = CancellationToken::new();
/// # cancel.cancel();
/// let reconcile = move |key| {
///     let map = store.get(&key); // `None` if it was deleted
///     async move {
///         println!("{key} is {map:?}");
///         Ok::<_, kube::Error>(Action::await_change())
///     }
/// };
/// Controller::new(&maps).concurrency(4).run(reconcile, cancel).await?;
/// # Ok(()) }
/// ```
#[must_use]
pub struct Controller {
    queue: Keys,
    concurrency: NonZeroUsize,
    triggers: Vec<Arc<dyn Trigger>>,
}

type Keys = Queue<Key, Priority>;

/// The time of the next reconcile of a key after a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    requeue_after: Option<Duration>,
}

impl Action {
    /// Reconciles the key again after this delay, or when it changes.
    #[must_use]
    pub fn requeue(after: Duration) -> Self {
        Self { requeue_after: Some(after) }
    }

    /// Reconciles the key again when it changes.
    #[must_use]
    pub fn await_change() -> Self {
        Self { requeue_after: None }
    }
}

/// The reason why a controller did not start, or ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControllerError {
    /// A cache cannot sync. With an incomplete cache, a controller could delete objects that are in use.
    #[error(transparent)]
    Sync(#[from] SyncError),
    /// An informer was stopped before the start, or there is no tokio runtime.
    #[error(transparent)]
    AddHandler(#[from] AddHandlerError),
    /// An informer was stopped.
    #[error("an informer was stopped")]
    Stopped,
}

/// An informer whose events add keys to the queue.
trait Trigger: Send + Sync {
    fn synced(&self) -> BoxFuture<'static, Result<(), SyncError>>;
    fn add_handler(&self, queue: Keys) -> Result<Box<dyn Handler>, AddHandlerError>;
}

/// A handler that feeds the queue.
trait Handler: Send + Sync {
    fn remove(&self);
    fn removed(&self) -> BoxFuture<'static, ()>;
}

impl<K: Send + Sync + 'static> Handler for Registration<K> {
    fn remove(&self) {
        Self::remove(self);
    }

    fn removed(&self) -> BoxFuture<'static, ()> {
        let registration = self.clone();
        async move { registration.removed().await }.boxed()
    }
}

/// The handlers of a running controller; removed when this is dropped.
struct Handlers(Vec<Box<dyn Handler>>);

impl Drop for Handlers {
    fn drop(&mut self) {
        self.remove();
    }
}

impl Handlers {
    fn remove(&self) {
        for handler in &self.0 {
            handler.remove();
        }
    }
}

/// The delay after the first failure.
const MIN_BACKOFF: Duration = Duration::from_millis(5);
const MAX_BACKOFF: Duration = Duration::from_secs(1000);
/// The priority of the initial list and of resyncs. Changes have priority 0.
const LOW_PRIORITY: i32 = -1;
/// The maximum number of keys with a higher priority that are taken before a waiting key.
const MAX_OVERTAKEN: u32 = 8;

impl Controller {
    /// Creates a controller of the objects of this informer.
    pub fn new<K: Resource + Send + Sync + 'static>(informer: &Informer<K>) -> Self {
        Self::filtered(informer, |_| true)
    }

    /// Creates a controller of the objects of this informer that reconciles after events for which `predicate` returns true,
    /// such as [`generation_changed`].
    pub fn filtered<K: Resource + Send + Sync + 'static>(
        informer: &Informer<K>,
        predicate: impl Fn(&Event<K>) -> bool + Send + Sync + 'static,
    ) -> Self {
        let backoff = limiter::Exponential::new(MIN_BACKOFF, MAX_BACKOFF);
        let queue =
            Queue::builder().rate_limiter(backoff).order(Priority::with_patience(MAX_OVERTAKEN)).build();
        Self { queue, concurrency: NonZeroUsize::MIN, triggers: Vec::new() }.watches_filtered(
            informer,
            predicate,
            |object: &K| Key::of(object).ok(),
        )
    }

    /// Sets the number of keys that are reconciled at the same time. The default is 1, also for 0.
    pub fn concurrency(mut self, keys: usize) -> Self {
        self.concurrency = NonZeroUsize::new(keys).unwrap_or(NonZeroUsize::MIN);
        self
    }

    /// Also reconciles after events of another informer. `mapper`, such as [`controller_owner`], returns the keys to
    /// reconcile for the old and for the new version of an object.
    pub fn watches<K, I>(
        self,
        informer: &Informer<K>,
        mapper: impl Fn(&K) -> I + Send + Sync + 'static,
    ) -> Self
    where
        K: Resource + Send + Sync + 'static,
        I: IntoIterator<Item = Key>,
    {
        self.watches_filtered(informer, |_| true, mapper)
    }

    /// Also reconciles after events of another informer for which `predicate` returns true; see [`watches`](Self::watches).
    pub fn watches_filtered<K, I>(
        mut self,
        informer: &Informer<K>,
        predicate: impl Fn(&Event<K>) -> bool + Send + Sync + 'static,
        mapper: impl Fn(&K) -> I + Send + Sync + 'static,
    ) -> Self
    where
        K: Resource + Send + Sync + 'static,
        I: IntoIterator<Item = Key>,
    {
        let mapper =
            Arc::new(move |object: &K, add: &mut dyn FnMut(Key)| mapper(object).into_iter().for_each(add));
        self.triggers.push(Arc::new(InformerTrigger {
            informer: informer.clone(),
            predicate: Arc::new(predicate),
            mapper,
        }));
        self
    }

    /// Waits until all caches have synced, then reconciles until canceled. Returns when the last reconcile has finished.
    /// Skipped objects are logged, and do not prevent the start.
    ///
    /// # Errors
    /// [`ControllerError`] if the controller cannot start, or an informer is stopped. Errors of `reconcile` are logged, and
    /// the key is retried.
    pub async fn run<F, T, E>(self, reconcile: F, cancel: CancellationToken) -> Result<(), ControllerError>
    where
        F: Fn(Key) -> T + Send + Sync + 'static,
        T: Future<Output = Result<Action, E>> + Send + 'static,
        E: fmt::Display + Send + 'static,
    {
        let mut handlers = Handlers(Vec::new());
        for trigger in &self.triggers {
            handlers.0.push(trigger.add_handler(self.queue.clone())?);
            match cancel.run_until_cancelled(trigger.synced()).await {
                Some(Err(error)) if error.is_skipped() => {
                    tracing::error!(%error, "starting with an incomplete cache");
                }
                Some(synced) => synced?,
                None => return Ok(()),
            }
        }
        let mut workers = JoinSet::new();
        let reconcile = Arc::new(reconcile);
        let stop = cancel.child_token();
        for _ in 0..self.concurrency.get() {
            workers.spawn(work(self.queue.clone(), Arc::clone(&reconcile), stop.clone()));
        }
        let stopped = select_all(handlers.0.iter().map(|handler| handler.removed()));
        let result = tokio::select! {
            () = cancel.cancelled() => Ok(()),
            _ = stopped => Err(ControllerError::Stopped),
        };
        stop.cancel();
        self.queue.shut_down();
        while workers.join_next().await.is_some() {}
        handlers.remove();
        join_all(handlers.0.iter().map(|handler| handler.removed())).await;
        result
    }
}

async fn work<F, T, E>(queue: Keys, reconcile: Arc<F>, cancel: CancellationToken)
where
    F: Fn(Key) -> T + Send + Sync,
    T: Future<Output = Result<Action, E>> + Send,
    E: fmt::Display,
{
    while let Some(Some(key)) = cancel.run_until_cancelled(queue.get()).await {
        // The error is formatted inside of `catch_unwind`, because `Display` of a user's type may panic too.
        let result = async { reconcile(Key::clone(&key)).await.map_err(|error| error.to_string()) };
        match AssertUnwindSafe(result).catch_unwind().await {
            Ok(Ok(action)) => {
                queue.forget(&key);
                if let Some(after) = action.requeue_after {
                    queue.add_after(Key::clone(&key), after);
                }
            }
            Ok(Err(error)) => {
                tracing::warn!(key = %*key, %error, "reconcile failed; retrying");
                queue.add_rate_limited(Key::clone(&key));
            }
            Err(_) => {
                tracing::error!(key = %*key, "reconcile panicked; retrying");
                queue.add_rate_limited(Key::clone(&key));
            }
        }
    }
}

/// Returns false for changes of the status only: kube's `predicates::generation`.
///
/// The server increments `metadata.generation` when the spec changes. Returns true for [resyncs](Event::is_resync), and for all
/// changes of kinds without a generation, such as `ConfigMap`.
#[must_use]
pub fn generation_changed<K: Resource>(event: &Event<K>) -> bool {
    match event {
        Event::Updated { old, new, .. } => {
            let old = old.get().meta();
            let new = new.get().meta();
            // An object that was deleted and created again starts with a new generation.
            let is_comparable = new.generation.is_some() && old.uid == new.uid;
            event.is_resync() || !is_comparable || old.generation != new.generation
        }
        Event::Added { .. } | Event::Deleted { .. } => true,
    }
}

/// Returns the key of the controller of an object (`ownerReferences` with `controller: true`), if that is a `K`.
///
/// ```
/// # use k8s_openapi::api::{apps::v1::ReplicaSet, core::v1::Pod};
/// # use kube_informer::{Informer, controller::{Controller, controller_owner}};
/// # fn controller(sets: &Informer<ReplicaSet>, pods: &Informer<Pod>) -> Controller {
/// Controller::new(sets).watches(pods, controller_owner::<ReplicaSet, Pod>)
/// # }
/// ```
#[must_use]
pub fn controller_owner<K, O>(owned: &O) -> Option<Key>
where
    K: Resource<DynamicType: Default, Scope: 'static>,
    O: Resource,
{
    let kind = K::DynamicType::default();
    let owner =
        owned.meta().owner_references.iter().flatten().find(|owner| owner.controller == Some(true))?;
    let group = owner.api_version.rsplit_once('/').map_or("", |(group, _)| group);
    if (group, owner.kind.as_str()) != (&*K::group(&kind), &*K::kind(&kind)) {
        return None;
    }
    // A namespaced object may have a cluster-scoped owner.
    let namespace = owned.meta().namespace.as_deref().filter(|_| !is_cluster_scoped::<K>());
    Key::new(namespace, &owner.name).ok()
}

/// An informer with the predicate and the mapper of its events.
struct InformerTrigger<K> {
    informer: Informer<K>,
    predicate: Arc<Predicate<K>>,
    mapper: Arc<Mapper<K>>,
}

/// Returns true if an event causes a reconcile.
type Predicate<K> = dyn Fn(&Event<K>) -> bool + Send + Sync;

/// Calls the second argument with each key to reconcile.
type Mapper<K> = dyn Fn(&K, &mut dyn FnMut(Key)) + Send + Sync;

impl<K: Resource + Send + Sync + 'static> Trigger for InformerTrigger<K> {
    fn add_handler(&self, queue: Keys) -> Result<Box<dyn Handler>, AddHandlerError> {
        let predicate = Arc::clone(&self.predicate);
        let mapper = Arc::clone(&self.mapper);
        let handler = move |event: &Event<K>| {
            if !predicate(event) {
                return;
            }
            let is_live = !matches!(event, Event::Added { phase: Phase::Initial, .. }) && !event.is_resync();
            let priority = if is_live { 0 } else { LOW_PRIORITY };
            let mut add = |key| queue.at_priority(priority).add(key);
            if let Event::Updated { old, .. } | Event::Deleted { old, .. } = event {
                // The old version may map to other keys than the new one.
                mapper(old.get(), &mut add);
            }
            mapper(event.object().get(), &mut add);
        };
        Ok(Box::new(self.informer.add_handler(handler)?))
    }

    fn synced(&self) -> BoxFuture<'static, Result<(), SyncError>> {
        self.informer.synced().boxed()
    }
}

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller").field("concurrency", &self.concurrency).finish_non_exhaustive()
    }
}
