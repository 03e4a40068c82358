//! One informer for each thing that is followed, however many follow it.

use super::{
    builder::Builder,
    handle::Informer,
    start_error::StartError,
    wait_for_sync::{NotSynced, Synced, synced_all},
};
use crate::source::BoxFuture;
use futures_util::{FutureExt, future::join_all};
use kube_client::Client;
use kube_core::Resource;
use serde::de::DeserializeOwned;
use std::{
    any::{Any, TypeId},
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Hands out informers so that each thing is followed once: client-go's `SharedInformerFactory`.
///
/// Asking for the same type, resource, namespaces and selectors gives the same informer. What is new begins with
/// [`start`](Self::start). Cheap to clone; informers handed out are kept until they are [forgotten](Self::forget) or all
/// are [stopped](Self::stop).
///
/// ```
/// use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
/// use kube_devserver::DevServer;
/// use kube_informer::Informers;
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = DevServer::start();
/// let informers = Informers::new(server.client());
/// let pods = informers.of::<Pod>()?;
/// let web = informers.with::<Deployment>((), |builder| builder.namespace("web"))?;
/// informers.start();
/// informers.synced(Duration::from_secs(10)).await?;
/// assert!(pods.has_synced() && web.has_synced());
/// informers.stop().await;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Informers {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    resync: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    informers: HashMap<Identity, Arc<dyn Shared>>,
    resyncs: HashMap<TypeId, Duration>,
    is_stopped: bool,
}

/// What makes two informers the same: the type, and what is asked of the server.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Identity {
    kind: TypeId,
    request: String,
}

/// An informer of whatever type.
trait Shared: Synced + Any {
    fn start(&self);
    fn has_started(&self) -> bool;
    fn is_stopped(&self) -> bool;
    fn stop(&self) -> BoxFuture<'static, ()>;
}

impl<K: Resource + Send + Sync + 'static> Shared for Informer<K> {
    fn start(&self) {
        Self::start(self);
    }

    fn has_started(&self) -> bool {
        Self::has_started(self)
    }

    fn is_stopped(&self) -> bool {
        Self::is_stopped(self)
    }

    fn stop(&self) -> BoxFuture<'static, ()> {
        Self::stop(self).boxed()
    }
}

impl Informers {
    /// Informers of the server that this client reaches.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self::with_resync(client, Duration::ZERO)
    }

    /// Informers that tell their followers everything again this often, unless told otherwise.
    #[must_use]
    pub fn with_resync(client: Client, period: Duration) -> Self {
        Self { inner: Arc::new(Inner { client, resync: period, state: Mutex::default() }) }
    }

    /// Sets how often informers of one type tell everything again, for those that are asked for from now on.
    pub fn set_resync<K: 'static>(&self, period: Duration) {
        self.state().resyncs.insert(TypeId::of::<K>(), period);
    }

    /// The informer of a type, in all namespaces.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn of<K>(&self) -> Result<Informer<K>, StartError>
    where
        K: Resource + DeserializeOwned + Send + Sync + 'static,
        K::DynamicType: Default + Send + Sync + 'static,
    {
        self.with(K::DynamicType::default(), |builder| builder)
    }

    /// The informer of a kind, as `configure` makes it. For a typed kind, `kind` is `()`; for a `DynamicObject` it is its
    /// `ApiResource`.
    ///
    /// If there is one of the same type, resource, namespaces and selectors, that is returned as it is: whatever else
    /// `configure` sets is not looked at. Indexes can be [added](crate::cache::Store::add_index) to it.
    ///
    /// # Errors
    /// [`StartError`] if what `configure` made cannot be.
    pub fn with<K>(
        &self,
        kind: K::DynamicType,
        configure: impl FnOnce(Builder<K>) -> Builder<K>,
    ) -> Result<Informer<K>, StartError>
    where
        K: Resource + DeserializeOwned + Send + Sync + 'static,
        K::DynamicType: Send + Sync + 'static,
    {
        let path = K::url_path(&kind, None);
        let period = self.state().resyncs.get(&TypeId::of::<K>()).copied().unwrap_or(self.inner.resync);
        let builder = configure(Informer::dynamic(self.inner.client.clone(), kind).resync(period));
        let identity = Identity { kind: TypeId::of::<K>(), request: builder.request(&path) };
        let mut state = self.state();
        if let Some(known) = state.informers.get(&identity).filter(|known| !known.is_stopped()) {
            let known: Arc<dyn Any + Send + Sync> = Arc::clone(known) as _;
            let known = known.downcast::<Informer<K>>().expect("the type is part of the identity");
            return Ok(Informer::clone(&known));
        }
        let informer = builder.build()?;
        if state.is_stopped {
            drop(informer.stop());
        } else {
            state.informers.insert(identity, Arc::new(informer.clone()));
        }
        Ok(informer)
    }

    /// Starts those that were asked for since the last time, within a tokio runtime. After [`stop`](Self::stop) this does
    /// nothing.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(&self) {
        let state = self.state();
        let is_new = |informer: &&Arc<dyn Shared>| !informer.has_started() && !informer.is_stopped();
        state.informers.values().filter(is_new).for_each(|informer| informer.start());
    }

    /// Waits until all that have been started have synced, for so long at most.
    ///
    /// # Errors
    /// [`NotSynced`] names each that has not, and why.
    pub async fn synced(&self, within: Duration) -> Result<(), NotSynced> {
        let started: Vec<_> =
            self.state().informers.values().filter(|one| one.has_started()).cloned().collect();
        synced_all(started.iter().map(|informer| &**informer as &dyn Synced), within).await
    }

    /// Stops one, and forgets it: who asks for it again gets a new one.
    pub async fn forget<K: Resource + Send + Sync + 'static>(&self, informer: &Informer<K>) {
        let is_it = |known: &Arc<dyn Shared>| {
            let known: &dyn Any = &**known;
            known.downcast_ref::<Informer<K>>().is_some_and(|known| known.is_same(informer))
        };
        self.state().informers.retain(|_, known| !is_it(known));
        informer.stop().await;
    }

    /// Stops all, and waits until nothing of them runs any longer. What is asked for afterwards is stopped from the start.
    pub async fn stop(&self) {
        let all: Vec<_> = {
            let mut state = self.state();
            state.is_stopped = true;
            state.informers.drain().map(|(_, informer)| informer).collect()
        };
        join_all(all.iter().map(|informer| informer.stop())).await;
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.state().informers.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Informers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Informers").field("len", &self.len()).finish_non_exhaustive()
    }
}
