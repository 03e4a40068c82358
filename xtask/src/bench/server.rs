//! The server that clients are measured against: the replay server, or a real one.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::bench::contender::{Corpus, Program};
use crate::bench::options;
use crate::bench::programs::Programs;
use crate::bench::talk::Talk;
use crate::cluster;
use crate::metadata::Workspace;

/// A running server with objects in it.
#[derive(Debug)]
pub(crate) struct Server {
    /// Who takes orders.
    pub(crate) talk: Talk,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) checksum: String,
    pub(crate) about: &'static str,
    pub(crate) kind: options::Server,
    /// Ends after the one who gives it orders.
    _cluster: Option<Talk>,
}

/// What a server is to have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) corpus: Corpus,
    pub(crate) count: u64,
    /// Whether somebody asks for JSON, which takes more memory than all else.
    pub(crate) is_json: bool,
    pub(crate) is_protobuf: bool,
}

/// Starts one.
pub(crate) fn start(
    workspace: &Workspace,
    kind: options::Server,
    wanted: Wanted,
    programs: &Programs,
) -> Result<Server> {
    match kind {
        options::Server::Replay => replay(workspace, wanted, programs),
        options::Server::Real => real(workspace, wanted.count, programs),
    }
}

fn replay(workspace: &Workspace, wanted: Wanted, programs: &Programs) -> Result<Server> {
    let Wanted { corpus, count, is_json, is_protobuf } = wanted;
    println!("encoding {count} {}", corpus.name());
    let mut command = programs.command(Program::Ours).context("our own program is always built")?;
    command.args(["replay", "--n", &count.to_string(), "--kind", corpus.name()]);
    match (is_json, is_protobuf) {
        (true, true) => {}
        (true, false) => _ = command.args(["--only", "json"]),
        (false, _) => _ = command.args(["--only", "protobuf"]),
    }
    let mut talk = Talk::start(&mut command)?;
    let ready = talk.hear().context("the replay server")?;
    let kubeconfig = kubeconfig(workspace, &ready, &format!("replay-{}", corpus.name()))?;
    Ok(Server {
        talk,
        kubeconfig,
        checksum: checksum(&ready),
        about: "replay server",
        kind: options::Server::Replay,
        _cluster: None,
    })
}

fn real(workspace: &Workspace, count: u64, programs: &Programs) -> Result<Server> {
    println!("starting kube-apiserver and etcd");
    let mut cluster = Talk::start(&mut cluster::command(workspace)?)?;
    let ready = cluster.hear().context("the cluster")?;
    let kubeconfig = PathBuf::from(ready["kubeconfig"].as_str().context("a cluster has a kubeconfig")?);
    println!("creating {count} objects");
    let mut command = programs.command(Program::Ours).context("our own program is always built")?;
    command.args(["load", "--kubeconfig"]).arg(&kubeconfig).args(["--n", &count.to_string()]);
    let mut talk = Talk::start(&mut command)?;
    let loaded = talk.hear().context("loading the server")?;
    Ok(Server {
        talk,
        kubeconfig,
        checksum: checksum(&loaded),
        about: "kube-apiserver",
        kind: options::Server::Real,
        _cluster: Some(cluster),
    })
}

fn checksum(ready: &Value) -> String {
    ready["checksum"].as_str().unwrap_or_default().to_owned()
}

/// Writes how clients reach a server of this name that needs no secrets.
pub(crate) fn kubeconfig(workspace: &Workspace, ready: &Value, name: &str) -> Result<PathBuf> {
    let folder = workspace.target.join("bench");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let file = folder.join(format!("{name}.kubeconfig"));
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": name, "cluster": { "server": ready["url"] } }],
        "users": [{ "name": "bench", "user": {} }],
        "contexts": [{ "name": name, "context": { "cluster": name, "user": "bench" } }],
        "current-context": name,
    });
    fs::write(&file, config.to_string()).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(file)
}
