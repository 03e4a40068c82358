//! Runs the programs of the conformance tests against a kube-apiserver: network faults, and the comparison with the devserver.

use std::process::Command;

use anyhow::Result;

use crate::cluster;
use crate::kubernetes;
use crate::metadata::Workspace;
use crate::process;
use crate::programs;

/// Builds kube-apiserver, in the version of `--kubernetes`, runs a program with its own arguments, and returns true if it found no
/// difference.
pub(crate) fn run(workspace: &Workspace, program: &str, arguments: &[String]) -> Result<bool> {
    let mut arguments = arguments.to_vec();
    let version = kubernetes::take_version(&mut arguments)?;
    let cluster = cluster::program(workspace, version)?;
    let Some(program) = programs::build(workspace, program)? else { return Ok(false) };
    let mut command = Command::new(program);
    command.args(arguments);
    command.env("CLUSTER_PROGRAM", cluster).env("CLUSTER_FOLDER", cluster::directory(workspace));
    process::run(&mut command)
}
