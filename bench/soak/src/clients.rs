//! The clients of a soak: many informers in one process, each of a namespace of its own.
//!
//! | order | what it does | what it says |
//! |---|---|---|
//! | `begin AT PERIOD WINDOW` | begins to take times; faults come each period from then on, all in nanoseconds | |
//! | `memory` | | memory alone |
//! | `status` | | memory, objects, times since this was last asked, relists, how far the stuck one is behind |
//! | `let-go` | lets the stuck one go | |
//! | `read` | | count and hash of each cache, each fold, and the stuck one's fold |
//! | `sum` | | all times |

use crate::{
    followed::{Followed, Stuck, lock},
    memory,
    moments::{Moments, Rhythm},
    options::Options,
};
use kube_client::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use kube_informer_bench_client::session::say;
use serde_json::{Value, json};
use std::{
    io::{self, BufRead},
    sync::{Arc, Mutex},
    time::Instant,
};
use tokio::runtime::Runtime;

/// Follows until standard input ends.
pub(crate) fn run(arguments: impl Iterator<Item = String>) -> Result<(), String> {
    let options = Options::parse(arguments)?;
    let began = Instant::now();
    let runtime = Runtime::new().map_err(|error| error.to_string())?;
    let clients = runtime.block_on(Clients::start(&options))?;
    say(&json!({ "event": "synced", "seconds": began.elapsed().as_secs_f64() }));
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        let words: Vec<_> = line.split_whitespace().collect();
        say(&clients.obey(&words)?);
    }
    runtime.shutdown_background();
    Ok(())
}

struct Clients {
    followed: Vec<Followed>,
    stuck: Stuck,
    moments: Arc<Mutex<Moments>>,
}

impl Clients {
    /// Starts all, and waits until all have synced.
    async fn start(options: &Options) -> Result<Self, String> {
        let client = connect(&options.kubeconfig).await.map_err(|error| error.to_string())?;
        let moments = Arc::<Mutex<Moments>>::default();
        let follow = |number| Followed::start(client.clone(), (number, options.waits), &moments);
        let followed: Vec<_> = (0..options.informers).map(follow).collect::<Result<_, _>>()?;
        let stuck = Stuck::join(&followed[0].informer)?;
        followed.iter().for_each(|one| one.informer.start());
        for one in &followed {
            one.informer.synced().await.map_err(|error| error.to_string())?;
        }
        Ok(Self { followed, stuck, moments })
    }

    fn obey(&self, words: &[&str]) -> Result<Value, String> {
        let number = |word: &str| word.parse::<u64>().map_err(|_| format!("`{word}` is no number"));
        match words {
            ["begin", begin, period, window] => {
                let rhythm =
                    Rhythm { begin: number(begin)?, period: number(period)?, window: number(window)? };
                lock(&self.moments).begin(rhythm);
                Ok(json!({}))
            }
            ["memory"] => Ok(memory::report()),
            ["status"] => Ok(self.status()),
            ["let-go"] => {
                self.stuck.let_go();
                Ok(json!({}))
            }
            ["read"] => Ok(self.read()),
            ["sum"] => Ok(lock(&self.moments).sum()),
            _ => Err(format!("the order `{}` is not understood", words.join(" "))),
        }
    }

    fn status(&self) -> Value {
        let statuses: Vec<_> = self.followed.iter().map(|one| one.informer.status()).collect();
        let count = |of: fn(&kube_informer::reflector::Counts) -> u64| -> u64 {
            statuses.iter().map(|status| of(&status.counts)).sum()
        };
        json!({
            "memory": memory::report(),
            "objects": statuses.iter().map(|status| status.objects).sum::<usize>(),
            // The first state of each is no relist.
            "relists": count(|counts| counts.replaces).saturating_sub(self.followed.len() as u64),
            "watches": count(|counts| counts.watches),
            "errors": count(|counts| counts.errors),
            "stuck": Stuck::depth(&self.followed[0].informer),
            "lately": lock(&self.moments).lately(),
        })
    }

    fn read(&self) -> Value {
        let (caches, folds): (Vec<_>, Vec<_>) =
            self.followed.iter().map(|one| one.sums()).map(|[cache, fold]| (cache, fold)).unzip();
        json!({
            "caches": caches,
            "folds": folds,
            "stuck": self.stuck.sum(),
            "went_back": self.followed.iter().map(Followed::went_back).sum::<u64>(),
        })
    }
}

async fn connect(kubeconfig: &str) -> Result<Client, Box<dyn std::error::Error>> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    config.read_timeout = None;
    Ok(Client::try_from(config)?)
}
