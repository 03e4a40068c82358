//! Runs network faults between informers and a kube-apiserver.

use anyhow::Result;

use crate::cluster;
use crate::metadata::Workspace;
use crate::process;

/// Builds kube-apiserver, runs the program with its own arguments, and returns true if it found no difference.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<bool> {
    let cluster = cluster::program(workspace)?;
    let mut command =
        process::cargo(["run", "--quiet", "--package", "kube-conformance", "--bin", "proxy-faults"]);
    command.arg("--").args(arguments);
    command.env("CLUSTER_PROGRAM", cluster).env("CLUSTER_FOLDER", cluster::directory(workspace));
    process::run(&mut command)
}
