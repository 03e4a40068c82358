//! One contender's life: it syncs and settles, and goes through whatever the rows want of it.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::bench::contender::Contender;
use crate::bench::measured::{IN_TIME, Measured};
use crate::bench::memory;
use crate::bench::options::{Options, Server};
use crate::bench::processors::Together;
use crate::bench::row::Phase;
use crate::bench::server;
use crate::bench::stolen::{Ticks, calmest};
use crate::bench::talk::{Talk, number, numbers};

/// The share of objects that changes before a relist.
pub(crate) const CHANGED: f64 = 0.001;

/// A server, and how to reach it.
#[derive(Debug)]
pub(crate) struct Stage<'a> {
    pub(crate) server: &'a mut Talk,
    pub(crate) kubeconfig: &'a Path,
    pub(crate) count: u64,
    pub(crate) kind: Server,
    /// The highest share of one processor that the server was busy for while clients waited for it.
    pub(crate) busy: f64,
}

/// Runs a client through the phases.
pub(crate) fn live(
    stage: &mut Stage<'_>,
    contender: Contender,
    mut command: Command,
    (phases, options): (&[Phase], &Options),
) -> Result<Measured> {
    stage.server.ask("reset")?;
    stage.server.ask("load")?;
    command.args(contender.arguments()).arg("--kubeconfig").arg(stage.kubeconfig);
    command.args(["--n", &stage.count.to_string(), "--settle", &options.settle.as_secs_f64().to_string()]);
    memory::make_ready(contender, stage.count);
    let begin = Ticks::now();
    let mut client = Talk::start(&mut command)?;
    let mut measured = Measured::default();
    let mut synced = client.hear_of("synced")?;
    synced["sync_seconds"] = (number(&synced, "sync_seconds")? * begin.own()).into();
    stage.note_load()?;
    let settled = client.hear_of("settled")?;
    measured.synced(&synced, &settled, stage.count)?;
    // A relist leaves nearly everything as it was, so that one look after it is one at the sync, too.
    if !phases.contains(&Phase::Relist) {
        read(stage, &mut client, &mut measured).context("after the sync")?;
    }
    if phases.contains(&Phase::Restart) {
        // It has nothing to begin from, whatever happened meanwhile.
        for key in ["first_read_seconds", "restart_window_seconds", "restart_gone_seconds"] {
            measured.add(key, number(&synced, "sync_seconds")?);
        }
    }
    if phases.contains(&Phase::Relist) {
        relist(stage, &mut client, (contender, &settled), &mut measured).context("relist")?;
    }
    if phases.contains(&Phase::Storm) {
        storm(stage, &mut client, contender, &mut measured).context("storm")?;
    }
    for phase in [Phase::Latency, Phase::Rush].into_iter().filter(|phase| phases.contains(phase)) {
        let (rate, holds, keys) = rate(stage.kind, phase);
        let hold = options.hold.mul_f64(holds);
        // What is as much as a client takes has all processors.
        let held = [stage.server.id(), client.id()];
        let _together =
            ((stage.kind, phase) == (Server::Replay, Phase::Latency)).then(|| Together::hold(&held));
        latency(stage, &mut client, (rate, hold, keys), &mut measured).context("latency")?;
    }
    client.kill()?;
    Ok(measured)
}

/// The rate at which latency is taken, for how long, and under which names.
fn rate(server: Server, phase: Phase) -> (f64, f64, [&'static str; 3]) {
    match (server, phase) {
        // It cannot take more with its disk and this few processors.
        (Server::Real, _) => (100.0, 1.0, ["p50_100", "p99_100", "in_time_100"]),
        (Server::Replay, Phase::Rush) => (5000.0, 2.5, ["p50_5k", "p99_5k", "in_time_5k"]),
        (Server::Replay, _) => (1000.0, 1.0, ["p50_1k", "p99_1k", "in_time_1k"]),
    }
}

/// How many storms are taken together for one figure, and how many events each has.
///
/// The first one finds objects as the list left them, and later ones as changes did; and Go's collector runs about once in a storm
/// of as many events as there are objects, and takes a quarter of the time. What takes long is given fewer: JSON in Go, and kube-rs.
fn storms(contender: Contender, count: u64) -> (u64, u64) {
    match contender {
        Contender::OursLazy => (3, count),
        Contender::Go => (2, count),
        Contender::KubeList => (1, count.div_ceil(2)),
        Contender::GoJson => (1, count.div_ceil(8)),
        _ => (1, count),
    }
}

impl<'a> Stage<'a> {
    pub(crate) fn new(server: &'a mut server::Server, count: u64) -> Self {
        Self { server: &mut server.talk, kubeconfig: &server.kubeconfig, count, kind: server.kind, busy: 0.0 }
    }

    /// Holds what the client has against what the server has.
    pub(crate) fn check(&mut self, client: &mut Talk) -> Result<Value> {
        let (truth, read) = (self.server.ask("truth")?, client.ask("read")?);
        for name in ["count", "identity", "address"] {
            if truth[name] != read[name] {
                bail!("{name} is {}, and should be {}", read[name], truth[name]);
            }
        }
        Ok(read)
    }

    fn note_load(&mut self) -> Result<()> {
        let load = self.server.ask("load")?;
        let busy = number(&load, "cpu_seconds")? / number(&load, "seconds")?.max(0.01);
        self.busy = self.busy.max(busy);
        Ok(())
    }
}

fn read(stage: &mut Stage<'_>, client: &mut Talk, measured: &mut Measured) -> Result<()> {
    let read = stage.check(client)?;
    measured.add("read_seconds", number(&read, "read_seconds")?);
    Ok(())
}

/// How many relists there are in a row: ours take so little time that chance has its part in each.
fn relists(contender: Contender) -> usize {
    match contender {
        Contender::Ours | Contender::OursCompact => 4,
        _ => 1,
    }
}

fn relist(
    stage: &mut Stage<'_>,
    client: &mut Talk,
    (contender, settled): (Contender, &Value),
    measured: &mut Measured,
) -> Result<()> {
    let (begin, mut took) = (Ticks::now(), Vec::new());
    for turn in 0..relists(contender) {
        stage.server.ask("watched")?;
        let before = number(&stage.server.ask("truth")?, "version")?;
        let changed = number(&stage.server.ask(&format!("change {CHANGED}"))?, "changed")?;
        stage.server.ask("forget")?;
        client.tell(&format!("newer {changed} {before}"))?;
        client.hear_of("ready")?;
        stage.server.ask("expire")?;
        let done = client.hear_of("done")?;
        let asked = number(&stage.server.ask("asked")?, "at")?;
        took.push((number(&done, "done_at")? - asked) / 1e9);
        measured.add("relist_cpu_seconds", number(&done, "cpu_seconds")?);
        if turn == 0 {
            measured.add("relist_changed", changed);
            // Later ones begin from what the allocator kept of the first.
            measured.add("relist_peak", number(&done, "peak_rss")? / number(settled, "rss")?);
        }
    }
    // One of ours is too short for a share of its own.
    let own = begin.own();
    took.into_iter().for_each(|seconds| measured.add("relist_seconds", seconds * own));
    read(stage, client, measured)?;
    // What else it was told of came meanwhile.
    measured.add("relist_events", number(&client.ask("seen")?, "events")?);
    Ok(())
}

fn storm(
    stage: &mut Stage<'_>,
    client: &mut Talk,
    contender: Contender,
    measured: &mut Measured,
) -> Result<()> {
    // An object is changed once in a storm: nobody can fold two changes into one.
    let (storms, events) = storms(contender, stage.count);
    let (mut seconds, mut used) = (0.0, 0.0);
    client.ask("index")?;
    stage.server.ask("watched")?;
    for _ in 0..storms {
        client.tell(&format!("any {events}"))?;
        client.hear_of("ready")?;
        stage.server.ask("load")?;
        let begin = Ticks::now();
        stage.server.tell(&format!("storm {events}"))?;
        let done = client.hear_of("done")?;
        stage.server.hear()?;
        stage.note_load()?;
        seconds += (number(&done, "done_at")? - number(&done, "first_at")?) / 1e9 * begin.own();
        used += number(&done, "cpu_seconds")?;
    }
    measured.add("storm_rate", (storms * events) as f64 / seconds);
    measured.add("storm_per_core", (storms * events) as f64 / used.max(0.01));
    stage.check(client)?;
    Ok(())
}

fn latency(
    stage: &mut Stage<'_>,
    client: &mut Talk,
    (rate, hold, [p50, p99, in_time]): (f64, Duration, [&'static str; 3]),
    measured: &mut Measured,
) -> Result<()> {
    let events = (rate * hold.as_secs_f64()).ceil();
    let attempt = || {
        stage.server.ask("watched")?;
        client.tell(&format!("timed {events}"))?;
        client.hear_of("ready")?;
        stage.server.tell(&format!("storm {events} {rate}"))?;
        let done = client.hear_of("done")?;
        stage.server.hear()?;
        Ok(done)
    };
    // Who falls behind does so in the calm, too.
    let is_behind = |done: &Value| number(done, "in_time").is_ok_and(|share| share < IN_TIME);
    let (done, is_good) = calmest(attempt, is_behind)?;
    // What others did is no figure of this client.
    if !is_good {
        return Ok(());
    }
    for (key, name) in [(p50, "p50"), (p99, "p99")] {
        numbers(&done, name)?.into_iter().for_each(|window| measured.add(key, window));
    }
    measured.add(in_time, number(&done, "in_time")?);
    Ok(())
}
