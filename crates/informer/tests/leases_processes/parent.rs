//! Starts the server and the replicas, changes objects, injects faults, and checks the log.

use crate::log::{Change, Log, check_rules};
use crate::plan::{Plan, REPLICAS};
use crate::replica::Settings;
use crate::server::Server;
use futures_util::{StreamExt, stream};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube_client::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use kube_leases::{BootTime, Clock, SystemClock};
use serde_json::json;
use std::{
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};
use testkit::Random;
use tokio::time::{Instant, interval, timeout};

/// A replica in a process of its own. Dropping it kills the process.
struct Replica {
    child: Child,
    is_suspended: bool,
}

impl Replica {
    fn start(settings: &Settings, number: u32) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        settings.pass_to(&mut command, &format!("replica-{number}"));
        Self { child: command.stdin(Stdio::null()).spawn().unwrap(), is_suspended: false }
    }

    fn signal(&self, signal: &str) {
        // It may have ended by itself.
        let _ = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Run<'a> {
    plan: &'a Plan,
    settings: Settings,
    server: Server,
    client: Client,
    random: Random,
    replicas: Vec<Replica>,
    /// Replicas that have received SIGTERM.
    stopping: Vec<Replica>,
    started: u32,
    changes: Vec<Change>,
    faults: Vec<&'static str>,
}

pub(crate) fn run(plan: &Plan, folder: &Path) {
    check_rules();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(run_rounds(plan, &folder.join("log")));
}

async fn run_rounds(plan: &Plan, path: &Path) {
    let server = Server::start().await;
    let settings = Settings::new(&server.url(), path, plan);
    let client = server.client();
    let mut run = Run {
        plan,
        settings,
        client,
        server,
        random: Random::new(plan.seed),
        replicas: Vec::new(),
        stopping: Vec::new(),
        started: 0,
        changes: Vec::new(),
        faults: Vec::new(),
    };
    run.create_objects().await;
    run.start_replicas();
    run.wait_for_all_keys(path).await;
    let mut calm_phases = Vec::new();
    for _ in 0..plan.rounds {
        run.faulty_phase().await;
        calm_phases.push(run.calm_phase().await);
    }
    let Run { changes, replicas, stopping, faults, server, .. } = run;
    drop(replicas);
    drop(stopping);
    let log = Log::read(path);
    let overlaps = log.overlaps();
    assert!(overlaps.is_empty(), "{} overlaps: {:#?}", overlaps.len(), &overlaps[..overlaps.len().min(5)]);
    let tokens = log.decreasing_tokens();
    assert!(tokens.is_empty(), "{:#?}", &tokens[..tokens.len().min(5)]);
    let slowest = check_delays(plan, &log, &changes, &calm_phases);
    println!(
        "{}: {} reconciles of {} keys by {} processes, {} changes, {} faults ({}): no overlap; slowest change in a calm phase {slowest:?}, limit {:?}",
        server.name(),
        log.len(),
        log.keys(),
        log.replicas().len(),
        changes.len(),
        faults.len(),
        faults.join(", "),
        plan.limit(),
    );
}

/// A calm phase, by the clock of the log.
struct CalmPhase {
    start: BootTime,
    end: BootTime,
}

/// Checks that every change was reconciled in time: those of faulty phases within the limit after the start of the calm phase, and those of
/// calm phases within the limit. Returns the longest time.
fn check_delays(plan: &Plan, log: &Log, changes: &[Change], phases: &[CalmPhase]) -> Duration {
    let mut slowest = Duration::ZERO;
    let mut late = Vec::new();
    for change in changes {
        let Some(phase) = phases.iter().find(|phase| change.at < phase.end) else { continue };
        if phase.end.saturating_since(change.at.max(phase.start)) < plan.limit() {
            continue; // The phase ends before the limit.
        }
        match log.delay(change, phase.start) {
            Some(delay) if delay <= plan.limit() => slowest = slowest.max(delay),
            delay => late.push(format!("{change:?}, calm since {:?}: {delay:?}", phase.start)),
        }
    }
    assert!(late.is_empty(), "{} late changes: {:#?}", late.len(), &late[..late.len().min(5)]);
    slowest
}

impl Run<'_> {
    async fn create_objects(&self) {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        for number in 0..self.plan.namespaces {
            let namespace = json!({ "metadata": { "name": Plan::namespace_name(number) } });
            let namespace = serde_json::from_value(namespace).unwrap();
            namespaces.create(&PostParams::default(), &namespace).await.unwrap();
        }
        let create = |number: u32| {
            let maps = self.maps(number);
            async move {
                let map =
                    json!({ "metadata": { "name": format!("map-{number}"), "labels": { "soak": "true" } } });
                let map = serde_json::from_value(map).unwrap();
                maps.create(&PostParams::default(), &map).await.unwrap();
            }
        };
        stream::iter(0..self.plan.objects).for_each_concurrent(16, create).await;
    }

    fn maps(&self, object: u32) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), &self.plan.namespace(object))
    }

    fn start_replicas(&mut self) {
        while self.replicas.len() < REPLICAS {
            self.start_replica();
        }
    }

    fn start_replica(&mut self) {
        self.started += 1;
        self.replicas.push(Replica::start(&self.settings, self.started));
    }

    async fn wait_for_all_keys(&self, path: &Path) {
        let mut ticks = interval(Duration::from_millis(200));
        let wait = async {
            while Log::read(path).keys() < self.plan.objects as usize {
                ticks.tick().await;
            }
        };
        let waited = timeout(Duration::from_secs(180), wait).await;
        assert!(waited.is_ok(), "not all keys were reconciled at the start");
    }

    /// Changes random objects until a time.
    async fn change_until(&mut self, end: Instant) {
        let mut ticks = interval(Duration::from_secs(1) / self.plan.changes_per_second);
        while Instant::now() < end {
            ticks.tick().await;
            let number = self.random.below(self.plan.objects.into()) as u32;
            let patch = Patch::Merge(json!({ "data": { "value": self.random.next_u64().to_string() } }));
            let name = format!("map-{number}");
            // The server may be unavailable.
            let Ok(map) = self.maps(number).patch(&name, &PatchParams::default(), &patch).await else {
                continue;
            };
            self.changes.push(Change {
                key: format!("{}/{name}", self.plan.namespace(number)),
                version: map.metadata.resource_version.unwrap().parse().unwrap(),
                at: SystemClock.now(),
            });
        }
    }

    async fn faulty_phase(&mut self) {
        let end = Instant::now() + self.plan.faulty;
        while Instant::now() < end {
            self.inject_fault();
            let next = (Instant::now() + self.plan.fault_interval).min(end);
            self.change_until(next).await;
        }
    }

    fn inject_fault(&mut self) {
        let kinds =
            ["kill -9", "SIGTERM", "SIGSTOP", "start", "server restart", "503 on Leases", "cut connections"];
        // The kinds of faults take turns.
        let kind = kinds[self.faults.len() % kinds.len()];
        self.faults.push(kind);
        let index = self.random.index(self.replicas.len());
        let can_remove = self.replicas.len() > 2;
        match kind {
            "kill -9" if can_remove => drop(self.replicas.swap_remove(index)),
            "SIGTERM" if can_remove => {
                let replica = self.replicas.swap_remove(index);
                replica.signal("-CONT");
                replica.signal("-TERM");
                self.stopping.push(replica);
            }
            "SIGSTOP" => {
                self.replicas[index].signal("-STOP");
                self.replicas[index].is_suspended = true;
            }
            "server restart" => self.server.restart(),
            "503 on Leases" => self.server.refuse_leases(self.plan.outage),
            "cut connections" => self.server.cut_connections(),
            _ => self.start_replica(),
        }
    }

    async fn calm_phase(&mut self) -> CalmPhase {
        for replica in &mut self.replicas {
            if std::mem::take(&mut replica.is_suspended) {
                replica.signal("-CONT");
            }
        }
        self.server.heal().await;
        self.start_replicas();
        let start = SystemClock.now();
        let end = Instant::now() + self.plan.calm;
        self.change_until(end).await;
        CalmPhase { start, end: SystemClock.now() }
    }
}
