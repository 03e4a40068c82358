//! Measures a process with informers of 100 kinds.

use anyhow::{Context, Result};
use kube_informer_bench_client::child::{ChildProcess, number, write_kubeconfig};

use crate::compare::client::Program;
use crate::compare::options::{Paths, Settings};
use crate::compare::samples::Samples;

const KINDS: u64 = 100;
const OBJECTS: u64 = 20;

/// Measures a client against a devserver with these kinds.
pub(crate) fn measure(program: Program, paths: &Paths, settings: &Settings) -> Result<Samples> {
    let kinds = KINDS.min(settings.operations / 1000);
    let mut server = paths.command(Program::KubeInformer).context("no own executable")?;
    server.args(["devserver", "--kinds", &kinds.to_string(), "--objects", &OBJECTS.to_string()]);
    let mut server = ChildProcess::start(&mut server)?;
    let ready = server.receive().context("the devserver")?;
    let kubeconfig = write_kubeconfig(&paths.work_dir, "many-kinds", &ready["url"])?;
    let mut command = paths.command(program).context("unavailable clients are skipped")?;
    command.arg("many-kinds").arg("--kubeconfig").arg(kubeconfig);
    command.args(["--kinds", &kinds.to_string(), "--objects", &OBJECTS.to_string()]);
    // Memory that a garbage collector returns late is returned by then.
    let idle = settings.hold.as_secs().max(1) * 2;
    let mut client = ChildProcess::start(command.args(["--idle", &idle.to_string()]))?;
    let synced = client.receive_event("synced")?;
    let settled = client.receive_event("idle")?;
    client.kill()?;
    let mut samples = Samples::default();
    samples.add("kinds_sync_seconds", number(&synced, "sync_seconds")?);
    samples.add("kinds_sync_cpu_seconds", number(&synced, "cpu_seconds")?);
    samples.add("kinds_idle", number(&settled, "cpu_seconds")? / idle as f64);
    samples.add("kinds_threads", number(&settled, "threads")?);
    let memory = number(&settled, "rss")? - number(&synced, "base_rss")?;
    samples.add("kinds_memory", memory.max(0.0) / kinds as f64);
    Ok(samples)
}
