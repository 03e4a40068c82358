//! Our own client.

use k8s_openapi::api::core::v1::Pod;
use kube_client::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use kube_informer::{Event, Informer, list_watch, reflector};
use kube_informer_bench_client::{
    options::{Encoding, Keep, ManagedFields, Options, Strategy},
    seen::{Goal, Seen},
    session::{self, Cache},
    usage::Usage,
};
use std::{sync::Arc, time::Instant};
use tokio::runtime::Runtime;

/// When this process began, and what it used then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Began(Instant, Usage);

impl Began {
    pub(crate) fn now() -> Self {
        Self(Instant::now(), Usage::now())
    }
}

struct Kept(Informer<Pod>);

impl Cache for Kept {
    fn has_synced(&self) -> bool {
        self.0.has_synced()
    }

    fn each(&self, show: &mut dyn FnMut(&Pod)) {
        self.0.snapshot().iter().for_each(|entry| show(&entry.object()));
    }

    fn index(&self) {
        let node = |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
        self.0.add_index("node", node).expect("it is the first index of this name");
    }
}

/// Follows a server until standard input ends.
pub(crate) fn run(began: Began, arguments: impl Iterator<Item = String>) -> Result<(), String> {
    let options = Options::parse(arguments)?;
    let runtime = Runtime::new().map_err(|error| error.to_string())?;
    let seen = Arc::new(Seen::default());
    seen.expect(Goal::Count(options.count));
    let informer = runtime.block_on(follow(&options, &seen)).map_err(|error| error.to_string())?;
    let outcome = session::run(&options, (began.0, began.1), &seen, &Kept(informer));
    runtime.shutdown_background();
    outcome
}

async fn follow(options: &Options, seen: &Arc<Seen>) -> Result<Informer<Pod>, Box<dyn std::error::Error>> {
    let kubeconfig = Kubeconfig::read_from(&options.kubeconfig)?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    config.read_timeout = None;
    let builder = Informer::<Pod>::new(Client::try_from(config)?)
        .encoding(match options.encoding {
            Encoding::Json => list_watch::Encoding::Json,
            Encoding::Protobuf => list_watch::Encoding::Auto,
        })
        .strategy(match options.strategy {
            Strategy::List => reflector::Strategy::List,
            Strategy::Stream => reflector::Strategy::Stream,
        })
        .keep(match options.keep {
            Keep::Whole => kube_informer::Keep::Whole,
            Keep::Compact => kube_informer::Keep::Compact,
        });
    let builder = match options.managed_fields {
        ManagedFields::Keep => builder,
        ManagedFields::Drop => builder.without_managed_fields(),
    };
    let informer = builder.build()?;
    let seen = Arc::clone(seen);
    informer.add_handler(move |event: &Event<Pod>| seen.told(|| event.object()))?;
    informer.start();
    Ok(informer)
}
