//! Measures a client that is restarted with a saved cache.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use kube_informer_bench_client::child::{ChildProcess, number};
use serde_json::Value;

use crate::compare::client::Client;
use crate::compare::samples::Samples;
use crate::compare::server::Server;
use crate::compare::session::CHANGED;

/// Starts the client three times: to save a cache, after changes that the server can still send, and after the server has
/// forgotten the version of the cache.
pub(crate) fn measure(
    server: &mut Server,
    client: &Client,
    command: &dyn Fn() -> Command,
    directory: &Path,
) -> Result<Samples> {
    remove(directory)?;
    server.request("reset")?;
    let run = |server: &mut Server| -> Result<Value> {
        let mut command = command();
        command.args(client.arguments()).arg("--kubeconfig").arg(&server.kubeconfig);
        command.args(["--objects", &server.objects.to_string(), "--save-to"]).arg(directory);
        let mut process = ChildProcess::start(&mut command)?;
        let synced = process.receive_event("synced")?;
        process.receive_event("settled")?;
        server.check_cache(&mut process)?;
        // The client saves the rest of its cache when its standard input is closed, by dropping the process.
        Ok(synced)
    };
    let change = format!("change {CHANGED}");
    let mut samples = Samples::default();
    run(server).context("first start")?;
    server.request(&change)?;
    let synced = run(server).context("restart")?;
    samples.add("restart_seconds", number(&synced, "sync_seconds")?);
    samples.add("first_read_seconds", number(&synced, "first_read_seconds")?);
    server.request(&change)?;
    server.request("compact")?;
    let synced = run(server).context("restart with an expired version")?;
    samples.add("restart_expired_seconds", number(&synced, "sync_seconds")?);
    remove(directory)?;
    Ok(samples)
}

fn remove(directory: &Path) -> Result<()> {
    if directory.exists() {
        fs::remove_dir_all(directory).with_context(|| format!("cannot remove {}", directory.display()))?;
    }
    Ok(())
}
