//! The watcher and reflector of kube-runtime as a client under test; one consumer of its stream replaces the handler.

mod source;
mod controller;
mod components;

use clap::{Parser, Subcommand};
use futures_util::{StreamExt, pin_mut};
use k8s_openapi::{api::core::v1::Pod, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{
    Api, Client, Config, Resource, ResourceExt,
    config::{KubeConfigOptions, Kubeconfig},
    core::{ApiResource, DynamicObject, GroupVersionKind},
    runtime::{
        WatchStreamExt,
        reflector::{self, Store},
        watcher::{self, Event, watcher},
    },
};
use kube_informer_bench_client::{
    object::{BenchObject, WIDGET_NESTED_FIELD, WIDGETS},
    options::{ClientOptions, Kind, ManagedFields, Strategy},
    recorder::{Goal, Recorder},
    session::{self, Cache, ProcessStart},
};
use serde::de::DeserializeOwned;
use std::{error::Error, fmt::Debug, hash::Hash, process::ExitCode, sync::Arc};

/// The type of the cached objects.
trait CachedType:
    Resource<DynamicType: Clone + Eq + Hash + Send + Sync>
    + Clone
    + Debug
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
    /// The object as the benchmarks read it.
    type View<'a>: BenchObject;

    fn dynamic_type() -> Self::DynamicType;
    fn view(&self) -> Self::View<'_>;
}

impl CachedType for Pod {
    type View<'a> = &'a Self;

    fn dynamic_type() {}

    fn view(&self) -> &Self {
        self
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

    fn dynamic_type() -> ApiResource {
        let [group, version, kind, plural] = WIDGETS;
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
    }

    fn view(&self) -> Widget<'_> {
        Widget(self)
    }
}

struct ReflectorCache<K: CachedType> {
    store: Store<K>,
    recorder: Arc<Recorder>,
}

impl<K: CachedType> Cache for ReflectorCache<K> {
    fn has_synced(&self) -> bool {
        // The consumer receives the end of the list after the store.
        self.recorder.events() > 0
    }

    fn for_each(&self, read: &mut dyn FnMut(&dyn BenchObject)) {
        self.store.state().iter().for_each(|object| read(&object.view()));
    }

    fn add_index(&self) {
        // The store has no indexes.
    }
}

/// kube-rs as a client of the benchmarks.
#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
struct Cli {
    #[command(flatten)]
    options: Option<ClientOptions>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Measures a component without a server
    #[command(subcommand)]
    Component(components::Component),
}

fn main() -> ExitCode {
    let start = ProcessStart::now();
    let outcome = match Cli::parse() {
        Cli { command: Some(Command::Component(component)), .. } => components::run(&component),
        Cli { options: Some(options), .. } => match options.kind {
            Kind::Pods => run::<Pod>(&options, start),
            Kind::Widgets => run::<DynamicObject>(&options, start),
        },
        Cli { options: None, command: None } => Err("options are missing, see --help".to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kube-rs-peer: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run<K: CachedType>(options: &ClientOptions, start: ProcessStart) -> Result<(), String> {
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    let recorder = Arc::new(Recorder::default());
    recorder.list_started();
    recorder.expect(Goal::Count(options.objects));
    let store = runtime.block_on(reflect::<K>(options, &recorder)).map_err(|error| error.to_string())?;
    let cache = ReflectorCache { store, recorder: Arc::clone(&recorder) };
    let outcome = session::run(options, start, &recorder, &cache);
    runtime.shutdown_background();
    outcome
}

async fn reflect<K: CachedType>(
    options: &ClientOptions,
    recorder: &Arc<Recorder>,
) -> Result<Store<K>, Box<dyn Error>> {
    let kubeconfig = Kubeconfig::read_from(&options.kubeconfig)?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    // A watch may be idle for a long time.
    config.read_timeout = None;
    let objects = Api::<K>::all_with(Client::try_from(config)?, &K::dynamic_type());
    let watching = match options.strategy {
        Strategy::List => watcher::Config::default(),
        Strategy::Stream => watcher::Config::default().streaming_lists(),
    };
    let writer = reflector::store::Writer::<K>::new(K::dynamic_type());
    let store = writer.as_reader();
    let (recorder, managed_fields) = (Arc::clone(recorder), options.managed_fields);
    tokio::spawn(async move {
        let events = watcher(objects, watching).default_backoff().modify(move |object| {
            if managed_fields == ManagedFields::Drop {
                object.managed_fields_mut().clear();
            }
        });
        let events = events.reflect(writer);
        pin_mut!(events);
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => recorder.list_started(),
                Ok(Event::InitDone) => recorder.list_finished(),
                Ok(Event::Apply(object) | Event::InitApply(object) | Event::Delete(object)) => {
                    recorder.event(|| object.view());
                }
                // The watcher retries.
                Err(_) => {}
            }
        }
    });
    Ok(store)
}
