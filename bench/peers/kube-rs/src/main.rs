//! kube-runtime's watcher and reflector, with one consumer of its stream in the place of a handler.

mod micro;

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
    options::{self, ManagedFields, Options, Strategy},
    seen::{Goal, Seen},
    session::{self, Cache},
    subject::{Subject, WIDGET_DEEP, WIDGETS},
    usage::Usage,
};
use serde::de::DeserializeOwned;
use std::{error::Error, fmt::Debug, hash::Hash, process::ExitCode, sync::Arc, time::Instant};

/// A kind of objects that can be followed.
trait Kind:
    Resource<DynamicType: Clone + Eq + Hash + Send + Sync>
    + Clone
    + Debug
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
    /// An object as the benchmarks look at it.
    type View<'a>: Subject;

    fn dynamic_type() -> Self::DynamicType;
    fn view(&self) -> Self::View<'_>;
}

impl Kind for Pod {
    type View<'a> = &'a Self;

    fn dynamic_type() {}

    fn view(&self) -> &Self {
        self
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

    fn dynamic_type() -> ApiResource {
        let [group, version, kind, plural] = WIDGETS;
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
    }

    fn view(&self) -> Widget<'_> {
        Widget(self)
    }
}

struct Kept<K: Kind> {
    store: Store<K>,
    seen: Arc<Seen>,
}

impl<K: Kind> Cache for Kept<K> {
    fn has_synced(&self) -> bool {
        // The handler hears of the end of the list after the store does.
        self.seen.events() > 0
    }

    fn each(&self, show: &mut dyn FnMut(&dyn Subject)) {
        self.store.state().iter().for_each(|object| show(&object.view()));
    }

    fn index(&self) {
        // Its store has none.
    }
}

fn main() -> ExitCode {
    let (began, base) = (Instant::now(), Usage::now());
    let words: Vec<_> = std::env::args().skip(1).collect();
    if let Some(("micro", parts)) = words.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return ended(micro::run(parts));
    }
    let outcome = Options::parse(words).and_then(|options| match options.kind {
        options::Kind::Pods => live::<Pod>(&options, (began, base)),
        options::Kind::Widgets => live::<DynamicObject>(&options, (began, base)),
    });
    ended(outcome)
}

fn live<K: Kind>(options: &Options, began: (Instant, Usage)) -> Result<(), String> {
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    let seen = Arc::new(Seen::default());
    seen.listing();
    seen.expect(Goal::Count(options.count));
    let store = runtime.block_on(follow::<K>(options, &seen)).map_err(|error| error.to_string())?;
    let outcome = session::run(options, began, &seen, &Kept { store, seen: Arc::clone(&seen) });
    runtime.shutdown_background();
    outcome
}

fn ended(outcome: Result<(), String>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(wrong) => {
            eprintln!("kube-rs-peer: {wrong}");
            ExitCode::FAILURE
        }
    }
}

async fn follow<K: Kind>(options: &Options, seen: &Arc<Seen>) -> Result<Store<K>, Box<dyn Error>> {
    let kubeconfig = Kubeconfig::read_from(&options.kubeconfig)?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    // A watch without events is idle for long, and this is no test of what is made of that.
    config.read_timeout = None;
    let objects = Api::<K>::all_with(Client::try_from(config)?, &K::dynamic_type());
    let watching = match options.strategy {
        Strategy::List => watcher::Config::default(),
        Strategy::Stream => watcher::Config::default().streaming_lists(),
    };
    let writer = reflector::store::Writer::<K>::new(K::dynamic_type());
    let store = writer.as_reader();
    let (seen, managed_fields) = (Arc::clone(seen), options.managed_fields);
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
                Ok(Event::Init) => seen.listing(),
                Ok(Event::InitDone) => seen.listed(),
                Ok(Event::Apply(object) | Event::InitApply(object) | Event::Delete(object)) => {
                    seen.told(|| object.view());
                }
                // It asks again, after a while.
                Err(_) => {}
            }
        }
    });
    Ok(store)
}
