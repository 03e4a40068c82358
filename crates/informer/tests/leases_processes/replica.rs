//! A replica: a controller of the config maps of its shards, until SIGTERM.

use crate::plan::{Plan, SHARDS, Timing};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::{Client, Config};
use kube_informer::{
    Informer,
    controller::{Action, Controller, ErrorPolicy},
    manager::shutdown_signal,
};
use kube_leases::{Clock, Leases, SystemClock};
use std::{
    fs::{File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

const URL: &str = "LEASES_REPLICA_URL";
const LOG: &str = "LEASES_REPLICA_LOG";
const NAME: &str = "LEASES_REPLICA_NAME";
const TIMING: &str = "LEASES_REPLICA_TIMING";

/// The settings of a replica, which its process gets in environment variables.
pub(crate) struct Settings {
    pub(crate) url: String,
    pub(crate) log: PathBuf,
    name: String,
    timing: Timing,
}

impl Settings {
    pub(crate) fn new(url: &str, log: &Path, plan: &Plan) -> Self {
        Self { url: url.to_owned(), log: log.to_owned(), name: String::new(), timing: plan.timing }
    }

    /// Returns the settings of this process; `None` if it is not a replica.
    pub(crate) fn of_replica() -> Option<Self> {
        let variable = |name: &str| std::env::var(name).ok();
        let timing: Vec<u64> = variable(TIMING)?.split(' ').map(|millis| millis.parse().unwrap()).collect();
        let [lease_duration, renew_deadline, retry_period] =
            [timing[0], timing[1], timing[2]].map(Duration::from_millis);
        let timing = Timing { lease_duration, renew_deadline, retry_period };
        Some(Self { url: variable(URL)?, log: variable(LOG)?.into(), name: variable(NAME)?, timing })
    }

    pub(crate) fn pass_to(&self, command: &mut Command, name: &str) {
        let Timing { lease_duration, renew_deadline, retry_period } = self.timing;
        let millis = [lease_duration, renew_deadline, retry_period].map(|time| time.as_millis().to_string());
        command.env(URL, &self.url).env(LOG, &self.log).env(NAME, name).env(TIMING, millis.join(" "));
    }
}

struct Context {
    log: File,
    name: String,
    leases: Leases,
    reconciles: AtomicU64,
}

impl Context {
    /// Writes one line. A write of a short line to a file in append mode is not interleaved with others.
    fn write(&self, line: &str) {
        (&self.log).write_all(line.as_bytes()).unwrap();
    }
}

/// Logs the begin, a poll and the end of a reconcile with their times: key, replica, number, token, version, time.
async fn reconcile(map: Arc<ConfigMap>, context: Arc<Context>) -> Result<Action, std::io::Error> {
    let metadata = &map.metadata;
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    let number = context.reconciles.fetch_add(1, Ordering::Relaxed);
    // The shard may be draining already.
    let token = context
        .leases
        .held_shard_of(namespace)
        .map_or_else(|| "-".to_owned(), |shard| shard.token().to_string());
    let mut steps = tokio::time::interval(Duration::from_millis(2));
    for _ in 0..3 {
        steps.tick().await;
        let at = SystemClock.now().since_start().as_nanos();
        context.write(&format!(
            "{namespace}/{} {} {number} {token} {} {at}\n",
            metadata.name.as_deref().unwrap_or_default(),
            context.name,
            metadata.resource_version.as_deref().unwrap_or_default(),
        ));
    }
    Ok(Action::await_change())
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn run(settings: &Settings) {
    let client = Client::try_from(Config::new(settings.url.parse().unwrap())).unwrap();
    let Timing { lease_duration, renew_deadline, retry_period } = settings.timing;
    let leases = Leases::shards("soak", SHARDS)
        .namespace("default")
        .identity(settings.name.clone())
        .lease_duration(lease_duration)
        .renew_deadline(renew_deadline)
        .retry_period(retry_period)
        .drain_timeout(lease_duration)
        .start(client.clone())
        .unwrap();
    let maps = Informer::<ConfigMap>::builder(client).labels("soak=true").shards(&leases).start().unwrap();
    let log = OpenOptions::new().create(true).append(true).open(&settings.log).unwrap();
    let context =
        Context { log, name: settings.name.clone(), leases: leases.clone(), reconciles: AtomicU64::new(0) };
    let controller = Controller::new(&maps).leases(&leases).concurrency(32).shutdown_on(shutdown_signal());
    controller.run(reconcile, ErrorPolicy::default(), Arc::new(context)).await.unwrap();
    leases.stop();
    leases.stopped().await;
}
