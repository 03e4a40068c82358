//! The clients: many informers in one process, each of its own namespace.
//!
//! | command | effect | response |
//! |---|---|---|
//! | `start AT PERIOD WINDOW` | starts recording times; faults are injected each period from then on, all in nanoseconds | |
//! | `memory` | | memory |
//! | `status` | | memory, objects, recent times, relists, pending events of the blocked handler |
//! | `release` | releases the blocked handler | |
//! | `read` | | count and hash of each cache, each handler and the blocked handler |
//! | `times` | | all delivery times |

use crate::{
    delivery_times::{DeliveryTimes, FaultSchedule},
    memory,
    observed_informer::{BlockedHandler, ObservedInformer, lock},
    options::{BackoffChoice, Load},
};
use clap::Args;
use kube_client::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use kube_informer::reflector::Counts;
use kube_informer_bench_client::session::print_line;
use serde_json::{Value, json};
use std::{
    io::{self, BufRead},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Instant,
};
use tokio::runtime::Runtime;

/// The options of the clients.
#[derive(Args, Clone, Debug)]
pub(crate) struct ClientOptions {
    #[command(flatten)]
    load: Load,
    /// The kubeconfig file of the server.
    #[arg(long)]
    kubeconfig: PathBuf,
    /// The backoff of the informers.
    #[arg(long, value_enum, default_value = "short")]
    backoff: BackoffChoice,
}

/// Runs the informers until standard input is closed.
pub(crate) fn run(options: &ClientOptions) -> Result<(), String> {
    let start = Instant::now();
    let runtime = Runtime::new().map_err(|error| error.to_string())?;
    let clients = runtime.block_on(Clients::start(options))?;
    print_line(&json!({ "event": "synced", "seconds": start.elapsed().as_secs_f64() }));
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        let words: Vec<_> = line.split_whitespace().collect();
        print_line(&clients.execute(&words)?);
    }
    runtime.shutdown_background();
    Ok(())
}

struct Clients {
    informers: Vec<ObservedInformer>,
    blocked: BlockedHandler,
    times: Arc<Mutex<DeliveryTimes>>,
}

impl Clients {
    /// Starts all informers, and waits until they have synced.
    async fn start(options: &ClientOptions) -> Result<Self, String> {
        let client = connect(&options.kubeconfig).await.map_err(|error| error.to_string())?;
        let times = Arc::<Mutex<DeliveryTimes>>::default();
        let create = |number| ObservedInformer::new(client.clone(), number, options.backoff, &times);
        let informers: Vec<_> = (0..options.load.informers).map(create).collect::<Result<_, _>>()?;
        let blocked = BlockedHandler::add_to(&informers[0].informer)?;
        informers.iter().for_each(|observed| observed.informer.start());
        for observed in &informers {
            observed.informer.synced().await.map_err(|error| error.to_string())?;
        }
        Ok(Self { informers, blocked, times })
    }

    fn execute(&self, words: &[&str]) -> Result<Value, String> {
        let number = |word: &str| word.parse::<u64>().map_err(|_| format!("`{word}` is not a number"));
        match words {
            ["start", start, period, window] => {
                let (start, period, window) = (number(start)?, number(period)?, number(window)?);
                lock(&self.times).start(FaultSchedule { start, period, window });
                Ok(json!({}))
            }
            ["memory"] => Ok(memory::report()),
            ["status"] => Ok(self.status()),
            ["release"] => {
                self.blocked.release();
                Ok(json!({}))
            }
            ["read"] => Ok(self.read()),
            ["times"] => Ok(lock(&self.times).total()),
            _ => Err(format!("unknown command `{}`", words.join(" "))),
        }
    }

    fn status(&self) -> Value {
        let statuses: Vec<_> = self.informers.iter().map(|observed| observed.informer.status()).collect();
        let count =
            |of: fn(&Counts) -> u64| -> u64 { statuses.iter().map(|status| of(&status.counts)).sum() };
        json!({
            "memory": memory::report(),
            "objects": statuses.iter().map(|status| status.objects).sum::<usize>(),
            // The initial lists are not relists.
            "relists": count(|counts| counts.replaces).saturating_sub(self.informers.len() as u64),
            "blocked_depth": BlockedHandler::depth(&self.informers[0].informer),
            "recent": lock(&self.times).take_recent(),
        })
    }

    fn read(&self) -> Value {
        json!({
            "caches": self.informers.iter().map(ObservedInformer::cache_summary).collect::<Vec<_>>(),
            "handlers": self.informers.iter().map(ObservedInformer::handler_summary).collect::<Vec<_>>(),
            "blocked": self.blocked.summary(),
            "stale_events": self.informers.iter().map(ObservedInformer::stale_events).sum::<u64>(),
        })
    }
}

async fn connect(kubeconfig: &Path) -> anyhow::Result<Client> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    config.read_timeout = None;
    Ok(Client::try_from(config)?)
}
