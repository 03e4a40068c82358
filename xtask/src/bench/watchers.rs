//! A server with a hundred watchers: the devserver, or kube-apiserver, each in a process of its own.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::bench::contender::Contender;
use crate::bench::measured::Measured;
use crate::bench::options::{Options, Profile};
use crate::bench::server;
use crate::bench::stolen::Ticks;
use crate::bench::talk::{Talk, numbers};
use crate::cluster;
use crate::metadata::Workspace;

/// Measures one of the two; `ours` makes a command of our program.
pub(crate) fn measure(
    workspace: &Workspace,
    contender: Contender,
    ours: impl Fn() -> Command,
    options: &Options,
) -> Result<Measured> {
    let events = match (options.profile, contender) {
        (Profile::Debug, _) => 100,
        // It takes ten times as long.
        (Profile::Release, Contender::ApiServer) => 600,
        (Profile::Release, _) => 3_000,
    };
    let (server, kubeconfig) = match contender {
        Contender::ApiServer => {
            let mut cluster = Talk::start(&mut cluster::command(workspace)?)?;
            let ready = cluster.hear().context("the cluster")?;
            let kubeconfig = ready["kubeconfig"].as_str().context("a cluster has a kubeconfig")?;
            (cluster, Path::new(kubeconfig).to_owned())
        }
        _ => {
            let mut server = Talk::start(ours().arg("devserver"))?;
            let ready = server.hear().context("the devserver")?;
            let kubeconfig = server::kubeconfig(workspace, &ready, "devserver")?;
            (server, kubeconfig)
        }
    };
    let mut command = ours();
    command.args(["watchers", "--kubeconfig"]).arg(kubeconfig);
    command.args(["--n", &events.to_string(), "--pid", &server.id().to_string()]);
    let begin = Ticks::now();
    let answer = Talk::start(&mut command)?.hear().context("the watchers")?;
    let own = begin.own();
    let mut measured = Measured::default();
    numbers(&answer, "per_core")?.into_iter().for_each(|turn| measured.add("deliveries_per_core", turn));
    numbers(&answer, "rate")?.into_iter().for_each(|turn| measured.add("deliveries", turn / own));
    Ok(measured)
}
