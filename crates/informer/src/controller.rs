//! The loop of a controller: a key that changed is reconciled, one worker at a time, and again if that failed.

use crate::{
    event::Event,
    informer::{Informer, SyncError},
    source::BoxFuture,
    subscription::AddHandlerError,
};
use futures_util::{
    FutureExt,
    future::{join_all, select_all},
};
use kube_core::{ClusterResourceScope, Resource};
use kube_informer_wire::Key;
use kube_workqueue::{Priority, Queue, limiter};
use std::{any::TypeId, fmt, num::NonZeroUsize, panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Calls a function for each key that changed.
///
/// A key is never in two hands at once, and what changes meanwhile brings it back. A failure brings it back too, each time
/// after twice as long, from five milliseconds up to a thousand seconds. What happens now goes before what was there from
/// the start.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_devserver::DevServer;
/// use kube_informer::{Informer, controller::{Next, Reconciler}};
/// use tokio_util::sync::CancellationToken;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = DevServer::start();
/// let maps = Informer::<ConfigMap>::new(server.client()).start()?;
/// let (store, cancel) = (maps.store().clone(), CancellationToken::new());
/// # cancel.cancel();
/// let reconcile = move |key| {
///     let map = store.get(&key); // nothing, if it is gone
///     async move {
///         println!("{key} is {map:?}");
///         Ok::<_, kube::Error>(Next::Change)
///     }
/// };
/// Reconciler::new(&maps).concurrency(4).run(reconcile, cancel).await?;
/// # Ok(()) }
/// ```
#[must_use]
pub struct Reconciler {
    queue: Keys,
    concurrency: NonZeroUsize,
    followed: Vec<Arc<dyn Followed>>,
}

type Keys = Queue<Key, Priority>;

/// When a key that was reconciled comes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// When something changes.
    Change,
    /// After this time, or when something changes.
    After(Duration),
}

/// Why a reconciler did not begin, or did not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReconcileError {
    /// A cache cannot be complete, and acting on half of one is worse than not acting.
    #[error(transparent)]
    Sync(#[from] SyncError),
    /// An informer has been stopped before it began, or there is no runtime.
    #[error(transparent)]
    Add(#[from] AddHandlerError),
    /// An informer has been stopped, so nothing more will come.
    #[error("an informer was stopped")]
    Stopped,
}

/// An informer that adds keys to the queue.
trait Followed: Send + Sync {
    fn synced(&self) -> BoxFuture<'static, Result<(), SyncError>>;
    fn follow(&self, queue: Keys) -> Result<Place, AddHandlerError>;
}

/// A handler that is there, and leaves when this is dropped.
struct Place {
    remove: Box<dyn Fn() + Send + Sync>,
    removed: Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>,
}

impl Drop for Place {
    fn drop(&mut self) {
        (self.remove)();
    }
}

/// How long a key that failed waits at first, and at most.
const FIRST_WAIT: Duration = Duration::from_millis(5);
const LONGEST_WAIT: Duration = Duration::from_secs(1000);
/// What was there, or is told again, comes after what happens.
const LATER: i32 = -1;
/// After so many that were let pass, one that waits is taken all the same.
const PATIENCE: u32 = 8;

impl Reconciler {
    /// Reconciles the objects of this informer, by their keys.
    pub fn new<K: Resource + Send + Sync + 'static>(informer: &Informer<K>) -> Self {
        Self::when(informer, |_| true)
    }

    /// Reconciles the objects of this informer when something happened for which `wanted` holds, such as
    /// [`is_news_of_spec`]: so a controller does not hear of what it writes into a status.
    pub fn when<K: Resource + Send + Sync + 'static>(
        informer: &Informer<K>,
        wanted: impl Fn(&Event<K>) -> bool + Send + Sync + 'static,
    ) -> Self {
        let queue = Queue::builder().rate_limiter(limiter::Exponential::new(FIRST_WAIT, LONGEST_WAIT));
        let queue = queue.order(Priority::with_patience(PATIENCE)).build();
        let one = NonZeroUsize::MIN;
        let own = |object: &K| Key::of(object).ok();
        Self { queue, concurrency: one, followed: Vec::new() }.also_when(informer, wanted, own)
    }

    /// Reconciles so many keys at a time; one, if it is not said. Zero counts as one.
    pub fn concurrency(mut self, keys: usize) -> Self {
        self.concurrency = NonZeroUsize::new(keys).unwrap_or(NonZeroUsize::MIN);
        self
    }

    /// Reconciles also when objects of another informer change: `keys` says which, such as [`controller_of`].
    pub fn also<K, I>(self, informer: &Informer<K>, keys: impl Fn(&K) -> I + Send + Sync + 'static) -> Self
    where
        K: Resource + Send + Sync + 'static,
        I: IntoIterator<Item = Key>,
    {
        self.also_when(informer, |_| true, keys)
    }

    /// Reconciles also when something happened to objects of another informer for which `wanted` holds.
    pub fn also_when<K, I>(
        mut self,
        informer: &Informer<K>,
        wanted: impl Fn(&Event<K>) -> bool + Send + Sync + 'static,
        keys: impl Fn(&K) -> I + Send + Sync + 'static,
    ) -> Self
    where
        K: Resource + Send + Sync + 'static,
        I: IntoIterator<Item = Key>,
    {
        let keys =
            Arc::new(move |object: &K, add: &mut dyn FnMut(Key)| keys(object).into_iter().for_each(add));
        self.followed.push(Arc::new(Feed { informer: informer.clone(), wanted: Arc::new(wanted), keys }));
        self
    }

    /// Waits until all caches are complete, then reconciles until cancelled. Returns when the last worker is done. Objects that cannot
    /// be read stop nobody: they are logged, and are in the cache as they were, or not at all.
    ///
    /// # Errors
    /// [`ReconcileError`] if it cannot begin, or an informer is stopped. What `reconcile` says is logged, and brings its key back.
    pub async fn run<F, T, E>(self, reconcile: F, cancel: CancellationToken) -> Result<(), ReconcileError>
    where
        F: Fn(Key) -> T + Send + Sync + 'static,
        T: Future<Output = Result<Next, E>> + Send + 'static,
        E: fmt::Display + Send + 'static,
    {
        let mut places = Vec::new();
        for followed in &self.followed {
            places.push(followed.follow(self.queue.clone())?);
            match cancel.run_until_cancelled(followed.synced()).await {
                Some(Err(error)) if error.is_unreadable() => {
                    tracing::error!(%error, "reconciling goes on without");
                }
                Some(synced) => synced?,
                None => return Ok(()),
            }
        }
        let (mut workers, reconcile, stop) = (JoinSet::new(), Arc::new(reconcile), cancel.child_token());
        for _ in 0..self.concurrency.get() {
            workers.spawn(work(self.queue.clone(), Arc::clone(&reconcile), stop.clone()));
        }
        let ended = select_all(places.iter().map(|place| (place.removed)()));
        let outcome = tokio::select! {
            () = cancel.cancelled() => Ok(()),
            _ = ended => Err(ReconcileError::Stopped),
        };
        stop.cancel();
        self.queue.shut_down();
        while workers.join_next().await.is_some() {}
        places.iter().for_each(|place| (place.remove)());
        join_all(places.iter().map(|place| (place.removed)())).await;
        outcome
    }
}

async fn work<F, T, E>(queue: Keys, reconcile: Arc<F>, cancel: CancellationToken)
where
    F: Fn(Key) -> T + Send + Sync,
    T: Future<Output = Result<Next, E>> + Send,
    E: fmt::Display,
{
    while let Some(Some(key)) = cancel.run_until_cancelled(queue.get()).await {
        // What an error says is its author's work, too.
        let outcome = async { reconcile(Key::clone(&key)).await.map_err(|error| error.to_string()) };
        let outcome = AssertUnwindSafe(outcome).catch_unwind().await;
        match outcome {
            Ok(Ok(next)) => {
                queue.forget(&key);
                if let Next::After(time) = next {
                    queue.add_after(Key::clone(&key), time);
                }
            }
            Ok(Err(error)) => {
                tracing::warn!(key = %*key, %error, "reconciling failed, and is tried again");
                queue.add_rate_limited(Key::clone(&key));
            }
            Err(_) => {
                tracing::error!(key = %*key, "reconciling panicked, and is tried again");
                queue.add_rate_limited(Key::clone(&key));
            }
        }
    }
}

/// Whether something happened to what is asked of an object, and not to what is said of it: kube's `predicates::generation`.
///
/// The server counts the former in `metadata.generation`. What is told [again](Event::is_sync) is wanted; of kinds that are not
/// counted, such as config maps, every change is.
#[must_use]
pub fn is_news_of_spec<K: Resource>(event: &Event<K>) -> bool {
    match event {
        Event::Updated { old, new } => {
            let (old, new) = (old.meta(), new.meta());
            // One that was made anew begins to count anew.
            let is_counted = new.generation.is_some() && old.uid == new.uid;
            event.is_sync() || !is_counted || old.generation != new.generation
        }
        Event::Added { .. } | Event::Deleted { .. } => true,
    }
}

/// The key of the controller that an object has, if that is a `K`: what kube's `Controller::owns` looks for.
///
/// ```
/// # use k8s_openapi::api::{apps::v1::ReplicaSet, core::v1::Pod};
/// # use kube_informer::{Informer, controller::{Reconciler, controller_of}};
/// # fn reconciler(sets: &Informer<ReplicaSet>, pods: &Informer<Pod>) -> Reconciler {
/// Reconciler::new(sets).also(pods, controller_of::<ReplicaSet, Pod>)
/// # }
/// ```
#[must_use]
pub fn controller_of<K, O>(owned: &O) -> Option<Key>
where
    K: Resource<DynamicType: Default, Scope: 'static>,
    O: Resource,
{
    let (kind, mut owners) = (K::DynamicType::default(), owned.meta().owner_references.iter().flatten());
    let owner = owners.find(|owner| owner.controller == Some(true))?;
    let group = owner.api_version.rsplit_once('/').map_or("", |(group, _)| group);
    if (group, owner.kind.as_str()) != (&*K::group(&kind), &*K::kind(&kind)) {
        return None;
    }
    // What is in no namespace may own what is in one.
    let has_none = TypeId::of::<K::Scope>() == TypeId::of::<ClusterResourceScope>();
    let namespace = owned.meta().namespace.as_deref().filter(|_| !has_none);
    Key::new(namespace, &owner.name).ok()
}

/// An informer, and the keys that a change of an object of it concerns.
struct Feed<K> {
    informer: Informer<K>,
    wanted: Arc<Wanted<K>>,
    keys: Arc<KeysOf<K>>,
}

/// Says whether something that happened leads to a reconcile.
type Wanted<K> = dyn Fn(&Event<K>) -> bool + Send + Sync;

/// Calls back with each key that a change of an object concerns.
type KeysOf<K> = dyn Fn(&K, &mut dyn FnMut(Key)) + Send + Sync;

impl<K: Resource + Send + Sync + 'static> Followed for Feed<K> {
    fn follow(&self, queue: Keys) -> Result<Place, AddHandlerError> {
        let (wanted, keys) = (Arc::clone(&self.wanted), Arc::clone(&self.keys));
        let handler = move |event: &Event<K>| {
            if !wanted(event) {
                return;
            }
            let is_old = matches!(event, Event::Added { initial: true, .. }) || event.is_sync();
            let priority = if is_old { LATER } else { 0 };
            let mut add = |key| queue.at_priority(priority).add(key);
            if let Event::Updated { old, .. } | Event::Deleted { old, .. } = event {
                // What it was may concern others than what it is.
                keys(old, &mut add);
            }
            keys(event.object(), &mut add);
        };
        let registration = self.informer.add_handler(handler)?;
        let removed = registration.clone();
        Ok(Place {
            remove: Box::new(move || registration.remove()),
            removed: Box::new(move || {
                let registration = removed.clone();
                async move { registration.removed().await }.boxed()
            }),
        })
    }

    fn synced(&self) -> BoxFuture<'static, Result<(), SyncError>> {
        self.informer.synced().boxed()
    }
}

impl fmt::Debug for Reconciler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reconciler").field("concurrency", &self.concurrency).finish_non_exhaustive()
    }
}
