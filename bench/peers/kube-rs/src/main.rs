//! kube-runtime's watcher and reflector, with one consumer of its stream in the place of a handler.

mod micro;

use futures_util::{StreamExt, pin_mut};
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, Client, Config, ResourceExt,
    config::{KubeConfigOptions, Kubeconfig},
    runtime::{
        WatchStreamExt,
        reflector::{self, Store},
        watcher::{self, Event, watcher},
    },
};
use kube_informer_bench_client::{
    options::{ManagedFields, Options, Strategy},
    seen::{Goal, Seen},
    session::{self, Cache},
    usage::Usage,
};
use std::{error::Error, process::ExitCode, sync::Arc, time::Instant};

struct Kept {
    store: Store<Pod>,
    seen: Arc<Seen>,
}

impl Cache for Kept {
    fn has_synced(&self) -> bool {
        // The handler hears of the end of the list after the store does.
        self.seen.events() > 0
    }

    fn each(&self, show: &mut dyn FnMut(&Pod)) {
        self.store.state().iter().for_each(|pod| show(pod));
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
    let outcome = Options::parse(words).and_then(|options| {
        let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
        let seen = Arc::new(Seen::default());
        seen.listing();
        seen.expect(Goal::Count(options.count));
        let store = runtime.block_on(follow(&options, &seen)).map_err(|error| error.to_string())?;
        let outcome = session::run(&options, (began, base), &seen, &Kept { store, seen: Arc::clone(&seen) });
        runtime.shutdown_background();
        outcome
    });
    ended(outcome)
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

async fn follow(options: &Options, seen: &Arc<Seen>) -> Result<Store<Pod>, Box<dyn Error>> {
    let kubeconfig = Kubeconfig::read_from(&options.kubeconfig)?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    // A watch without events is idle for long, and this is no test of what is made of that.
    config.read_timeout = None;
    let pods = Api::<Pod>::all(Client::try_from(config)?);
    let watching = match options.strategy {
        Strategy::List => watcher::Config::default(),
        Strategy::Stream => watcher::Config::default().streaming_lists(),
    };
    let (store, writer) = reflector::store();
    let (seen, managed_fields) = (Arc::clone(seen), options.managed_fields);
    tokio::spawn(async move {
        let events = watcher(pods, watching).default_backoff().modify(move |pod| {
            if managed_fields == ManagedFields::Drop {
                pod.managed_fields_mut().clear();
            }
        });
        let events = events.reflect(writer);
        pin_mut!(events);
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => seen.listing(),
                Ok(Event::InitDone) => seen.listed(),
                Ok(Event::Apply(pod) | Event::InitApply(pod) | Event::Delete(pod)) => seen.told(|| &pod),
                // It asks again, after a while.
                Err(_) => {}
            }
        }
    });
    Ok(store)
}
