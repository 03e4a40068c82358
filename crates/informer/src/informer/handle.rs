//! The handle of an informer.

use super::{
    inner::Inner,
    namespace_error::NamespaceError,
    source_spec::{ServedResource, is_namespace},
    status::{InformerStatus, StatusWatch},
    sync::SyncResult,
    sync_error::SyncError,
    until::{self, InformerWatch, UntilError},
    wait_for_sync::{NotSyncedError, Synced, wait_for_sync},
};
use crate::{
    boxed::BoxFuture,
    cache::{IndexConflictError, Lister, Snapshot, Store, UnknownIndexError, WaitError},
    event::Event,
    subscription::{
        AddHandlerError, EventHandler, Registration, SubscribeOptions, Subscription, add_handler,
    },
};
use futures_util::FutureExt;
use kube_core::Resource;
use kube_informer_wire::{KeyRef, ResourceVersion};
use std::{collections::BTreeSet, fmt, pin::pin, sync::Arc, time::Duration};

/// An up-to-date, indexed cache of a resource that delivers events to subscribers: client-go's `SharedIndexInformer`.
///
/// This is a handle, and cheap to clone. The informer is stopped when the last handle is dropped. The most common reads of its
/// [`store`](Self::store) are also methods of the handle.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_devserver::{Churn, DevServer};
/// use kube_informer::{Event, Informer};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = DevServer::start(); // instead of a cluster
/// server.churn(Churn::pods(10));
/// let pods = Informer::<Pod>::builder(server.client())
///     .index("node", |pod: &Pod| pod.spec.as_ref()?.node_name.clone())
///     .start()?;
/// pods.synced().await?;
/// assert_eq!(pods.len(), 10);
///
/// let mut events = pods.subscribe();
/// while let Some(event) = events.next().await {
///     match &event {
///         Event::Added { key, phase, .. } => println!("{key} was added ({phase:?})"),
///         Event::Updated { key, old, new, .. } => println!("{key}: {:?} -> {:?}", old.get().status, new.get().status),
///         Event::Deleted { key, .. } => println!("{key} was deleted"),
///         _ => {}
///     }
/// #   if events.registration().depth() == 0 { break; }
/// }
/// pods.stop();
/// pods.stopped().await;
/// # Ok(()) }
/// ```
#[doc(alias = "SharedInformer")]
#[doc(alias = "SharedIndexInformer")]
#[doc(alias = "reflector")]
#[doc(alias = "watcher")]
pub struct Informer<K> {
    inner: Arc<Inner<K>>,
    _stop_on_drop: Arc<StopOnDrop<K>>,
}

/// The error of [`Informer::written`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WrittenError {
    /// The object has no resource version.
    #[error("object {name:?} has no resourceVersion; use the object that the server returned")]
    #[non_exhaustive]
    NoVersion {
        /// The name of the object.
        name: String,
    },
    /// The cache cannot reach the version of the object.
    #[error(transparent)]
    Wait(#[from] WaitError),
}

/// Stops the informer when the last handle is dropped.
struct StopOnDrop<K>(Arc<Inner<K>>);

impl<K> Drop for StopOnDrop<K> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl<K: Resource + Send + Sync + 'static> Informer<K> {
    pub(super) fn new(inner: Inner<K>) -> Self {
        let inner = Arc::new(inner);
        Self { _stop_on_drop: Arc::new(StopOnDrop(Arc::clone(&inner))), inner }
    }

    /// Starts an informer that was [built](super::InformerBuilder::build). If it was started or stopped before, this only
    /// logs a warning.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(&self) {
        if self.inner.start() {
            #[cfg(feature = "leases")]
            if let Some(leased) = self.inner.leased.clone() {
                self.inner.tasks.spawn(super::shard_sources::update_shards(Arc::clone(&self.inner), leased));
            }
        } else {
            tracing::warn!(informer = self.inner.name, "informer was started or stopped before");
        }
    }

    /// Returns the namespaces of the informer; `None` for all namespaces, and for cluster-scoped kinds.
    #[must_use]
    pub fn namespaces(&self) -> Option<Vec<String>> {
        self.inner.namespaces()
    }

    /// Adds a namespace: lists and watches it, and adds its objects to the cache. It has no effect if the informer has the namespace.
    /// [`synced`](Self::synced) waits for it.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_devserver::DevServer;
    /// use kube_informer::Informer;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = DevServer::start();
    /// let maps = Informer::<ConfigMap>::builder(server.client()).namespace("default").start()?;
    /// maps.add_namespace("kube-system")?;
    /// maps.synced().await?;
    /// maps.remove_namespace("default")?; // subscribers receive `Event::Released`
    /// assert_eq!(maps.namespaces(), Some(vec!["kube-system".to_owned()]));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`NamespaceError`] if the informer watches all namespaces, its cache is saved, the name is invalid, or it was stopped.
    pub fn add_namespace(&self, namespace: &str) -> Result<(), NamespaceError> {
        if !is_namespace(namespace) {
            return Err(NamespaceError::InvalidName { name: namespace.to_owned() });
        }
        self.inner.add_namespace(namespace)
    }

    /// Removes a namespace: ends its watch, and removes its objects from the cache with [`Event::Released`]. It has no effect if
    /// the informer does not have the namespace.
    ///
    /// # Errors
    /// [`NamespaceError`] if the informer watches all namespaces, its cache is saved, or it was stopped.
    pub fn remove_namespace(&self, namespace: &str) -> Result<(), NamespaceError> {
        self.inner.remove_namespace(namespace)
    }

    /// Returns the leases whose shards the informer follows; `None` if it does not follow any.
    #[cfg(feature = "leases")]
    #[cfg_attr(docsrs, doc(cfg(feature = "leases")))]
    #[must_use]
    pub fn leases(&self) -> Option<&kube_leases::Leases> {
        self.inner.leased.as_ref().map(|leased| &leased.leases)
    }

    /// Returns true if the cache contains the objects of a held shard. If the informer does not follow leases, this is
    /// [`has_synced`](Self::has_synced).
    #[cfg(feature = "leases")]
    #[cfg_attr(docsrs, doc(cfg(feature = "leases")))]
    #[must_use]
    pub fn has_synced_shard(&self, shard: &kube_leases::Shard) -> bool {
        match self.inner.leased {
            Some(_) => self.inner.has_synced_shard(shard.index(), shard.term()),
            None => self.has_synced(),
        }
    }

    /// Waits until the cache contains the objects of a held shard; see [`has_synced_shard`](Self::has_synced_shard). Use it within
    /// [`run_while_held`](kube_leases::Shard::run_while_held), because a shard that is lost does not sync.
    ///
    /// # Errors
    /// [`SyncError`] if the informer was stopped.
    #[cfg(feature = "leases")]
    #[cfg_attr(docsrs, doc(cfg(feature = "leases")))]
    pub async fn synced_shard(&self, shard: &kube_leases::Shard) -> Result<(), SyncError> {
        loop {
            let mut changed = pin!(self.inner.sync.changed());
            changed.as_mut().enable();
            if self.has_synced_shard(shard) {
                return Ok(());
            }
            if self.is_stopped() {
                return Err(SyncError::Stopped { resource: self.inner.resource.clone() });
            }
            changed.await;
        }
    }

    #[cfg(feature = "leases")]
    pub(super) fn leased_shards(&self) -> Option<&super::leased_shards::LeasedShards> {
        self.inner.leased.as_ref()
    }

    /// Returns the current status.
    #[must_use]
    pub fn status(&self) -> InformerStatus {
        self.inner.status()
    }

    /// Returns a watch of the status.
    #[must_use]
    pub fn watch_status(&self) -> StatusWatch {
        let inner = Arc::clone(&self.inner);
        StatusWatch {
            read: Arc::new(move || inner.status()),
            times: self.inner.times.subscribe(),
            read_sources: {
                let inner = Arc::clone(&self.inner);
                Arc::new(move || inner.source_statuses())
            },
            sources: self.inner.source_statuses(),
            ended: BTreeSet::new(),
        }
    }

    /// Subscribes with the default options: the subscription delivers all objects in the cache, then changes. It ends when the
    /// informer is stopped.
    #[must_use]
    pub fn subscribe(&self) -> Subscription<K> {
        self.subscribe_with(SubscribeOptions::new())
    }

    /// Subscribes with these options.
    #[must_use]
    pub fn subscribe_with(&self, options: SubscribeOptions<K>) -> Subscription<K> {
        Subscription::new(&self.inner.broadcaster, options)
    }

    /// Watches the informer like a server: the objects of the cache as `ADDED`, then every change in order. A deletion that was not
    /// observed is a `DELETED` with the last known object. Resyncs are not delivered.
    ///
    /// Events that are not read accumulate without limit ([`Policy::Unbounded`](crate::Policy::Unbounded)). The watch ends when the
    /// informer is stopped; dropping the watch does not stop the informer.
    #[doc(alias = "NewIndexerInformerWatcher")]
    #[doc(alias = "InformerWatcher")]
    #[must_use]
    pub fn watch(&self) -> InformerWatch<K> {
        InformerWatch::new(self.subscribe_with(until::every_event("watch")))
    }

    /// Waits until the cache has synced and fulfills `condition`, and returns the state that fulfills it.
    ///
    /// The condition is checked for the current state after each batch of changes, so that it may not see states in between. Use
    /// [`until_with_sync`](Self::until_with_sync) to check every event, and [`await_condition`](Self::await_condition) for one object.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Namespace;
    /// use kube_devserver::DevServer;
    /// use kube_informer::Informer;
    /// use std::time::Duration;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = DevServer::start();
    /// let namespaces = Informer::<Namespace>::builder(server.client()).start()?;
    /// let four = namespaces.until(|snapshot| snapshot.len() >= 4);
    /// let snapshot = tokio::time::timeout(Duration::from_secs(10), four).await??;
    /// assert!(snapshot.contains("kube-system"));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`UntilError`] if the list is refused, or the informer is stopped or was not started.
    #[doc(alias = "UntilWithSync")]
    pub async fn until(
        &self,
        condition: impl FnMut(&Snapshot<K>) -> bool,
    ) -> Result<Arc<Snapshot<K>>, UntilError> {
        let events = self.subscribe_with(until::wake_up());
        UntilError::check(self.synced().await)?;
        until::until_snapshot(self.store(), events, condition).await.ok_or(UntilError::Stopped)
    }

    /// Waits until the cache has synced, then for an event that fulfills `condition`, and returns the event. If the cache fulfills
    /// `precondition` after the initial list, returns `None` without waiting for events.
    ///
    /// The events start with those of the initial list, and none is skipped.
    ///
    /// # Errors
    /// [`UntilError`] if the list is refused, or the informer is stopped or was not started.
    #[doc(alias = "UntilWithSync")]
    pub async fn until_with_sync(
        &self,
        precondition: impl FnOnce(&Snapshot<K>) -> bool,
        condition: impl FnMut(&Event<K>) -> bool,
    ) -> Result<Option<Event<K>>, UntilError> {
        let events = self.subscribe_with(until::every_event("until"));
        UntilError::check(self.synced().await)?;
        if precondition(&self.snapshot()) {
            return Ok(None);
        }
        until::until_event(events, condition).await.map(Some).ok_or(UntilError::Stopped)
    }

    /// Waits until the cache has synced and the object with this key fulfills `condition`, which is called with `None` while there is
    /// no such object. Returns the object that fulfills it.
    ///
    /// Unlike `kube::runtime::wait::await_condition`, this opens no watch of its own. States of the object that follow each other
    /// quickly may be skipped.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Namespace;
    /// use kube_devserver::DevServer;
    /// use kube_informer::Informer;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = DevServer::start();
    /// let namespaces = Informer::<Namespace>::builder(server.client()).start()?;
    /// let is_active = |namespace: Option<&Namespace>| {
    ///     let status = namespace.and_then(|namespace| namespace.status.as_ref());
    ///     status.is_some_and(|status| status.phase.as_deref() == Some("Active"))
    /// };
    /// namespaces.await_condition("default", is_active).await?;
    /// namespaces.await_condition("removed", |namespace| namespace.is_none()).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`UntilError`] if the list is refused, or the informer is stopped or was not started.
    pub async fn await_condition<'k>(
        &self,
        key: impl Into<KeyRef<'k>>,
        condition: impl FnMut(Option<&K>) -> bool,
    ) -> Result<Option<Arc<K>>, UntilError> {
        let key = key.into();
        let events = self.subscribe_with(until::wake_up());
        UntilError::check(self.synced().await)?;
        until::until_object(self.store(), events, key, condition).await.ok_or(UntilError::Stopped)
    }

    /// Adds a handler with the default options. It runs in its own task until it is [removed](Registration::remove) or the
    /// informer is stopped.
    ///
    /// A handler that owns a handle of its informer keeps the informer running after all other handles are dropped. Use a
    /// clone of the [store](Self::store) instead.
    ///
    /// # Errors
    /// [`AddHandlerError`] if the informer has been stopped, or outside of a tokio runtime.
    pub fn add_handler(&self, handler: impl EventHandler<K>) -> Result<Registration<K>, AddHandlerError> {
        self.add_handler_with(handler, SubscribeOptions::new())
    }

    /// Adds a handler with these options.
    ///
    /// # Errors
    /// [`AddHandlerError`] if the informer has been stopped, or outside of a tokio runtime.
    pub fn add_handler_with(
        &self,
        handler: impl EventHandler<K>,
        options: SubscribeOptions<K>,
    ) -> Result<Registration<K>, AddHandlerError> {
        add_handler(&self.inner.broadcaster, handler, options, &self.inner.tasks)
    }

    /// Waits until the cache is complete, at most for `timeout`.
    ///
    /// # Errors
    /// [`NotSyncedError`] with the reason, and the last error after a timeout.
    pub async fn synced_within(&self, timeout: Duration) -> Result<(), NotSyncedError> {
        wait_for_sync([self as &dyn Synced], timeout).await
    }

    /// Waits until the cache has an object that the server returned for a create, update or patch, or a newer version of it, so
    /// that a program reads its own writes.
    ///
    /// # Errors
    /// [`WrittenError`] if the object has no resource version, or if the informer is stopped first.
    ///
    /// # Cancel safety
    /// This method is cancel safe.
    pub async fn written(&self, object: &K) -> Result<(), WrittenError> {
        let metadata = object.meta();
        let no_version = || WrittenError::NoVersion { name: metadata.name.clone().unwrap_or_default() };
        let version = metadata.resource_version.as_deref().and_then(|version| version.parse().ok());
        Ok(self.store().wait_for(&version.ok_or_else(no_version)?).await?)
    }

    /// Delivers artificial events to subscribers, to test handlers. The cache does not change.
    #[cfg(any(test, feature = "testing"))]
    #[cfg_attr(docsrs, doc(cfg(feature = "testing")))]
    pub fn inject(&self, events: impl IntoIterator<Item = crate::event::Event<K>>) {
        self.inner.broadcaster.inject(events);
    }

    /// Returns the number of running tasks: one for each source, one for each handler, and one for resyncs.
    #[must_use]
    pub fn tasks(&self) -> usize {
        self.inner.tasks.len()
    }
}

impl<K: Send + Sync + 'static> Informer<K> {
    /// Waits until the cache is complete, with all namespaces and shards of the informer at this moment. See [`synced_within`](Self::synced_within) for a timeout.
    ///
    /// # Errors
    /// [`SyncError`] if the server refuses the list, if objects were skipped, or if the informer was stopped or not started.
    /// Except after a stop, the informer keeps retrying, and a later call may succeed.
    #[doc(alias = "WaitForCacheSync")]
    pub fn synced(&self) -> impl Future<Output = Result<(), SyncError>> + Send + 'static + use<K> {
        let inner = Arc::clone(&self.inner);
        async move {
            loop {
                let mut changed = pin!(inner.sync.changed());
                changed.as_mut().enable();
                let is_stopped = inner.broadcaster.is_closed();
                match inner.sync.result() {
                    SyncResult::Synced => return Ok(()),
                    SyncResult::Failed(error) => return Err(error),
                    SyncResult::Pending if is_stopped => {
                        return Err(SyncError::Stopped { resource: inner.resource.clone() });
                    }
                    SyncResult::Pending if inner.times.borrow().started.is_none() => {
                        return Err(SyncError::NotStarted { resource: inner.resource.clone() });
                    }
                    SyncResult::Pending => changed.await,
                }
            }
        }
    }
}

impl<K> Informer<K> {
    /// Returns the configured name. The default is the kind of the objects.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Returns the kind of the objects, such as `apps/v1 Deployment`, or the description of a custom source.
    #[must_use]
    pub fn resource(&self) -> &str {
        &self.inner.resource
    }

    /// Returns the cache. It stays readable after the informer is stopped, without further updates.
    #[must_use]
    pub fn store(&self) -> &Store<K> {
        &self.inner.store
    }

    /// Returns the resource of the API server that the informer lists and watches; `None` for a custom source.
    #[must_use]
    pub fn served_resource(&self) -> Option<&ServedResource> {
        self.inner.served.as_ref()
    }

    /// Returns true if both are handles of the same informer.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Returns true if the lists of all namespaces and shards of the informer are complete. It is false again while a namespace that was
    /// added, or a shard that was gained, is listed.
    #[must_use]
    #[doc(alias = "HasSynced")]
    pub fn has_synced(&self) -> bool {
        self.inner.sync.is_complete()
    }

    /// Returns true if the informer was started, also after it was stopped.
    #[must_use]
    pub fn has_started(&self) -> bool {
        self.inner.times.borrow().started.is_some()
    }

    /// Returns true if the informer was stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.inner.broadcaster.is_closed()
    }

    /// Stops the informer. Use [`stopped`](Self::stopped) to wait until its tasks have ended.
    pub fn stop(&self) {
        self.inner.stop();
    }

    /// Waits until the informer was stopped and its tasks have ended. Handlers complete the current event. Do not await this in a
    /// handler.
    pub fn stopped(&self) -> impl Future<Output = ()> + Send + 'static + use<K> {
        let tasks = self.inner.tasks.clone();
        async move { tasks.wait().await }
    }
}

/// Common reads of the [`store`](Self::store).
impl<K> Informer<K> {
    /// Returns the object with this key; see [`Store::get`].
    pub fn get<'k>(&self, key: impl Into<KeyRef<'k>>) -> Option<Arc<K>> {
        self.store().get(key)
    }

    /// Returns the number of objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.store().len()
    }

    /// Returns true if the cache is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.store().is_empty()
    }

    /// Returns all objects, in no particular order.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<K>> {
        self.store().list()
    }

    /// Returns the objects with this value in an index; see [`Store::by_index`].
    ///
    /// # Errors
    /// [`UnknownIndexError`] if there is no such index.
    pub fn by_index(&self, index: &str, value: &str) -> Result<Vec<Arc<K>>, UnknownIndexError> {
        self.store().by_index(index, value)
    }

    /// Adds an index; see [`Store::add_index`].
    ///
    /// # Errors
    /// [`IndexConflictError`] if there is an index with this name.
    pub fn add_index<F, I, V>(&self, name: &str, function: F) -> Result<(), IndexConflictError>
    where
        F: Fn(&K) -> I + Send + Sync + 'static,
        I: IntoIterator<Item = V>,
        V: AsRef<str>,
    {
        self.store().add_index(name, function)
    }

    /// Returns a lister; see [`Store::lister`].
    #[must_use]
    pub fn lister(&self) -> Lister<K> {
        self.store().lister()
    }

    /// Returns the current state; see [`Store::snapshot`].
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot<K>> {
        self.store().snapshot()
    }

    /// Returns the version of the cache; see [`Store::version`].
    #[must_use]
    pub fn version(&self) -> Option<ResourceVersion> {
        self.store().version()
    }

    /// Waits until the cache has this version; see [`Store::wait_for`].
    ///
    /// # Errors
    /// [`WaitError`] if the informer is stopped first, or the versions cannot be compared.
    pub async fn wait_for(&self, version: &ResourceVersion) -> Result<(), WaitError> {
        self.store().wait_for(version).await
    }

    /// Waits until the cache has this version, at most for `timeout`; see [`Store::wait_for_within`].
    ///
    /// # Errors
    /// [`WaitError`] if the cache does not reach the version.
    pub async fn wait_for_within(
        &self,
        version: &ResourceVersion,
        timeout: Duration,
    ) -> Result<(), WaitError> {
        self.store().wait_for_within(version, timeout).await
    }
}

impl<K: Resource + Send + Sync + 'static> Synced for Informer<K> {
    fn name(&self) -> String {
        self.inner.name.clone()
    }

    fn synced(&self) -> BoxFuture<'static, Result<(), SyncError>> {
        Self::synced(self).boxed()
    }

    fn blocked_on(&self) -> Option<String> {
        if self.has_started() { self.status().last_error } else { Some("not started".to_owned()) }
    }
}

impl<K: Send + Sync + 'static> Synced for Registration<K> {
    fn name(&self) -> String {
        Self::name(self).to_owned()
    }

    fn synced(&self) -> BoxFuture<'static, Result<(), SyncError>> {
        let registration = self.clone();
        async move {
            let resource = registration.name().to_owned();
            if registration.wait_for_sync().await { Ok(()) } else { Err(SyncError::Stopped { resource }) }
        }
        .boxed()
    }

    fn blocked_on(&self) -> Option<String> {
        (self.depth() > 0).then(|| format!("{} events have not been handled", self.depth()))
    }
}

impl<K> Clone for Informer<K> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), _stop_on_drop: Arc::clone(&self._stop_on_drop) }
    }
}

impl<K> fmt::Debug for Informer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Informer")
            .field("name", &self.inner.name)
            .field("store", &self.inner.store)
            .finish_non_exhaustive()
    }
}
