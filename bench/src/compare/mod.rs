//! Compares kube-informer with kube-rs and client-go in interleaved rounds.

mod workload;
mod client;
mod metric;
mod samples;
mod options;
mod server;
mod session;
mod restart;
mod components;
mod watchers;
mod many_kinds;
mod report;

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use kube_informer_bench_client::child::machine;
use kube_informer_bench_client::options::Kind;
use serde_json::Value;

use crate::compare::client::{CLIENTS, Client, Program};
use crate::compare::metric::{METRICS, Metric};
pub(crate) use crate::compare::options::CompareOptions;
use crate::compare::options::{Paths, Settings};
use crate::compare::report::Run;
use crate::compare::samples::{Rounds, Samples};
use crate::compare::server::{Contents, Server};
use crate::compare::session::Plan;
use crate::compare::workload::Phase;

/// Runs all rounds for each number of objects, and prints a table for each.
pub(crate) fn run(options: &CompareOptions) -> Result<()> {
    let settings = options.settings();
    ensure!(!settings.workloads.is_empty(), "no workload can be measured with these options");
    let clients = clients(&settings, &options.paths);
    let mut documents = Vec::new();
    for &objects in &settings.objects {
        let mut comparison = Comparison { options, settings: &settings, objects, servers: BTreeMap::new() };
        let run = comparison.run(&clients)?;
        println!("{}", report::table(&settings.workloads, &run));
        documents.push(report::document(&settings.workloads, &run));
        if let Some(file) = &options.json {
            let text = format!("{:#}\n", Value::from(documents.as_slice()));
            fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
        }
    }
    Ok(())
}

/// Returns the clients of the workloads whose programs are available, with their phases.
fn clients<'a>(settings: &'a Settings, paths: &Paths) -> Vec<(&'static Client, Plan<'a>)> {
    let mut clients = Vec::new();
    let is_available = |client: &&Client| paths.command(client.program).is_some();
    for client in CLIENTS.iter().filter(is_available).filter(|client| settings.includes(client)) {
        let metrics = METRICS.iter().filter(|metric| settings.workloads.contains(&metric.workload));
        let mut phases: Vec<_> = metrics
            .filter(|metric| metric.all_clients().any(|name| name == client.name))
            .map(Metric::phase)
            .collect();
        phases.sort_unstable();
        phases.dedup();
        if !phases.is_empty() {
            clients.push((client, Plan { phases, settings }));
        }
    }
    clients
}

struct Comparison<'a> {
    options: &'a CompareOptions,
    settings: &'a Settings,
    objects: u64,
    /// The servers, started when they are first used.
    servers: BTreeMap<Kind, Server>,
}

impl Comparison<'_> {
    fn run(&mut self, clients: &[(&'static Client, Plan<'_>)]) -> Result<Run> {
        let mut rounds = Rounds::default();
        for round in 0..self.settings.rounds {
            rounds.start_round();
            for at in 0..clients.len() {
                let (client, plan) = &clients[(at + round) % clients.len()];
                let start = Instant::now();
                let samples = self
                    .measure(client, plan)
                    .with_context(|| format!("{} in round {}", client.name, round + 1))?;
                println!("round {}: {:<24} {:>6.1} s", round + 1, client.name, start.elapsed().as_secs_f64());
                rounds.add(client.name, samples);
            }
        }
        let checksum = self.servers.values().next().map_or("none", |server| &server.checksum).to_owned();
        Ok(Run { objects: self.objects, machine: machine(), checksum, rounds })
    }

    fn measure(&mut self, client: &'static Client, plan: &Plan<'_>) -> Result<Samples> {
        let paths = &self.options.paths;
        let command =
            || -> Command { paths.command(client.program).expect("unavailable clients are skipped") };
        if client.program == Program::Cluster {
            return watchers::measure(client.program, paths, self.settings);
        }
        let mut samples = components::measure(&command, plan)?;
        if plan.phases.contains(&Phase::Watchers) {
            samples.extend(watchers::measure(client.program, paths, self.settings)?);
        }
        if plan.phases.contains(&Phase::ManyKinds) {
            samples.extend(many_kinds::measure(client.program, paths, self.settings)?);
        }
        let client_command = || {
            let mut command = match (client.program, &paths.kube_informer) {
                (Program::KubeInformer, Some(program)) => Command::new(program),
                _ => command(),
            };
            if client.program == Program::KubeInformer {
                command.arg("client");
            }
            command
        };
        let is_saved = client.name.ends_with(", saved");
        if is_saved {
            let directory = paths.work_dir.join("saved");
            return restart::measure(self.server(client.kind)?, client, &client_command, &directory);
        }
        let needs_server = [Phase::Sync, Phase::Relist, Phase::Updates, Phase::Latency, Phase::Restart];
        if plan.phases.iter().any(|phase| needs_server.contains(phase)) {
            samples.extend(session::measure(self.server(client.kind)?, client, client_command(), plan)?);
        }
        Ok(samples)
    }

    fn server(&mut self, kind: Kind) -> Result<&mut Server> {
        if !self.servers.contains_key(&kind) {
            let server = if self.options.real {
                Server::kube_apiserver(&self.options.paths, self.objects)?
            } else {
                let uses_json = |client: &&Client| client.kind == kind && client.uses_json();
                let selected = clients(self.settings, &self.options.paths);
                let has_json = selected.iter().any(|(client, _)| uses_json(client));
                Server::replay(&self.options.paths, Contents { kind, objects: self.objects, has_json })?
            };
            self.servers.insert(kind, server);
        }
        self.servers.get_mut(&kind).context("the server was started above")
    }
}
