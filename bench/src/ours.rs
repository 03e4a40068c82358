//! Our own client.

use k8s_openapi::{api::core::v1::Pod, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube_client::{
    Client, Config, Resource,
    config::{KubeConfigOptions, Kubeconfig},
    core::{ApiResource, DynamicObject, GroupVersionKind},
};
use kube_informer::{
    Event, Informer, Lazy, Storage,
    informer::{InformerBuilder, Save},
    reflector, source, wire,
};
use kube_informer_bench_client::{
    options::{self, Encoding, Form, Keep, ManagedFields, Options, Strategy},
    seen::{Goal, Seen},
    session::{self, Cache},
    subject::{Subject, WIDGET_DEEP, WIDGETS},
    usage::Usage,
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::runtime::Runtime;

/// When this process began, and what it used then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Began(Instant, Usage);

impl Began {
    pub(crate) fn now() -> Self {
        Self(Instant::now(), Usage::now())
    }
}

/// A kind of objects that can be followed.
trait Kind: Resource + Send + Sync + Sized + 'static {
    /// An object as the benchmarks look at it.
    type View<'a>: Subject;

    fn builder(client: Client) -> InformerBuilder<Self>;
    fn view(&self) -> Self::View<'_>;
    /// What an index is made of.
    fn node(&self) -> Option<String>;
}

impl Kind for Pod {
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

impl Subject for LazyPod<'_> {
    fn metadata(&self) -> &ObjectMeta {
        self.0.meta()
    }

    fn deep(&self) -> &str {
        self.0.read("/status/podIP").ok().flatten().unwrap_or_default()
    }
}

impl Kind for Lazy<Pod> {
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

impl Subject for Widget<'_> {
    fn metadata(&self) -> &ObjectMeta {
        &self.0.metadata
    }

    fn deep(&self) -> &str {
        self.0.data.pointer(WIDGET_DEEP).and_then(|deep| deep.as_str()).unwrap_or_default()
    }
}

impl Kind for DynamicObject {
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

struct Kept<K> {
    informer: Informer<K>,
    first_read: Option<f64>,
}

impl<K: Kind> Cache for Kept<K> {
    fn has_synced(&self) -> bool {
        self.informer.has_synced()
    }

    fn first_read(&self) -> Option<f64> {
        self.first_read
    }

    fn each(&self, show: &mut dyn FnMut(&dyn Subject)) {
        self.informer.snapshot().iter().for_each(|entry| show(&entry.object().view()));
    }

    fn index(&self) {
        self.informer.add_index("node", K::node).expect("it is the first index of this name");
    }
}

/// Follows a server until standard input ends.
pub(crate) fn run(began: Began, arguments: impl Iterator<Item = String>) -> Result<(), String> {
    let options = Options::parse(arguments)?;
    match (options.kind, options.form) {
        (options::Kind::Pods, Form::Decoded) => live::<Pod>(began, &options),
        (options::Kind::Pods, Form::Lazy) => live::<Lazy<Pod>>(began, &options),
        (options::Kind::Widgets, _) => live::<DynamicObject>(began, &options),
    }
}

fn live<K: Kind>(began: Began, options: &Options) -> Result<(), String> {
    let runtime = Runtime::new().map_err(|error| error.to_string())?;
    let seen = Arc::new(Seen::default());
    seen.expect(Goal::Count(options.count));
    let informer = runtime.block_on(follow::<K>(options, &seen)).map_err(|error| error.to_string())?;
    // What was saved can be read when the informer is built, and the server has not been heard of.
    let first_read = informer.status().restored.map(|_| began.0.elapsed().as_secs_f64());
    informer_start(&runtime, &informer);
    let outcome =
        session::run(options, (began.0, began.1), &seen, &Kept { informer: informer.clone(), first_read });
    // What was not written yet is.
    informer.stop();
    runtime.block_on(informer.stopped());
    runtime.shutdown_background();
    outcome
}

fn informer_start<K: Kind>(runtime: &Runtime, informer: &Informer<K>) {
    let _guard = runtime.enter();
    informer.start();
}

/// How a state is asked for, and how soon after a failure: a relist is timed from its request on, and several in a row are not to
/// wait for longer each time.
fn reflecting(options: &Options) -> reflector::Config {
    let mut config = reflector::Config::default();
    config.strategy = match options.strategy {
        Strategy::List => reflector::Strategy::List,
        Strategy::Stream => reflector::Strategy::Stream,
    };
    (config.backoff.initial, config.backoff.cap) = (Duration::from_millis(50), Duration::from_millis(200));
    config
}

/// Builds an informer, and does not start it.
async fn follow<K: Kind>(
    options: &Options,
    seen: &Arc<Seen>,
) -> Result<Informer<K>, Box<dyn std::error::Error>> {
    let kubeconfig = Kubeconfig::read_from(&options.kubeconfig)?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    config.read_timeout = None;
    let builder = K::builder(Client::try_from(config)?)
        .encoding(match options.encoding {
            Encoding::Json => source::Encoding::Json,
            Encoding::Protobuf => source::Encoding::Auto,
        })
        .config(reflecting(options))
        .storage(match options.keep {
            Keep::Whole => Storage::Decoded,
            Keep::Compact => Storage::Compressed,
        })
        .managed_fields(match options.managed_fields {
            ManagedFields::Keep => wire::ManagedFields::Keep,
            ManagedFields::Drop => wire::ManagedFields::Drop,
        });
    let builder = match &options.save_to {
        Some(folder) => builder.save_to(Save::in_folder(folder).cluster("bench")),
        None => builder,
    };
    let informer = builder.build()?;
    let seen = Arc::clone(seen);
    informer.add_handler(move |event: &Event<K>| seen.told(|| event.object().get().view()))?;
    Ok(informer)
}
