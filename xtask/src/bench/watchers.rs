//! Servers with a hundred watchers: the devserver and kube-apiserver, each in a process of its own.

use std::path::{Path, PathBuf};
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

/// Measures these, in turns; `ours` makes a command of our program.
pub(crate) fn measure(
    workspace: &Workspace,
    who: &[Contender],
    ours: impl Fn() -> Command,
    options: &Options,
) -> Result<Vec<(Contender, Measured)>> {
    let mut command = ours();
    command.arg("watchers");
    // Each ends when it is dropped.
    let mut servers = Vec::new();
    for contender in who {
        let (server, kubeconfig) = match contender {
            Contender::ApiServer => kube_apiserver(workspace)?,
            _ => devserver(workspace, ours())?,
        };
        let events = match (options.profile, contender) {
            (Profile::Debug, _) => 100,
            // It takes ten times as long.
            (Profile::Release, Contender::ApiServer) => 500,
            (Profile::Release, _) => 3_000,
        };
        command.arg("--kubeconfig").arg(kubeconfig);
        command.args(["--n", &events.to_string(), "--pid", &server.id().to_string()]);
        servers.push(server);
    }
    let begin = Ticks::now();
    let answer = Talk::start(&mut command)?.hear().context("the watchers")?;
    let own = begin.own();
    let mut all = Vec::new();
    for (at, contender) in who.iter().enumerate() {
        let (mut measured, said) = (Measured::default(), &answer["servers"][at]);
        numbers(said, "per_core")?.into_iter().for_each(|turn| measured.add("deliveries_per_core", turn));
        numbers(said, "rate")?.into_iter().for_each(|turn| measured.add("deliveries", turn / own));
        all.push((*contender, measured));
    }
    Ok(all)
}

fn kube_apiserver(workspace: &Workspace) -> Result<(Talk, PathBuf)> {
    let mut cluster = Talk::start(&mut cluster::command(workspace)?)?;
    let ready = cluster.hear().context("the cluster")?;
    let kubeconfig = ready["kubeconfig"].as_str().context("a cluster has a kubeconfig")?;
    let kubeconfig = Path::new(kubeconfig).to_owned();
    Ok((cluster, kubeconfig))
}

fn devserver(workspace: &Workspace, mut command: Command) -> Result<(Talk, PathBuf)> {
    let mut server = Talk::start(command.arg("devserver"))?;
    let ready = server.hear().context("the devserver")?;
    let kubeconfig = server::kubeconfig(workspace, &ready, "devserver")?;
    Ok((server, kubeconfig))
}
