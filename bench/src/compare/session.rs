//! Measures one client against a server: sync, relist, updates and latency.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use kube_informer_bench_client::child::{ChildProcess, number};
use serde_json::Value;

use crate::compare::client::Client;
use crate::compare::options::Settings;
use crate::compare::samples::Samples;
use crate::compare::server::Server;
use crate::compare::workload::Phase;

/// The share of objects that change before a relist or a restart.
pub(crate) const CHANGED: f64 = 0.001;

/// Runs a client through the phases; `command` starts its program.
pub(crate) fn measure(
    server: &mut Server,
    client: &Client,
    mut command: Command,
    plan: &Plan<'_>,
) -> Result<Samples> {
    server.request("reset")?;
    command.args(client.arguments()).arg("--kubeconfig").arg(&server.kubeconfig);
    command.args(["--objects", &server.objects.to_string()]);
    command.args(["--settle", &plan.settings.settle.as_secs_f64().to_string()]);
    let process = ChildProcess::start(&mut command)?;
    let mut session = Session { server, process, steady_memory: 0.0, samples: Samples::default() };
    session.sync(plan.phases.contains(&Phase::Restart))?;
    if plan.phases.contains(&Phase::Relist) {
        session.relist().context("relist")?;
    }
    if plan.phases.contains(&Phase::Updates) {
        session.updates().context("updates")?;
    }
    if plan.phases.contains(&Phase::Latency) {
        session.latencies(plan.settings.hold).context("latency")?;
    }
    let Session { process, samples, .. } = session;
    process.kill()?;
    Ok(samples)
}

/// The phases of a client and the size of the run.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) phases: Vec<Phase>,
    pub(crate) settings: &'a Settings,
}

struct Session<'a> {
    server: &'a mut Server,
    process: ChildProcess,
    steady_memory: f64,
    samples: Samples,
}

impl Session<'_> {
    /// Waits for the sync. A client without a saved cache restarts by a cold sync, which is the peer of restarts.
    fn sync(&mut self, is_restart_peer: bool) -> Result<()> {
        let synced = self.process.receive_event("synced")?;
        let settled = self.process.receive_event("settled")?;
        let (seconds, base) = (number(&synced, "sync_seconds")?, number(&synced, "base_rss")?);
        self.steady_memory = number(&settled, "rss")?;
        self.samples.add("sync_seconds", seconds);
        self.samples.add("sync_cpu_seconds", number(&synced, "cpu_seconds")?);
        self.samples.add("sync_peak", number(&synced, "peak_rss")? / self.steady_memory);
        let per_object = (self.steady_memory - base).max(0.0) / self.server.objects as f64;
        self.samples.add("bytes_per_object", per_object);
        if is_restart_peer {
            for key in ["first_read_seconds", "restart_seconds", "restart_expired_seconds"] {
                self.samples.add(key, seconds);
            }
        }
        let read = self.server.check_cache(&mut self.process).context("after the sync")?;
        self.samples.add("read_seconds", number(&read, "read_seconds")?);
        Ok(())
    }

    fn relist(&mut self) -> Result<()> {
        self.server.request("wait-for-watch")?;
        let before = number(&self.server.request("expected")?, "version")?;
        let changed = number(&self.server.request(&format!("change {CHANGED}"))?, "changed")?;
        self.server.request("compact")?;
        self.process.send(&format!("newer {changed} {before}"))?;
        self.process.receive_event("ready")?;
        self.server.request("expire")?;
        let done = self.process.receive_event("done")?;
        // Clients wait for different times before they list, so the time starts at the request.
        let requested = number(&self.server.request("list-time")?, "at")?;
        self.samples.add("relist_seconds", (number(&done, "done_at")? - requested) / 1e9);
        self.samples.add("relist_cpu_seconds", number(&done, "cpu_seconds")?);
        self.samples.add("relist_peak", number(&done, "peak_rss")? / self.steady_memory);
        self.server.check_cache(&mut self.process)?;
        self.samples.add("relist_events", number(&self.process.request("events")?, "events")?);
        Ok(())
    }

    /// Updates every object once, so that no client can combine two updates of the same object.
    fn updates(&mut self) -> Result<()> {
        let events = self.server.objects;
        self.process.request("index")?;
        self.server.request("wait-for-watch")?;
        let done = self.await_updates(&format!("any {events}"), &format!("update {events}"))?;
        let seconds = (number(&done, "done_at")? - number(&done, "first_at")?) / 1e9;
        self.samples.add("updates", events as f64 / seconds);
        self.samples.add("updates_per_core", events as f64 / number(&done, "cpu_seconds")?.max(0.01));
        self.server.check_cache(&mut self.process)?;
        Ok(())
    }

    fn latencies(&mut self, hold: Duration) -> Result<()> {
        let rates: &[(f64, &str, &str)] = match self.server.is_kube_apiserver {
            // A higher rate measures the disk of etcd.
            true => &[(100.0, "p50_100", "p99_100")],
            false => &[(1000.0, "p50_1000", "p99_1000"), (5000.0, "p50_5000", "p99_5000")],
        };
        // The same number of events at each rate: in a shorter time at the lower rate, most runs of client-go have no garbage
        // collection, and p99 depends on whether there is one.
        let events = rates.iter().map(|(rate, ..)| (rate * hold.as_secs_f64()).ceil()).fold(0.0, f64::max);
        for (rate, p50, p99) in rates {
            self.server.request("wait-for-watch")?;
            let done = self.await_updates(&format!("timed {events}"), &format!("update {events} {rate}"))?;
            self.samples.add(p50, number(&done, "p50")?);
            self.samples.add(p99, number(&done, "p99")?);
        }
        Ok(())
    }

    fn await_updates(&mut self, goal: &str, update: &str) -> Result<Value> {
        self.process.send(goal)?;
        self.process.receive_event("ready")?;
        self.server.send(update)?;
        let done = self.process.receive_event("done")?;
        self.server.receive()?;
        Ok(done)
    }
}
