//! The server that clients are measured against: the replay server or a kube-apiserver.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use kube_informer_bench_client::child::{ChildProcess, write_kubeconfig};
use kube_informer_bench_client::options::Kind;
use serde_json::Value;

use crate::compare::client::Program;
use crate::compare::options::Paths;

/// A running server with objects.
#[derive(Debug)]
pub(crate) struct Server {
    /// The process that executes commands.
    process: ChildProcess,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) objects: u64,
    /// The checksum of the objects: runs with the same checksum have the same objects.
    pub(crate) checksum: String,
    pub(crate) is_kube_apiserver: bool,
    /// Dropped after the process that sends requests to it.
    _cluster: Option<ChildProcess>,
}

/// The objects of a replay server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Contents {
    pub(crate) kind: Kind,
    pub(crate) objects: u64,
    /// Whether a client requests JSON, which takes most of the server's memory.
    pub(crate) has_json: bool,
}

impl Server {
    /// Starts a replay server.
    pub(crate) fn replay(paths: &Paths, contents: Contents) -> Result<Self> {
        let Contents { kind, objects, has_json } = contents;
        let kind = match kind {
            Kind::Pods => "pods",
            Kind::Widgets => "widgets",
        };
        println!("encoding {objects} {kind}");
        let mut command = paths.command(Program::KubeInformer).context("no own executable")?;
        command.args(["replay", "--objects", &objects.to_string(), "--kind", kind]);
        match (has_json, kind) {
            (true, "pods") => {}
            (true, _) => _ = command.args(["--only", "json"]),
            (false, _) => _ = command.args(["--only", "protobuf"]),
        }
        let mut process = ChildProcess::start(&mut command)?;
        let ready = process.receive().context("the replay server")?;
        let kubeconfig = write_kubeconfig(&paths.work_dir, &format!("replay-{kind}"), &ready["url"])?;
        let checksum = text(&ready, "checksum");
        Ok(Self { process, kubeconfig, objects, checksum, is_kube_apiserver: false, _cluster: None })
    }

    /// Starts a kube-apiserver and creates pods.
    pub(crate) fn kube_apiserver(paths: &Paths, objects: u64) -> Result<Self> {
        let (cluster, kubeconfig) = start_cluster(paths)?;
        println!("creating {objects} pods");
        let mut command = paths.command(Program::KubeInformer).context("no own executable")?;
        command.args(["load", "--objects", &objects.to_string(), "--kubeconfig"]).arg(&kubeconfig);
        let mut process = ChildProcess::start(&mut command)?;
        let checksum = text(&process.receive().context("creating pods")?, "checksum");
        Ok(Self { process, kubeconfig, objects, checksum, is_kube_apiserver: true, _cluster: Some(cluster) })
    }

    pub(crate) fn request(&mut self, command: &str) -> Result<Value> {
        self.process.request(command)
    }

    pub(crate) fn send(&mut self, command: &str) -> Result<()> {
        self.process.send(command)
    }

    pub(crate) fn receive(&mut self) -> Result<Value> {
        self.process.receive()
    }

    /// Compares the cache of a client with the server, and returns the response of the client.
    pub(crate) fn check_cache(&mut self, client: &mut ChildProcess) -> Result<Value> {
        let (expected, found) = (self.request("expected")?, client.request("read")?);
        for name in ["count", "identity", "nested"] {
            if expected[name] != found[name] {
                bail!("the cache differs from the server: {name} is {}, not {}", found[name], expected[name]);
            }
        }
        Ok(found)
    }
}

/// Starts kube-apiserver and etcd, and returns the kubeconfig.
pub(crate) fn start_cluster(paths: &Paths) -> Result<(ChildProcess, PathBuf)> {
    println!("starting kube-apiserver and etcd");
    let mut command =
        paths.command(Program::Cluster).context("kube-apiserver is not available: --cluster is missing")?;
    let mut cluster = ChildProcess::start(&mut command)?;
    let ready = cluster.receive().context("the cluster")?;
    let kubeconfig = ready["kubeconfig"].as_str().context("the cluster reports no kubeconfig")?;
    let kubeconfig = Path::new(kubeconfig).to_owned();
    Ok((cluster, kubeconfig))
}

fn text(response: &Value, name: &str) -> String {
    response[name].as_str().unwrap_or_default().to_owned()
}
