//! Configures an informer, and checks the configuration.

use super::{
    handle::Informer,
    inner::{InformerSpec, Inner, OnError},
    leased_shards::LeasedShards,
    metrics_name::MetricsName,
    modify_options::ModifyOptions,
    origin::{Origin, Server, Shard, SourceSettings},
    restore::{RestoreTarget, restore},
    save::{Save, SaveConfig, SaveRequest},
    shared_settings::SharedSettings,
    source_spec::{NewSource, ServedResource, SourceSpec, is_namespace},
    start_error::StartError,
    sync::SyncState,
};
use crate::{
    boxed::BoxError,
    cache::{Store, StoreBuilder},
    ingest::Ingest,
    object::{Storage, is_cluster_scoped},
    reflector::{Backoff, Config, Report, Strategy},
    source::{Encoding, ListCompression, ListWatch, ListerWatcher, MAX_OBJECT_SIZE, Sharded},
    subscription::Broadcaster,
};
use kube_client::Client;
use kube_core::{ApiResource, DynamicObject, Resource};
use kube_informer_wire::{
    FieldValues, Lazy, ListOptions, ManagedFields, ShardField, ShardSelector, WatchOptions,
};
use serde::{Serialize, de::DeserializeOwned};
use std::{fmt, sync::Arc, time::Duration};

/// Configures an [`Informer`]. No request is sent before [`start`](Self::start).
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_devserver::DevServer;
/// use kube_informer::{Informer, Storage};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = DevServer::start();
/// let pods = Informer::<Pod>::builder(server.client())
///     .namespaces(["web", "batch"])
///     .labels("tier=front")
///     .index("node", |pod: &Pod| pod.spec.as_ref()?.node_name.clone())
///     .storage(Storage::Encoded)
///     .start()?;
/// pods.synced().await?;
/// # Ok(()) }
/// ```
#[must_use]
pub struct InformerBuilder<K: Resource> {
    origin: Origin<K>,
    namespaces: Option<Vec<String>>,
    labels: Option<String>,
    fields: Option<String>,
    shard: Option<Shard>,
    leased: Option<LeasedShards>,
    modify: ModifyOptions,
    encoding: Option<Encoding>,
    list_compression: Option<ListCompression>,
    managed_fields: ManagedFields,
    max_object_size: Option<usize>,
    store: StoreBuilder<K>,
    ingest: Ingest<K>,
    config: Config,
    resync: Duration,
    name: Option<String>,
    on_error: Option<Arc<OnError>>,
    save: Option<Save>,
}

impl Informer<DynamicObject> {
    /// Returns a builder of an informer for objects whose kind is known at run time.
    ///
    /// ```
    /// use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
    /// use kube_devserver::DevServer;
    /// use kube_informer::Informer;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = DevServer::start();
    /// let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap"));
    /// let maps = Informer::<DynamicObject>::dynamic(server.client(), resource).start()?;
    /// maps.synced().await?;
    /// # Ok(()) }
    /// ```
    pub fn dynamic(client: Client, resource: ApiResource) -> InformerBuilder<DynamicObject> {
        InformerBuilder::for_server(Server {
            client,
            kind: Arc::new(resource),
            list_watch: ListWatch::dynamic,
            lazy_list_watch: Some(ListWatch::lazy_dynamic),
        })
    }
}

impl<K: Resource + Send + Sync + 'static> Informer<K> {
    /// Returns a builder of an informer for a type that is known at compile time: a k8s-openapi type, a struct for a custom
    /// resource, or `PartialObjectMeta<K>` for metadata only.
    pub fn builder(client: Client) -> InformerBuilder<K>
    where
        K: DeserializeOwned,
        K::DynamicType: Default + Send + Sync + 'static,
    {
        Self::builder_for(client, K::DynamicType::default())
    }

    /// Returns a builder of an informer for a type whose kind is known at run time, such as
    /// `PartialObjectMeta<DynamicObject>`. Use [`dynamic`](Self::dynamic) for `DynamicObject`.
    pub fn builder_for(client: Client, kind: K::DynamicType) -> InformerBuilder<K>
    where
        K: DeserializeOwned,
        K::DynamicType: Send + Sync + 'static,
    {
        InformerBuilder::for_server(Server {
            client,
            kind: Arc::new(kind),
            list_watch: ListWatch::for_kind,
            lazy_list_watch: Some(ListWatch::lazy),
        })
    }

    /// Returns a builder of an informer for any source that can be listed and watched.
    pub fn from_source(source: impl ListerWatcher<K> + 'static) -> InformerBuilder<K> {
        InformerBuilder::new(Origin::Source(Arc::new(source)))
    }
}

impl<K: Resource + Send + Sync + 'static> InformerBuilder<K> {
    fn new(origin: Origin<K>) -> Self {
        Self {
            origin,
            namespaces: None,
            labels: None,
            fields: None,
            shard: None,
            leased: None,
            modify: ModifyOptions::default(),
            encoding: None,
            list_compression: None,
            managed_fields: ManagedFields::Drop,
            max_object_size: None,
            store: Store::builder(),
            ingest: Ingest::new(),
            config: Config::default(),
            resync: Duration::ZERO,
            name: None,
            on_error: None,
            save: None,
        }
    }

    fn for_server(server: Server<K>) -> Self {
        Self::new(Origin::Server(server))
    }

    /// Restricts the informer to one namespace.
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        self.namespaces([namespace])
    }

    /// Restricts the informer to these namespaces, with a watch for each and a common cache. The default is all namespaces.
    pub fn namespaces<N: Into<String>>(mut self, namespaces: impl IntoIterator<Item = N>) -> Self {
        let given = self.namespaces.get_or_insert_default();
        for namespace in namespaces.into_iter().map(Into::into) {
            if !given.contains(&namespace) {
                given.push(namespace);
            }
        }
        self
    }

    /// Restricts the informer to objects with these labels, such as `tier=front,env in (a, b)`. Other objects leave the cache.
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.labels = Some(selector.into());
        self
    }

    /// Restricts the informer to objects with these fields, such as `spec.nodeName=node-17`. The server decides which fields it
    /// supports.
    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        self.fields = Some(selector.into());
        self
    }

    /// Restricts the informer to shard `index`, counted from 0, of `of` shards of about equal size, by the hash of the uid.
    ///
    /// A server with the feature `ShardedListAndWatch` (Kubernetes 1.36, alpha) sends only that shard. The client filters as
    /// well, so that the result is the same with any server.
    pub fn shard(mut self, index: u32, of: u32) -> Self {
        self.shard = Some(Shard { index, of });
        self
    }

    /// Restricts the informer to the shards that this process holds.
    ///
    /// When a shard is gained, its objects are listed, watched and added to the cache. When it is released or lost, they are
    /// removed with [`Event::Released`](crate::Event::Released), because they may still exist. A leader holds all objects. The
    /// server filters by the range of the shards if it supports `shardSelector`, and the client always does. Without that support, each
    /// process receives all objects, and stores its own.
    ///
    /// The informer [has synced](Informer::has_synced) while no shard is held, with an empty cache. Use
    /// [`synced_shard`](Informer::synced_shard) to wait for the objects of a shard. It cannot be combined with `shard` and `save_to`.
    #[cfg(feature = "leases")]
    #[cfg_attr(docsrs, doc(cfg(feature = "leases")))]
    pub fn shards(mut self, leases: &kube_leases::Leases) -> Self {
        self.leased = Some(LeasedShards::new(leases));
        self
    }

    /// Restricts the informer to objects that are owned by objects in the shards of another informer, so that a reconcile finds the
    /// objects that the reconciled one owns. The owner is that of the owner reference with `controller: true`.
    ///
    /// If shards are divided by namespace, this is the same as [`shards`](Self::shards). If they are divided by uid, the server
    /// cannot filter: the objects of all shards are received, and those of other owners are dropped. If the other informer does not
    /// follow leases, this has no effect.
    #[cfg(feature = "leases")]
    #[cfg_attr(docsrs, doc(cfg(feature = "leases")))]
    pub fn owned_by<O: Resource + Send + Sync + 'static>(mut self, owners: &Informer<O>) -> Self {
        self.leased = owners.leased_shards().map(LeasedShards::owned);
        self
    }

    /// Adds a function that changes the options of every list before it is sent. Several run in the order in which they were added.
    ///
    /// The cache contains what the server returns: a function that changes selectors must be added with
    /// [`modify_watch`](Self::modify_watch) as well. A saved state is not compared with the functions: use another folder if they select
    /// other objects.
    #[doc(alias = "WithTweakListOptions")]
    pub fn modify_list(mut self, modify: impl Fn(&mut ListOptions) + Send + Sync + 'static) -> Self {
        self.modify = self.modify.and(ModifyOptions::list(modify));
        self
    }

    /// Adds a function that changes the options of every watch before it is sent; see [`modify_list`](Self::modify_list).
    #[doc(alias = "WithTweakListOptions")]
    pub fn modify_watch(mut self, modify: impl Fn(&mut WatchOptions) + Send + Sync + 'static) -> Self {
        self.modify = self.modify.and(ModifyOptions::watch(modify));
        self
    }

    /// Sets the namespaces of an informer without any, unless its kind is cluster-scoped, and adds these functions before its own.
    pub(super) fn defaults(mut self, namespaces: Option<&[String]>, modify: &ModifyOptions) -> Self {
        if self.namespaces.is_none() && !is_cluster_scoped::<K>() {
            self.namespaces = namespaces.map(<[String]>::to_vec);
        }
        self.modify = modify.clone().and(self.modify);
        self
    }

    /// Adds a named index: `function` returns the values of an object. More can be added while the informer runs
    /// ([`Store::add_index`]).
    pub fn index<F, I, V>(mut self, name: &str, function: F) -> Self
    where
        F: Fn(&K) -> I + Send + Sync + 'static,
        I: IntoIterator<Item = V>,
        V: AsRef<str>,
    {
        self.store = self.store.index(name, function);
        self
    }

    /// Adds a named index of the values of a field, at a JSON pointer such as `/spec/nodeName`.
    ///
    /// Objects that are stored [encoded](Storage) are not decoded for it: the field is read from the bytes that the server
    /// sent. Otherwise it is read from the fields of the Rust type. A text that is not empty, a number and a boolean are
    /// values, and a list has the values of its elements. More can be added while the informer runs
    /// ([`Store::add_index_path`]).
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_devserver::DevServer;
    /// use kube_informer::{Informer, Storage};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = DevServer::start();
    /// let pods = Informer::<Pod>::builder(server.client())
    ///     .storage(Storage::Encoded)
    ///     .index_path("node", "/spec/nodeName")
    ///     .index_path("zone", "/metadata/labels/topology.kubernetes.io~1zone")
    ///     .start()?;
    /// pods.synced().await?;
    /// assert!(pods.by_index("node", "node-17")?.is_empty());
    /// # Ok(()) }
    /// ```
    pub fn index_path(mut self, name: &str, pointer: &str) -> Self
    where
        K: FieldValues,
    {
        match pointer.parse() {
            Ok(path) => self.store = self.store.index_path(name, path),
            Err(cause) => self.reject(StartError::InvalidIndexPath { index: name.to_owned(), cause }),
        }
        self
    }

    /// Makes [`build`](Self::build) return this error, unless it returns an earlier one.
    fn reject(&mut self, error: StartError) {
        if !matches!(self.origin, Origin::Invalid(_)) {
            self.origin = Origin::Invalid(error);
        }
    }

    /// Adds a function that changes every object before it is stored. Several transforms run in the order in which they were
    /// added.
    ///
    /// It runs once per version of an object, with every [`Storage`]. [`Ingest::transform`] describes the handling of errors.
    pub fn transform(mut self, transform: impl Fn(K) -> Result<K, BoxError> + Send + Sync + 'static) -> Self
    where
        K: Serialize,
    {
        self.ingest = self.ingest.transform(transform);
        self
    }

    /// Sets the storage format of objects. The default is [`Storage::Decoded`].
    pub fn storage(mut self, storage: Storage) -> Self {
        self.ingest = self.ingest.storage(storage);
        self
    }

    /// Caches the labels of objects that are not stored [decoded](Storage), so that
    /// [`matching`](crate::cache::Store::matching) decodes only objects that match, and
    /// [`matching_keys`](crate::cache::Store::matching_keys) none. Objects with the same labels share them.
    pub fn cache_labels(mut self) -> Self {
        self.store = self.store.cache_labels();
        self
    }

    /// Caches the labels with these names only. A selector that needs others decodes the objects that the cached labels do
    /// not rule out.
    pub fn cache_labels_named<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.store = self.store.cache_labels_named(names);
        self
    }

    /// Sets whether `metadata.managedFields` are dropped before an object is decoded. The default is [`ManagedFields::Drop`],
    /// because managed fields are about half of most objects. An update without them leaves those of the server unchanged.
    pub fn managed_fields(mut self, managed_fields: ManagedFields) -> Self {
        self.managed_fields = managed_fields;
        self
    }

    /// Sets the encoding that is requested from the server. The default is [`Encoding::Auto`]: protobuf for built-in kinds.
    pub fn encoding(mut self, encoding: Encoding) -> Self {
        self.encoding = Some(encoding);
        self
    }

    /// Sets the compression of LIST requests; see [`ListWatch::list_compression`]. [`Strategy::List`] disables streaming lists.
    pub fn list_compression(mut self, compression: ListCompression) -> Self {
        self.list_compression = Some(compression);
        self
    }

    /// Sets the maximum size of an object on the wire; see [`ListWatch::max_object_size`].
    pub fn max_object_size(mut self, bytes: usize) -> Self {
        self.max_object_size = Some(bytes);
        self
    }

    /// Sets the default resync period, after which all objects are delivered to subscribers again. The default is never.
    pub fn resync(mut self, period: Duration) -> Self {
        self.resync = period;
        self
    }

    /// Sets the way full lists are requested.
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.config.strategy = strategy;
        self
    }

    /// Sets the number of objects per page of a list. Zero selects the default.
    pub fn page_size(mut self, objects: u64) -> Self {
        self.config.page_size = std::num::NonZeroU64::new(objects);
        self
    }

    /// Sets the delays between retries.
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.config.backoff = backoff;
        self
    }

    /// Replaces the configuration of the reflector. Call this before the other setters. `resync` is ignored: it is per subscriber.
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Sets the name for logs, metrics and reports. The default is the kind of the objects. In metrics, ` #2` and so on is appended
    /// if another informer of the process has the same name.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the function that is called for every failure that causes a retry or skips an object. The default logs it. A
    /// watch that ends and reconnects immediately is not reported.
    pub fn on_error(mut self, report: impl Fn(&Report<'_>) + Send + Sync + 'static) -> Self {
        self.on_error = Some(Arc::new(report));
        self
    }

    /// Saves the cache to a folder, so that the next process starts with it.
    ///
    /// The saved state is readable as soon as the informer is [built](Self::build), and is delivered to subscribers, except
    /// to those with [`Replay::Differences`](crate::subscription::Replay::Differences). After the start, the watch resumes
    /// from the version of that state, and only changes since then are delivered. If the server no longer has that version,
    /// the informer relists, and decodes only objects that have changed.
    /// [`InformerStatus::restored`](super::InformerStatus::restored) reports the age of the restored state. The informer [has
    /// not synced](super::Informer::has_synced) until the cache has caught up with the server.
    ///
    /// Changes are written in the background. After a crash, the file contains a consistent earlier state. Write errors are
    /// logged and reported in [`InformerStatus::saving`](super::InformerStatus::saving), and the informer continues.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_devserver::DevServer;
    /// use kube_informer::Informer;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = DevServer::start(); // instead of a cluster
    /// # let folder = std::env::temp_dir().join(format!("save-to-example-{}", std::process::id()));
    /// let maps = Informer::<ConfigMap>::builder(server.client()).save_to(&folder).start()?;
    /// maps.synced().await?;
    /// let count = maps.store().len();
    /// maps.stop();
    /// maps.stopped().await;
    ///
    /// // In the next process, the objects are readable before any request is sent.
    /// let maps = Informer::<ConfigMap>::builder(server.client()).save_to(&folder).build()?;
    /// let restored = maps.status().restored.expect("the cache was saved");
    /// assert!(maps.store().len() == count && restored.objects == count && !restored.is_confirmed);
    /// maps.start();
    /// maps.synced().await?;
    /// assert!(maps.status().restored.is_some_and(|restored| restored.is_confirmed));
    /// # maps.stop(); maps.stopped().await; std::fs::remove_dir_all(&folder)?;
    /// # Ok(()) }
    /// ```
    #[cfg(feature = "saved")]
    #[cfg_attr(docsrs, doc(cfg(feature = "saved")))]
    pub fn save_to(mut self, save: impl Into<Save>) -> Self {
        self.save = Some(save.into());
        self
    }

    /// Builds the informer and starts it.
    ///
    /// # Errors
    /// [`StartError`] if the configuration is invalid. No request has been sent then.
    pub fn start(self) -> Result<Informer<K>, StartError> {
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(StartError::NoRuntime);
        }
        let informer = self.build()?;
        informer.start();
        Ok(informer)
    }

    /// Builds an informer that sends no requests before it is [started](Informer::start). Handlers can be added before that.
    ///
    /// # Errors
    /// [`StartError`] if the configuration is invalid.
    pub fn build(mut self) -> Result<Informer<K>, StartError> {
        let mut sources = match self.origin {
            Origin::Invalid(error) => return Err(error),
            Origin::Server(_) | Origin::Source(_) => self.sources()?,
        };
        if let Some(Shard { index, of }) = self.shard {
            let shard = ShardSelector::part(ShardField::Uid, index, of);
            let shard = shard.map_err(|_| StartError::InvalidShard { index, of })?;
            for spec in &mut sources {
                spec.source = Arc::new(Sharded::new(Arc::clone(&spec.source), &shard));
            }
        }
        let new_source = self.new_source()?;
        let resource = new_source(None).describe();
        let served = self.served_resource();
        if self.leased.is_some() {
            let conflicts = [("shard", self.shard.is_some()), ("save_to", self.save.is_some())];
            if let Some((option, _)) = conflicts.into_iter().find(|(_, is_set)| *is_set) {
                return Err(StartError::NotWithShards { option });
            }
            // Sources are added as shards are gained.
            sources.clear();
        }
        let name = self.name.clone().unwrap_or_else(|| resource.clone());
        let metrics_name = MetricsName::reserve(&name);
        let save = self.save_config(&name)?;
        if let Some(save) = &save {
            self.ingest.keep_bytes(|storage| save.encoder(storage));
        }
        self.config.resync = Duration::ZERO;
        let ingest = self.ingest.managed_fields(self.managed_fields);
        let (store, mut writer) = self.store.resource(&resource).build()?;
        let ingest = ingest.known_objects(store.known_objects());
        let namespaces = sources.iter().map(|spec| spec.namespace.clone());
        let sync = SyncState::new(resource.clone(), metrics_name.as_str(), namespaces);
        let all = RestoreTarget { sources: &mut sources, ingest: &ingest, writer: &mut writer, sync: &sync };
        let saved = save.map(|save| restore(&save, all)).transpose()?;
        Ok(Informer::new(Inner::new(InformerSpec {
            broadcaster: Broadcaster::new(store.clone(), writer, metrics_name.as_str(), self.resync),
            metrics_name,
            sync,
            ingest,
            name,
            resource,
            served,
            store,
            sources,
            new_source,
            leased: self.leased,
            config: self.config,
            on_error: self.on_error,
            saved,
        })))
    }

    /// Returns the configuration of saving; `None` if the cache is not saved.
    fn save_config(&self, name: &str) -> Result<Option<SaveConfig>, StartError> {
        let (Some(save), Origin::Server(server)) = (&self.save, &self.origin) else { return Ok(None) };
        let request = SaveRequest::<K> {
            name,
            client: &server.client,
            kind: &server.kind,
            labels: self.labels.as_deref(),
            fields: self.fields.as_deref(),
            shard: self.shard.map(|Shard { index, of }| format!("{index}/{of}")),
            managed_fields: self.managed_fields,
            has_transform: self.ingest.has_transform(),
        };
        SaveConfig::new(save, &request).map(Some)
    }

    /// Returns the settings that all callers of a shared informer must agree on.
    pub(super) fn shared_settings(&self) -> SharedSettings {
        SharedSettings {
            storage: self.ingest.storage_format(),
            managed_fields: self.managed_fields,
            transform: if self.ingest.has_transform() { "a transform" } else { "no transform" },
        }
    }

    /// Adds the indexes of this builder to an informer of another builder.
    pub(super) fn merge_indexes_into(&self, informer: &Informer<K>) {
        self.store.merge_indexes_into(informer.store());
    }

    /// Returns the resource of the API server; `None` for a custom source.
    fn served_resource(&self) -> Option<ServedResource> {
        let Origin::Server(server) = &self.origin else { return None };
        Some(ServedResource {
            group: K::group(&server.kind).into_owned(),
            plural: K::plural(&server.kind).into_owned(),
            namespaces: self.namespaces.clone(),
        })
    }

    /// Describes the request to the server at `path`. Two builders with the same description watch the same objects.
    pub(super) fn request(&self, path: &str) -> String {
        let namespaces = self.namespaces.as_ref().map(|namespaces| {
            let mut namespaces = namespaces.clone();
            namespaces.sort_unstable();
            namespaces
        });
        format!(
            "{path} {namespaces:?} {:?} {:?} {:?} {:?} {:?}",
            self.labels,
            self.fields,
            self.shard,
            self.leased.as_ref().map(ToString::to_string),
            self.modify
        )
    }

    fn new_source(&self) -> Result<NewSource<K>, StartError> {
        self.origin.new_source(SourceSettings {
            labels: self.labels.as_deref(),
            fields: self.fields.as_deref(),
            encoding: self.encoding.unwrap_or_default(),
            list_compression: self.list_compression.unwrap_or_default(),
            managed_fields: self.managed_fields,
            max_object_size: self.max_object_size.unwrap_or(MAX_OBJECT_SIZE),
            modify: &self.modify,
        })
    }

    /// Creates a source for each namespace, or one for all namespaces.
    fn sources(&self) -> Result<Vec<SourceSpec<K>>, StartError> {
        let new_source = self.new_source()?;
        let source =
            |namespace: Option<&str>| SourceSpec::new(namespace.map(str::to_owned), new_source(namespace));
        if let Origin::Source(_) = &self.origin {
            self.check_custom_source()?;
        }
        let Some(namespaces) = &self.namespaces else { return Ok(vec![source(None)]) };
        if namespaces.is_empty() {
            return Err(StartError::NoNamespace);
        }
        if let Some(name) = namespaces.iter().find(|name| !is_namespace(name)) {
            return Err(StartError::InvalidNamespace { name: name.clone() });
        }
        if is_cluster_scoped::<K>() {
            return Err(StartError::ClusterScoped { resource: new_source(None).describe() });
        }
        Ok(namespaces.iter().map(|name| source(Some(name))).collect())
    }

    /// Checks that no option was set that only applies to a server.
    fn check_custom_source(&self) -> Result<(), StartError> {
        let options = [
            ("namespaces", self.namespaces.is_some()),
            ("labels", self.labels.is_some()),
            ("fields", self.fields.is_some()),
            ("modify_list or modify_watch", self.modify.is_some()),
            ("encoding", self.encoding.is_some()),
            ("list_compression", self.list_compression.is_some()),
            ("max_object_size", self.max_object_size.is_some()),
            ("save_to", self.save.is_some()),
        ];
        let set = options.into_iter().find(|(_, is_set)| *is_set);
        set.map_or(Ok(()), |(option, _)| Err(StartError::NotForSource { option }))
    }
}

/// Lazily decoded objects.
impl<K> InformerBuilder<K>
where
    K: Resource + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Send + Sync + 'static,
{
    /// Stores objects in the encoding of the server. [`Lazy<K>`] reads fields without decoding the other ones. Call this before
    /// adding indexes and transforms, which are then functions of `Lazy<K>`.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_devserver::DevServer;
    /// use kube_informer::{Informer, Lazy};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = DevServer::start();
    /// let pods: Informer<Lazy<Pod>> = Informer::<Pod>::builder(server.client())
    ///     .lazy()
    ///     .index("node", |pod: &Lazy<Pod>| pod.read::<String>("/spec/nodeName").ok().flatten())
    ///     .start()?;
    /// pods.synced().await?;
    /// # Ok(()) }
    /// ```
    pub fn lazy(self) -> InformerBuilder<Lazy<K>> {
        let before_lazy = |option| Origin::Invalid(StartError::BeforeLazy { option });
        let origin = match self.origin {
            Origin::Server(_) if self.store.has_indexes() => before_lazy("index"),
            Origin::Server(_) if self.ingest.has_transform() => before_lazy("transform"),
            Origin::Server(Server { client, kind, lazy_list_watch: Some(list_watch), .. }) => {
                Origin::Server(Server { client, kind, list_watch, lazy_list_watch: None })
            }
            Origin::Server(Server { lazy_list_watch: None, .. }) | Origin::Source(_) => {
                Origin::Invalid(StartError::NotForSource { option: "lazy" })
            }
            Origin::Invalid(error) => Origin::Invalid(error),
        };
        InformerBuilder {
            namespaces: self.namespaces,
            labels: self.labels,
            fields: self.fields,
            shard: self.shard,
            leased: self.leased,
            modify: self.modify,
            encoding: self.encoding,
            list_compression: self.list_compression,
            managed_fields: self.managed_fields,
            max_object_size: self.max_object_size,
            config: self.config,
            resync: self.resync,
            name: self.name,
            on_error: self.on_error,
            save: self.save,
            store: StoreBuilder::default().same_labels(&self.store),
            ingest: Ingest::new().storage(self.ingest.storage_format()),
            ..InformerBuilder::new(origin)
        }
    }
}

impl<K: Resource> fmt::Debug for InformerBuilder<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InformerBuilder")
            .field("name", &self.name)
            .field("namespaces", &self.namespaces)
            .field("labels", &self.labels)
            .field("fields", &self.fields)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
