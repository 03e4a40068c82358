//! What an informer is to be, checked before it is.

use super::{
    handle::Informer,
    inner::{Body, Feed, OnError, Plan},
    origin::{Origin, Request, is_namespace, parse},
    start_error::StartError,
    sync::Progress,
};
#[cfg(feature = "saved")]
use super::{
    restore::restore,
    save::{Save, Target},
};
use crate::{
    cache::{self, Store},
    delta_fifo::{self, DeltaFifo},
    reflector::{self, Report},
    source::{BoxError, Encoding, ListWatch, ListerWatcher, MAX_OBJECT_SIZE, Sharded},
    subscription::Hub,
};
use kube_client::Client;
use kube_core::{ClusterResourceScope, Resource};
use kube_informer_wire::{ManagedFields, ShardField, ShardSelector};
use serde::de::DeserializeOwned;
use std::{any::TypeId, fmt, num::NonZeroUsize, sync::Arc, time::Duration};

/// Makes an [`Informer`]. Nothing is asked of a server before [`start`](Self::start).
#[must_use]
pub struct Builder<K> {
    pub(super) origin: Origin<K>,
    namespaces: Option<Vec<String>>,
    pub(super) labels: Option<String>,
    pub(super) fields: Option<String>,
    pub(super) shard: Option<(u32, u32)>,
    encoding: Option<Encoding>,
    pub(super) managed_fields: ManagedFields,
    max_object_size: Option<usize>,
    pub(super) store: cache::Builder<K>,
    pub(super) fifo: delta_fifo::Builder<K>,
    config: reflector::Config,
    resync: Duration,
    name: Option<String>,
    on_error: Option<Arc<OnError>>,
    #[cfg(feature = "saved")]
    pub(super) save: Option<Save>,
    /// Whose state it is that may be saved.
    #[cfg(feature = "saved")]
    pub(super) target: Option<Target>,
}

/// So many deltas wait to be applied at most.
const QUEUE: NonZeroUsize = NonZeroUsize::new(4096).expect("it is not zero");

impl<K: Resource + Send + Sync + 'static> Informer<K> {
    /// Begins an informer of a kind that Rust knows: a k8s-openapi type, a struct for a custom resource, or
    /// `PartialObjectMeta<K>` for metadata alone.
    #[expect(clippy::new_ret_no_self, reason = "an informer begins with what it is to be")]
    pub fn new(client: Client) -> Builder<K>
    where
        K: DeserializeOwned,
        K::DynamicType: Default + Send + Sync + 'static,
    {
        Builder::of_server(client, K::DynamicType::default())
    }

    /// Begins an informer of a kind that is named while the program runs: `Informer::<DynamicObject>::dynamic(..)`.
    pub fn dynamic(client: Client, kind: K::DynamicType) -> Builder<K>
    where
        K: DeserializeOwned,
        K::DynamicType: Send + Sync + 'static,
    {
        Builder::of_server(client, kind)
    }

    /// Begins an informer of any source that can be listed and watched.
    pub fn of(source: impl ListerWatcher<K> + 'static) -> Builder<K> {
        Builder::new(Origin::Source(Arc::new(source)))
    }
}

impl<K: Resource + Send + Sync + 'static> Builder<K> {
    fn new(origin: Origin<K>) -> Self {
        Self {
            origin,
            namespaces: None,
            labels: None,
            fields: None,
            shard: None,
            encoding: None,
            managed_fields: ManagedFields::Keep,
            max_object_size: None,
            store: Store::builder(),
            fifo: DeltaFifo::builder().capacity(QUEUE),
            config: reflector::Config::default(),
            resync: Duration::ZERO,
            name: None,
            on_error: None,
            #[cfg(feature = "saved")]
            save: None,
            #[cfg(feature = "saved")]
            target: None,
        }
    }

    fn of_server(client: Client, kind: K::DynamicType) -> Self
    where
        K: DeserializeOwned,
        K::DynamicType: Send + Sync + 'static,
    {
        #[cfg(feature = "saved")]
        let target = Some(Target::of::<K>(&client, &kind));
        let origin = Origin::Server(Arc::new(move |namespace: Option<&str>, request: Request| {
            let source = ListWatch::<K>::dynamic(client.clone(), namespace, &kind);
            let source = source.labels(request.labels).fields(request.fields).encoding(request.encoding);
            let source = source.max_object_size(request.max_object_size);
            Arc::new(match request.managed_fields {
                ManagedFields::Keep => source,
                ManagedFields::Drop => source.without_managed_fields(),
            }) as Arc<dyn ListerWatcher<K>>
        }));
        Self {
            #[cfg(feature = "saved")]
            target,
            ..Self::new(origin)
        }
    }

    /// Only objects of this namespace.
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        self.namespaces([namespace])
    }

    /// Only objects of these namespaces: one watch each, one cache. The default is all namespaces, with one watch.
    pub fn namespaces<N: Into<String>>(mut self, namespaces: impl IntoIterator<Item = N>) -> Self {
        let given = self.namespaces.get_or_insert_default();
        for namespace in namespaces.into_iter().map(Into::into) {
            if !given.contains(&namespace) {
                given.push(namespace);
            }
        }
        self
    }

    /// Only objects with these labels, such as `tier=front,env in (a, b)`. What ceases to match is deleted.
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.labels = Some(selector.into());
        self
    }

    /// Only objects with these fields, such as `spec.nodeName=node-17`. The server says which fields it knows.
    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        self.fields = Some(selector.into());
        self
    }

    /// Only part number `index`, counted from 0, of `of` parts of about equal size, by the hash of the uid: so `of` replicas
    /// share the work.
    ///
    /// A server that can (`ShardedListAndWatch`, Kubernetes 1.36 and up) sends that part alone; of another, the rest is left
    /// out here. Every object is in exactly one part.
    pub fn shard(mut self, index: u32, of: u32) -> Self {
        self.shard = Some((index, of));
        self
    }

    /// Adds a named index: `function` says under which values an object stands. A running informer takes more
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

    /// Changes every object once, before anyone sees it; several run one after the other. See
    /// [`delta_fifo::Builder::transform`] for what happens when it fails.
    pub fn transform(mut self, transform: impl Fn(K) -> Result<K, BoxError> + Send + Sync + 'static) -> Self {
        self.fifo = self.fifo.transform(transform);
        self
    }

    /// How many deltas wait to be applied at most: to see in a test what happens when they are too many.
    #[cfg(any(test, feature = "testing"))]
    pub fn queue(mut self, deltas: NonZeroUsize) -> Self {
        self.fifo = self.fifo.capacity(deltas);
        self
    }

    /// How objects travel: [`Encoding::Auto`], which is protobuf where server and kind have it, unless told otherwise.
    pub fn encoding(mut self, encoding: Encoding) -> Self {
        self.encoding = Some(encoding);
        self
    }

    /// How many bytes an object may take on the wire; see [`ListWatch::max_object_size`].
    pub fn max_object_size(mut self, bytes: usize) -> Self {
        self.max_object_size = Some(bytes);
        self
    }

    /// Tells followers everything known again, this often; each may ask for another period. The default is never.
    pub fn resync(mut self, period: Duration) -> Self {
        self.resync = period;
        self
    }

    /// How the initial state is asked for.
    pub fn strategy(mut self, strategy: reflector::Strategy) -> Self {
        self.config.strategy = strategy;
        self
    }

    /// How many objects a page of a list has; zero leaves it to the reflector.
    pub fn page_size(mut self, objects: u64) -> Self {
        self.config.page_size = std::num::NonZeroU64::new(objects);
        self
    }

    /// How long to wait after a failure, and how much longer after each.
    pub fn backoff(mut self, backoff: reflector::Backoff) -> Self {
        self.config.backoff = backoff;
        self
    }

    /// Sets what the methods here do not, and what they do to what it says: those that are to count come after it. Its `resync` is not
    /// used: that of followers is.
    pub fn config(mut self, config: reflector::Config) -> Self {
        self.config = config;
        self
    }

    /// Names the informer, for logs, metrics and reports. The default is the kind of its objects.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Hears of every failure that costs a wait or an object. The default is to log it. A watch that merely breaks is opened again
    /// without a word.
    pub fn on_error(mut self, report: impl Fn(&Report<'_>) + Send + Sync + 'static) -> Self {
        self.on_error = Some(Arc::new(report));
        self
    }

    /// Checks everything, and starts.
    ///
    /// # Errors
    /// [`StartError`] says what is wrong. Nothing has been asked of the server then.
    pub fn start(self) -> Result<Informer<K>, StartError> {
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(StartError::NoRuntime);
        }
        let informer = self.build()?;
        informer.start();
        Ok(informer)
    }

    /// Checks everything, and makes an informer that does nothing before it is [started](Informer::start). Handlers may
    /// come already.
    ///
    /// # Errors
    /// [`StartError`] says what is wrong.
    pub fn build(mut self) -> Result<Informer<K>, StartError> {
        let mut feeds = self.feeds()?;
        if let Some((index, of)) = self.shard {
            let part = ShardSelector::part(ShardField::Uid, index, of);
            let part = part.map_err(|_| StartError::Shard { index, of })?;
            let sharded = |source| Arc::new(Sharded::new(source, part.clone())) as Arc<dyn ListerWatcher<K>>;
            feeds.iter_mut().for_each(|feed| feed.source = sharded(Arc::clone(&feed.source)));
        }
        let resource = feeds[0].source.describe();
        let name = self.name.clone().unwrap_or_else(|| resource.clone());
        #[cfg(feature = "saved")]
        let place = self.place(&name)?;
        #[cfg(feature = "saved")]
        if place.is_some() {
            self.fifo = self.fifo.keep_bytes();
        }
        #[cfg_attr(not(feature = "saved"), expect(unused_mut, reason = "nothing is restored"))]
        let (store, mut writer) = self.store.resource(&resource).build()?;
        let progress = Progress::new(resource.clone(), feeds.iter().map(|feed| feed.namespace.clone()));
        #[cfg(feature = "saved")]
        let (folders, restored) =
            restore(place, &mut feeds, (&self.fifo, &store.tagger()), (&mut writer, &progress))?;
        let hub = Hub::new(store.clone(), writer, &name, self.resync);
        self.config.resync = Duration::ZERO;
        let known = store.clone();
        let fifo = self.fifo.reuse(move |identity| known.same(identity));
        let fifo = fifo.tag_with(store.tagger());
        let plan = Plan { feeds, fifo, config: self.config, on_error: self.on_error };
        let body = Body::new(store, hub, progress, (name, resource));
        #[cfg(feature = "saved")]
        let body = body.saved_in(folders, restored);
        Ok(Informer::new_handle(Arc::new(body.planned(plan))))
    }

    /// What is asked of the server at `path`, in words that are the same for the same.
    pub(super) fn request(&self, path: &str) -> String {
        let namespaces = self.namespaces.as_ref().map(|namespaces| {
            let mut namespaces = namespaces.clone();
            namespaces.sort_unstable();
            namespaces
        });
        format!("{path} {namespaces:?} {:?} {:?} {:?}", self.labels, self.fields, self.shard)
    }

    /// One source for each namespace, or one for all.
    fn feeds(&self) -> Result<Vec<Feed<K>>, StartError> {
        let make = match &self.origin {
            Origin::Server(make) => make,
            Origin::Source(source) => return self.own_feed(source),
        };
        let request = Request {
            labels: parse(self.labels.as_deref(), |text, cause| StartError::Labels { text, cause })?,
            fields: parse(self.fields.as_deref(), |text, cause| StartError::Fields { text, cause })?,
            encoding: self.encoding.unwrap_or_default(),
            managed_fields: self.managed_fields,
            max_object_size: self.max_object_size.unwrap_or(MAX_OBJECT_SIZE),
        };
        let Some(namespaces) = &self.namespaces else {
            return Ok(vec![Feed {
                namespace: None,
                source: make(None, request),
                restored: None,
                has_gaps: false,
            }]);
        };
        let feed = |namespace: &String| Feed {
            namespace: Some(namespace.clone()),
            source: make(Some(namespace), request.clone()),
            restored: None,
            has_gaps: false,
        };
        if namespaces.is_empty() {
            return Err(StartError::NoNamespace);
        }
        if let Some(name) = namespaces.iter().find(|name| !is_namespace(name)) {
            return Err(StartError::Namespace { name: name.clone() });
        }
        if TypeId::of::<K::Scope>() == TypeId::of::<ClusterResourceScope>() {
            return Err(StartError::ClusterScoped { resource: feed(&namespaces[0]).source.describe() });
        }
        Ok(namespaces.iter().map(feed).collect())
    }

    fn own_feed(&self, source: &Arc<dyn ListerWatcher<K>>) -> Result<Vec<Feed<K>>, StartError> {
        let given = [
            ("namespaces", self.namespaces.is_some()),
            ("labels", self.labels.is_some()),
            ("fields", self.fields.is_some()),
            ("encoding", self.encoding.is_some()),
            ("max_object_size", self.max_object_size.is_some()),
            #[cfg(feature = "saved")]
            ("save_to", self.save.is_some()),
        ];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => Err(StartError::NotForSource { option }),
            None => Ok(vec![Feed {
                namespace: None,
                source: Arc::clone(source),
                restored: None,
                has_gaps: false,
            }]),
        }
    }
}

impl<K> fmt::Debug for Builder<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("name", &self.name)
            .field("namespaces", &self.namespaces)
            .field("labels", &self.labels)
            .field("fields", &self.fields)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
