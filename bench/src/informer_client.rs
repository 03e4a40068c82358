//! An informer as a client under test.

use anyhow::Result as AnyResult;
use k8s_openapi::{api::core::v1::Pod, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube_client::{
    Client, Resource,
    core::{ApiResource, DynamicObject, GroupVersionKind},
};
use kube_informer::{
    Event, Informer, Lazy,
    informer::{InformerBuilder, Save},
    reflector, source, wire,
};
use kube_informer_bench_client::{
    object::{BenchObject, WIDGET_NESTED_FIELD, WIDGETS},
    options::{ClientOptions, Encoding, Kind, ManagedFields, Storage, Strategy},
    recorder::{Goal, Recorder},
    session::{self, Cache, ProcessStart},
};
use std::{sync::Arc, time::Duration};
use tokio::runtime::Runtime;

use crate::kube_apiserver::connect;

/// A type that an informer caches.
trait CachedType: Resource + Send + Sync + Sized + 'static {
    /// The object as the benchmarks read it.
    type View<'a>: BenchObject;

    fn builder(client: Client) -> InformerBuilder<Self>;
    fn view(&self) -> Self::View<'_>;
    /// Returns the value of the index by node.
    fn node(&self) -> Option<String>;
}

impl CachedType for Pod {
    type View<'a> = &'a Self;

    fn builder(client: Client) -> InformerBuilder<Self> {
        Informer::builder(client)
    }

    fn view(&self) -> &Self {
        self
    }

    fn node(&self) -> Option<String> {
        self.spec.as_ref().and_then(|spec| spec.node_name.clone())
    }
}

struct LazyPod<'a>(&'a Lazy<Pod>);

impl BenchObject for LazyPod<'_> {
    fn metadata(&self) -> &ObjectMeta {
        self.0.meta()
    }

    fn nested_field(&self) -> &str {
        self.0.read("/status/podIP").ok().flatten().unwrap_or_default()
    }
}

impl CachedType for Lazy<Pod> {
    type View<'a> = LazyPod<'a>;

    fn builder(client: Client) -> InformerBuilder<Self> {
        Informer::<Pod>::builder(client).lazy()
    }

    fn view(&self) -> LazyPod<'_> {
        LazyPod(self)
    }

    fn node(&self) -> Option<String> {
        self.read("/spec/nodeName").ok().flatten()
    }
}

struct Widget<'a>(&'a DynamicObject);

impl BenchObject for Widget<'_> {
    fn metadata(&self) -> &ObjectMeta {
        &self.0.metadata
    }

    fn nested_field(&self) -> &str {
        self.0.data.pointer(WIDGET_NESTED_FIELD).and_then(|field| field.as_str()).unwrap_or_default()
    }
}

impl CachedType for DynamicObject {
    type View<'a> = Widget<'a>;

    fn builder(client: Client) -> InformerBuilder<Self> {
        let [group, version, kind, plural] = WIDGETS;
        let kind = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
        Informer::dynamic(client, kind)
    }

    fn view(&self) -> Widget<'_> {
        Widget(self)
    }

    fn node(&self) -> Option<String> {
        None
    }
}

struct InformerCache<K> {
    informer: Informer<K>,
    first_read: Option<f64>,
}

impl<K: CachedType> Cache for InformerCache<K> {
    fn has_synced(&self) -> bool {
        self.informer.has_synced()
    }

    fn first_read(&self) -> Option<f64> {
        self.first_read
    }

    fn for_each(&self, read: &mut dyn FnMut(&dyn BenchObject)) {
        self.informer.snapshot().iter().for_each(|entry| read(&entry.object().view()));
    }

    fn add_index(&self) {
        self.informer.add_index("node", K::node).expect("there is no other index with this name");
    }
}

/// Runs an informer until standard input is closed.
pub(crate) fn run(start: ProcessStart, options: &ClientOptions) -> Result<(), String> {
    match (options.kind, options.storage) {
        (Kind::Pods, Storage::Decoded | Storage::Compressed) => run_informer::<Pod>(start, options),
        (Kind::Pods, Storage::Lazy) => run_informer::<Lazy<Pod>>(start, options),
        (Kind::Widgets, _) => run_informer::<DynamicObject>(start, options),
    }
}

fn run_informer<K: CachedType>(start: ProcessStart, options: &ClientOptions) -> Result<(), String> {
    let runtime = Runtime::new().map_err(|error| error.to_string())?;
    let recorder = Arc::new(Recorder::default());
    recorder.expect(Goal::Count(options.objects));
    let informer = runtime.block_on(build::<K>(options, &recorder)).map_err(|error| error.to_string())?;
    // A restored cache can be read before the informer is started.
    let first_read = informer.status().restored.map(|_| start.at.elapsed().as_secs_f64());
    {
        let _guard = runtime.enter();
        informer.start();
    }
    let cache = InformerCache { informer: informer.clone(), first_read };
    let outcome = session::run(options, start, &recorder, &cache);
    // Stopping saves the rest of the cache.
    informer.stop();
    runtime.block_on(informer.stopped());
    runtime.shutdown_background();
    outcome
}

/// Builds an informer without starting it.
async fn build<K: CachedType>(options: &ClientOptions, recorder: &Arc<Recorder>) -> AnyResult<Informer<K>> {
    let builder = K::builder(connect(&options.kubeconfig).await?)
        .encoding(match options.encoding {
            Encoding::Json => source::Encoding::Json,
            Encoding::Protobuf => source::Encoding::Auto,
        })
        .config(reflector_config(options))
        .storage(match options.storage {
            Storage::Decoded | Storage::Lazy => kube_informer::Storage::Decoded,
            Storage::Compressed => kube_informer::Storage::Compressed,
        })
        .managed_fields(match options.managed_fields {
            ManagedFields::Keep => wire::ManagedFields::Keep,
            ManagedFields::Drop => wire::ManagedFields::Drop,
        });
    let builder = match &options.save_to {
        Some(directory) => builder.save_to(Save::in_folder(directory).cluster("bench")),
        None => builder,
    };
    let informer = builder.build()?;
    let recorder = Arc::clone(recorder);
    informer.add_handler(move |event: &Event<K>| recorder.event(|| event.object().get().view()))?;
    Ok(informer)
}

/// Returns a config with a short backoff, because relists are measured from the request.
fn reflector_config(options: &ClientOptions) -> reflector::Config {
    let mut config = reflector::Config::default();
    config.strategy = match options.strategy {
        Strategy::List => reflector::Strategy::List,
        Strategy::Stream => reflector::Strategy::Stream,
    };
    config.backoff.initial = Duration::from_millis(50);
    config.backoff.cap = Duration::from_millis(200);
    config
}
