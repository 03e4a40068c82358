//! Measures servers with 100 watches: the devserver and kube-apiserver.

use std::process::Command;

use anyhow::{Context, Result};
use kube_informer_bench_client::child::{ChildProcess, number, write_kubeconfig};

use crate::compare::client::Program;
use crate::compare::options::{Paths, Settings};
use crate::compare::samples::Samples;
use crate::compare::server::start_cluster;

/// The number of events, smaller for kube-apiserver, which takes ten times as long.
const EVENTS: u64 = 3_000;
const EVENTS_OF_KUBE_APISERVER: u64 = 500;

/// Measures the devserver or, if the program is the cluster, kube-apiserver.
pub(crate) fn measure(program: Program, paths: &Paths, settings: &Settings) -> Result<Samples> {
    let own = || paths.command(Program::KubeInformer).context("no own executable");
    let (server, kubeconfig, events) = match program {
        Program::Cluster => {
            let (cluster, kubeconfig) = start_cluster(paths)?;
            (cluster, kubeconfig, EVENTS_OF_KUBE_APISERVER)
        }
        Program::KubeInformer | Program::KubeRs | Program::ClientGo => {
            let mut server = ChildProcess::start(own()?.arg("devserver"))?;
            let ready = server.receive().context("the devserver")?;
            (server, write_kubeconfig(&paths.work_dir, "devserver", &ready["url"])?, EVENTS)
        }
    };
    let events = events.min(settings.operations / 100);
    let mut command: Command = own()?;
    command.args(["watchers", "--events", &events.to_string(), "--pid", &server.id().to_string()]);
    let response =
        ChildProcess::start(command.arg("--kubeconfig").arg(kubeconfig))?.receive().context("watchers")?;
    let mut samples = Samples::default();
    samples.add("deliveries_per_core", number(&response, "per_core")?);
    samples.add("deliveries", number(&response, "rate")?);
    Ok(samples)
}
