//! A registry of shared informers.

use super::{
    builder::InformerBuilder,
    handle::Informer,
    modify_options::ModifyOptions,
    shared_settings::SharedSettings,
    start_error::StartError,
    wait_for_sync::{NotSyncedError, Synced, wait_for_sync},
};
use crate::{
    boxed::BoxFuture,
    cache::{Snapshot, Store},
};
use futures_util::{FutureExt, future::join_all};
use kube_client::Client;
use kube_core::Resource;
use kube_informer_wire::{ListOptions, ResourceVersion, WatchOptions};
use serde::de::DeserializeOwned;
use std::{
    any::{Any, TypeId},
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// A registry of shared informers: client-go's `SharedInformerFactory`.
///
/// Two calls with the same type, resource, namespaces and selectors return the same informer. New informers send no requests
/// before [`start`](Self::start). The handle is cheap to clone. Informers stay in the registry until they are
/// [removed](Self::remove) or all are [stopped](Self::stop).
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
/// let pods = informers.get::<Pod>()?;
/// let web = informers.with::<Deployment>((), |builder| builder.namespace("web"))?;
/// informers.start();
/// informers.synced(Duration::from_secs(10)).await?;
/// assert!(pods.has_synced() && web.has_synced());
/// informers.stop();
/// informers.stopped().await;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Informers {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    resync: Duration,
    namespaces: Option<Vec<String>>,
    modify: ModifyOptions,
    /// A `Configure<K>` for some of the types.
    types: HashMap<TypeId, Box<dyn Any + Send + Sync>>,
    state: Mutex<State>,
}

/// Configures the informers of one type.
type Configure<K> = Box<dyn Fn(InformerBuilder<K>) -> InformerBuilder<K> + Send + Sync>;

/// Sets the defaults of all informers of a registry: client-go's `NewSharedInformerFactoryWithOptions`.
///
/// ```
/// use k8s_openapi::api::core::v1::{ConfigMap, Pod};
/// use kube_devserver::DevServer;
/// use kube_informer::Informers;
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = DevServer::start();
/// let informers = Informers::builder(server.client())
///     .namespace("web")
///     .resync(Duration::from_secs(600))
///     .modify_list(|options| options.limit = std::num::NonZeroU64::new(100))
///     .configure(|pods| pods.transform(|pod: Pod| Ok(Pod { status: None, ..pod })))
///     .build();
/// let pods = informers.get::<Pod>()?; // of the namespace web, without their status
/// let maps = informers.with::<ConfigMap>((), |builder| builder.namespace("db"))?;
/// # Ok(()) }
/// ```
#[must_use]
#[doc(alias = "NewSharedInformerFactoryWithOptions")]
pub struct InformersBuilder(Inner);

#[derive(Default)]
struct State {
    informers: HashMap<Identity, Arc<dyn Shared>>,
    settings: HashMap<Identity, SharedSettings>,
    resyncs: HashMap<TypeId, Duration>,
    is_stopped: bool,
}

/// Identifies an informer by its type and its request to the server.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Identity {
    kind: TypeId,
    request: String,
}

/// An informer of any type.
trait Shared: Synced + Any {
    fn start(&self);
    fn has_started(&self) -> bool;
    fn is_stopped(&self) -> bool;
    fn stop(&self);
    fn stopped(&self) -> BoxFuture<'static, ()>;
    fn shared_snapshot(&self) -> KindSnapshot;
}

/// Snapshots of several informers; see [`Informers::snapshot`].
#[derive(Debug)]
pub struct InformersSnapshot {
    kinds: Vec<KindSnapshot>,
}

/// The snapshot of one informer.
#[derive(Debug)]
struct KindSnapshot {
    name: String,
    version: Option<ResourceVersion>,
    /// Identifies the informer.
    store: Box<dyn Any + Send + Sync>,
    snapshot: Arc<dyn Any + Send + Sync>,
}

impl InformersSnapshot {
    /// Returns the snapshot of an informer; `None` if it was not in the registry.
    #[must_use]
    pub fn get<K: Send + Sync + 'static>(&self, informer: &Informer<K>) -> Option<Arc<Snapshot<K>>> {
        let is_match = |kind: &&KindSnapshot| {
            kind.store.downcast_ref::<Store<K>>().is_some_and(|store| store.is_same(informer.store()))
        };
        let found = self.kinds.iter().find(is_match)?;
        Arc::clone(&found.snapshot).downcast().ok()
    }

    /// Returns the names of the informers with the versions of their snapshots.
    pub fn versions(&self) -> impl Iterator<Item = (&str, Option<&ResourceVersion>)> {
        self.kinds.iter().map(|kind| (kind.name.as_str(), kind.version.as_ref()))
    }

    /// Returns the oldest and the newest version. A change between these two may be missing in some of the snapshots. `None`
    /// if an informer has no version yet, or if the versions of the server cannot be compared.
    #[must_use]
    pub fn version_range(&self) -> Option<(&ResourceVersion, &ResourceVersion)> {
        let mut versions = self.kinds.iter().map(|kind| kind.version.as_ref());
        let first = versions.next()??;
        versions.try_fold((first, first), |(oldest, newest), version| {
            let version = version?;
            let oldest = if version.partial_cmp(oldest)?.is_lt() { version } else { oldest };
            let newest = if version.partial_cmp(newest)?.is_gt() { version } else { newest };
            Some((oldest, newest))
        })
    }
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

    fn stop(&self) {
        Self::stop(self);
    }

    fn stopped(&self) -> BoxFuture<'static, ()> {
        Self::stopped(self).boxed()
    }

    fn shared_snapshot(&self) -> KindSnapshot {
        let snapshot = self.snapshot();
        KindSnapshot {
            name: self.name().to_owned(),
            version: snapshot.version().cloned(),
            store: Box::new(self.store().clone()),
            snapshot,
        }
    }
}

impl InformersBuilder {
    /// Sets the default resync period of the informers. The default is never.
    pub fn resync(mut self, period: Duration) -> Self {
        self.0.resync = period;
        self
    }

    /// Sets the namespace of the informers, except of those that set namespaces themselves or whose type is cluster-scoped. May be
    /// called repeatedly.
    #[doc(alias = "WithNamespace")]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        let (namespaces, namespace) = (self.0.namespaces.get_or_insert_default(), namespace.into());
        if !namespaces.contains(&namespace) {
            namespaces.push(namespace);
        }
        self
    }

    /// Adds a function that changes the options of every list; see [`InformerBuilder::modify_list`].
    #[doc(alias = "WithTweakListOptions")]
    pub fn modify_list(mut self, modify: impl Fn(&mut ListOptions) + Send + Sync + 'static) -> Self {
        self.0.modify = self.0.modify.and(ModifyOptions::list(modify));
        self
    }

    /// Adds a function that changes the options of every watch; see [`InformerBuilder::modify_list`].
    #[doc(alias = "WithTweakListOptions")]
    pub fn modify_watch(mut self, modify: impl Fn(&mut WatchOptions) + Send + Sync + 'static) -> Self {
        self.0.modify = self.0.modify.and(ModifyOptions::watch(modify));
        self
    }

    /// Configures all informers of type `K`, such as with a [transform](InformerBuilder::transform). A second call for the same type
    /// replaces the first.
    #[doc(alias = "WithTransform")]
    pub fn configure<K: Resource + 'static>(
        mut self,
        configure: impl Fn(InformerBuilder<K>) -> InformerBuilder<K> + Send + Sync + 'static,
    ) -> Self {
        let configure: Configure<K> = Box::new(configure);
        self.0.types.insert(TypeId::of::<K>(), Box::new(configure));
        self
    }

    /// Creates the registry.
    #[must_use]
    pub fn build(self) -> Informers {
        Informers { inner: Arc::new(self.0) }
    }
}

impl fmt::Debug for InformersBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InformersBuilder").field("namespaces", &self.0.namespaces).finish_non_exhaustive()
    }
}

impl Informers {
    /// Creates a registry of informers that use this client.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self::builder(client).build()
    }

    /// Creates a registry of informers that resync with this period by default.
    #[must_use]
    pub fn with_resync(client: Client, period: Duration) -> Self {
        Self::builder(client).resync(period).build()
    }

    /// Returns a builder of a registry, to set defaults for all of its informers.
    pub fn builder(client: Client) -> InformersBuilder {
        InformersBuilder(Inner {
            client,
            resync: Duration::ZERO,
            namespaces: None,
            modify: ModifyOptions::default(),
            types: HashMap::new(),
            state: Mutex::default(),
        })
    }

    /// Sets the resync period of informers of type `K` that are created after this call.
    pub fn set_resync<K: 'static>(&self, period: Duration) {
        self.state().resyncs.insert(TypeId::of::<K>(), period);
    }

    /// Returns the informer of a type, in the [namespaces](InformersBuilder::namespace) of the builder or in all.
    ///
    /// # Errors
    /// [`StartError`] if the informer cannot be built.
    pub fn get<K>(&self) -> Result<Informer<K>, StartError>
    where
        K: Resource + DeserializeOwned + Send + Sync + 'static,
        K::DynamicType: Default + Send + Sync + 'static,
    {
        self.with(K::DynamicType::default(), |builder| builder)
    }

    /// Returns the informer that `configure` describes. For a typed kind, `kind` is `()`; for a `DynamicObject` it is the
    /// `ApiResource`.
    ///
    /// If the registry has an informer with the same type, resource, namespaces and selectors, that one is returned. Indexes of
    /// `configure` that it does not have are added to it. An index of a known name is assumed to be the same, and so is a
    /// transform if the informer has one; the name, the resync period and the reflector settings of the first caller are used.
    ///
    /// # Errors
    /// [`StartError`] if the configuration is invalid, or has another storage, another setting of managed fields, or a transform
    /// that the existing informer does not have ([`StartError::SettingsConflict`]).
    pub fn with<K>(
        &self,
        kind: K::DynamicType,
        configure: impl FnOnce(InformerBuilder<K>) -> InformerBuilder<K>,
    ) -> Result<Informer<K>, StartError>
    where
        K: Resource + DeserializeOwned + Send + Sync + 'static,
        K::DynamicType: Send + Sync + 'static,
    {
        let path = K::url_path(&kind, None);
        let period = self.state().resyncs.get(&TypeId::of::<K>()).copied().unwrap_or(self.inner.resync);
        let mut builder = Informer::builder_for(self.inner.client.clone(), kind).resync(period);
        if let Some(defaults) = self.inner.types.get(&TypeId::of::<K>()) {
            let defaults = defaults.downcast_ref::<Configure<K>>().expect("the type is the key");
            builder = defaults(builder);
        }
        let builder = configure(builder).defaults(self.inner.namespaces.as_deref(), &self.inner.modify);
        let identity = Identity { kind: TypeId::of::<K>(), request: builder.request(&path) };
        let mut state = self.state();
        if let Some(known) = state.informers.get(&identity).filter(|known| !known.is_stopped()) {
            let known: Arc<dyn Any + Send + Sync> = Arc::clone(known) as _;
            let known = known.downcast::<Informer<K>>().expect("the type is part of the identity");
            if let Some(existing) = state.settings.get(&identity) {
                existing.check(&builder.shared_settings(), known.resource())?;
            }
            builder.merge_indexes_into(&known);
            return Ok(Informer::clone(&known));
        }
        let settings = builder.shared_settings();
        let informer = builder.build()?;
        if state.is_stopped {
            informer.stop();
        } else {
            state.settings.insert(identity.clone(), settings);
            state.informers.insert(identity, Arc::new(informer.clone()));
        }
        Ok(informer)
    }

    /// Starts the informers that were created since the last call. No informer is started after [`stop`](Self::stop).
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(&self) {
        let state = self.state();
        let is_new = |informer: &&Arc<dyn Shared>| !informer.has_started() && !informer.is_stopped();
        for informer in state.informers.values().filter(is_new) {
            informer.start();
        }
    }

    /// Waits until all informers have synced, at most for `timeout`.
    ///
    /// # Errors
    /// [`NotSyncedError`] lists the informers that have not synced, with the reasons. An informer that was created after the last
    /// call of [`start`](Self::start) is listed as not started.
    pub async fn synced(&self, timeout: Duration) -> Result<(), NotSyncedError> {
        let informers: Vec<_> = self.state().informers.values().cloned().collect();
        wait_for_sync(informers.iter().map(|informer| &**informer as &dyn Synced), timeout).await
    }

    /// Removes an informer, stops it, and waits until its tasks have ended. The next call of [`get`](Self::get) creates a new
    /// one.
    pub async fn remove<K: Resource + Send + Sync + 'static>(&self, informer: &Informer<K>) {
        let is_match = |known: &Arc<dyn Shared>| {
            let known: &dyn Any = &**known;
            known.downcast_ref::<Informer<K>>().is_some_and(|known| known.is_same(informer))
        };
        self.state().informers.retain(|_, known| !is_match(known));
        informer.stop();
        informer.stopped().await;
    }

    /// Stops all informers. Informers that are created afterwards cannot be started.
    pub fn stop(&self) {
        let mut state = self.state();
        state.is_stopped = true;
        for informer in state.informers.values() {
            informer.stop();
        }
    }

    /// Waits until all informers are stopped and their tasks have ended.
    pub async fn stopped(&self) {
        let all: Vec<_> = self.state().informers.values().map(|informer| informer.stopped()).collect();
        join_all(all).await;
        let mut state = self.state();
        if state.is_stopped {
            state.informers.clear();
        }
    }

    /// Takes a snapshot of the cache of every informer.
    ///
    /// Each snapshot has its own version: [`InformersSnapshot::version_range`] returns their range. An API server assigns
    /// versions across all resources, so that a caller can [wait](crate::cache::Store::wait_for) for the newest version and
    /// try again.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Pod};
    /// use kube_devserver::DevServer;
    /// use kube_informer::Informers;
    /// use std::time::Duration;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = DevServer::start();
    /// let informers = Informers::new(server.client());
    /// let pods = informers.get::<Pod>()?;
    /// let maps = informers.get::<ConfigMap>()?;
    /// informers.start();
    /// informers.synced(Duration::from_secs(10)).await?;
    /// let snapshot = informers.snapshot();
    /// let pods = snapshot.get(&pods).expect("in the registry");
    /// let maps = snapshot.get(&maps).expect("in the registry");
    /// println!("{} pods, {} config maps at {:?}", pods.len(), maps.len(), snapshot.version_range());
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn snapshot(&self) -> InformersSnapshot {
        let mut kinds: Vec<_> =
            self.state().informers.values().map(|informer| informer.shared_snapshot()).collect();
        kinds.sort_by(|one, other| one.name.cmp(&other.name));
        InformersSnapshot { kinds }
    }

    /// Returns the number of informers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.state().informers.len()
    }

    /// Returns true if there are no informers.
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
