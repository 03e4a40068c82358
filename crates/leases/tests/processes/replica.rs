//! A replica that works on its shards until its input ends.

use kube_client::{Client, Config};
use kube_leases::{Clock, Leases, Shard, ShardChange, SystemClock};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// The number of shards.
pub(crate) const SHARDS: usize = 8;

const URL: &str = "LEASES_TEST_URL";
const LOG: &str = "LEASES_TEST_LOG";
const NAME: &str = "LEASES_TEST_NAME";

/// The settings of a replica, which its process gets in environment variables.
pub(crate) struct Settings {
    url: String,
    log: PathBuf,
    name: String,
}

impl Settings {
    pub(crate) fn new(url: &str, log: PathBuf) -> Self {
        Self { url: url.to_owned(), log, name: String::new() }
    }

    /// Returns the settings of this process; `None` if it is not a replica.
    pub(crate) fn of_replica() -> Option<Self> {
        let variable = |name: &str| std::env::var(name).ok();
        Some(Self { url: variable(URL)?, log: variable(LOG)?.into(), name: variable(NAME)? })
    }

    pub(crate) fn pass_to(&self, command: &mut Command, name: &str) {
        command.env(URL, &self.url).env(LOG, &self.log).env(NAME, name);
    }

    pub(crate) fn log(&self) -> &Path {
        &self.log
    }
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn run(settings: &Settings) {
    let url = settings.url.parse().unwrap();
    let leases = Leases::shards("test", u32::try_from(SHARDS).unwrap())
        .namespace("default")
        .lease_duration(Duration::from_secs(2))
        .renew_deadline(Duration::from_millis(1400))
        .retry_period(Duration::from_millis(200))
        .drain_timeout(Duration::from_secs(2))
        .start(Client::try_from(Config::new(url)).unwrap())
        .unwrap();
    let log = OpenOptions::new().create(true).append(true).open(&settings.log).unwrap();
    let worker = Worker { log: Arc::new(log), name: settings.name.clone() };
    std::thread::spawn({
        let leases = leases.clone();
        move || {
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            leases.stop();
        }
    });
    let mut changes = leases.changes();
    while let Some(change) = changes.next().await {
        if let ShardChange::Gained(shard) = change {
            tokio::spawn(worker.clone().work(shard));
        }
    }
    leases.stopped().await;
}

#[derive(Clone)]
struct Worker {
    log: Arc<File>,
    name: String,
}

impl Worker {
    /// Reconciles until the shard is drained or lost.
    async fn work(self, shard: Shard) {
        let mut number = 0;
        while !shard.is_draining() && shard.run_while_held(self.reconcile(&shard, number)).await.is_ok() {
            number += 1;
        }
    }

    async fn reconcile(&self, shard: &Shard, number: u64) {
        let (index, token, name) = (shard.index(), shard.token(), &self.name);
        let mut polls = tokio::time::interval(Duration::from_millis(15));
        for _ in 0..4 {
            polls.tick().await;
            let at = SystemClock.now().since_start().as_nanos();
            let line = format!("{index} {name} {token}.{number} {at}\n");
            // One write of a short line to a file in append mode is not interleaved with others.
            (&*self.log).write_all(line.as_bytes()).unwrap();
        }
    }
}
