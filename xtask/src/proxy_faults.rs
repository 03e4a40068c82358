//! Runs network faults between informers and a kube-apiserver.

use anyhow::Result;

use crate::cluster;
use crate::kubernetes;
use crate::metadata::Workspace;
use crate::process;

/// Builds kube-apiserver, in the version of `--kubernetes`, runs the program with its own arguments, and returns true if it found no
/// difference.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<bool> {
    let mut arguments = arguments.to_vec();
    let version = kubernetes::take_version(&mut arguments)?;
    let cluster = cluster::program(workspace, version)?;
    let mut command =
        process::cargo(["run", "--quiet", "--package", "kube-conformance", "--bin", "proxy-faults"]);
    command.arg("--").args(arguments);
    command.env("CLUSTER_PROGRAM", cluster).env("CLUSTER_FOLDER", cluster::directory(workspace));
    process::run(&mut command)
}
