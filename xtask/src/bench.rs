//! Builds and runs the benchmark programs of bench/.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::cluster;
use crate::go::{self, Missing};
use crate::metadata::Workspace;
use crate::process;
use crate::programs;

/// The arguments of `bench` and `soak`.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Build without optimization, to test the programs and not to measure.
    #[arg(long)]
    debug: bool,
    /// The options of the program.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) program: Vec<String>,
}

impl Arguments {
    fn is_help(&self) -> bool {
        self.program.iter().any(|argument| argument == "--help" || argument == "-h")
    }

    /// Returns true if a kube-apiserver may be needed.
    fn needs_cluster(&self) -> bool {
        let takes_value = |option: &str| !["--quick", "--smoke", "--real"].contains(&option);
        let mut names_workload = false;
        let mut is_value = false;
        for argument in &self.program {
            let is_option = argument.starts_with('-');
            names_workload |= !is_option && !is_value;
            is_value = is_option && takes_value(argument);
        }
        let names = |name: &str| self.program.iter().any(|argument| argument == name);
        !self.is_help() && (names("--real") || names("watchers") || !names_workload)
    }
}

/// Compares the clients.
pub(crate) fn compare(workspace: &Workspace, arguments: &Arguments) -> Result<bool> {
    let mut command = Command::new(build(workspace, "kube-informer-bench", arguments.debug)?);
    command.arg("compare").args(&arguments.program).arg("--work-dir").arg(work_dir(workspace));
    if arguments.is_help() {
        return process::run(&mut command);
    }
    let peer = "bench/peers/kube-rs/Cargo.toml";
    command.arg("--kube-rs").arg(build_peer(workspace, peer, "kube-rs-peer", arguments.debug)?);
    if let Some(program) = build_client_go(workspace)? {
        command.arg("--client-go").arg(program);
        if arguments.needs_cluster() {
            command.arg("--cluster").arg(cluster::program(workspace, None)?);
        }
    }
    process::run(&mut command)
}

/// Runs the load test.
pub(crate) fn soak(workspace: &Workspace, arguments: &Arguments) -> Result<bool> {
    let mut command = Command::new(build(workspace, "kube-informer-soak", arguments.debug)?);
    command.arg("run").args(&arguments.program).arg("--work-dir").arg(work_dir(workspace));
    process::run(&mut command)
}

/// Runs both programs with a minimal load, without kube-rs, which takes too long to build.
pub(crate) fn smoke_test(workspace: &Workspace) -> Result<bool> {
    let mut command = Command::new(build(workspace, "kube-informer-bench", true)?);
    command.args(["compare", "--smoke", "cold-sync-json", "cold-sync", "relist", "updates", "latency"]);
    command.args(["restart", "custom-resources", "slow-handler", "work-queue", "controller", "--work-dir"]);
    command.arg(work_dir(workspace));
    if let Some(program) = build_client_go(workspace)? {
        command.arg("--client-go").arg(program);
    }
    let mut soak = Command::new(build(workspace, "kube-informer-soak", true)?);
    soak.args(["run", "--minutes", "0.13", "--informers", "6", "--objects", "300", "--rate", "200"]);
    soak.args(["--faults", "1", "--work-dir"]).arg(work_dir(workspace));
    Ok(process::run(&mut command)? && process::run(&mut soak)?)
}

fn work_dir(workspace: &Workspace) -> PathBuf {
    workspace.target.join("bench")
}

/// Builds a program of this workspace.
fn build(workspace: &Workspace, package: &str, debug: bool) -> Result<PathBuf> {
    if debug {
        return programs::build(workspace, package)?.with_context(|| format!("{package} did not build"));
    }
    build_command(workspace, process::cargo(["build", "--package", package]), package, "dist")
}

/// Builds a program with its own workspace.
fn build_peer(workspace: &Workspace, manifest: &str, name: &str, debug: bool) -> Result<PathBuf> {
    let profile = if debug { "dev" } else { "release" };
    build_command(workspace, process::cargo(["build", "--manifest-path", manifest]), name, profile)
}

fn build_command(workspace: &Workspace, mut command: Command, name: &str, profile: &str) -> Result<PathBuf> {
    // One target directory, so that common dependencies are built once.
    command.arg("--target-dir").arg(&workspace.target).args(["--profile", profile]);
    println!("{}", process::line(&command));
    if !process::run(&mut command)? {
        bail!("{name} did not build");
    }
    let directory = if profile == "dev" { "debug" } else { profile };
    Ok(process::executable(&workspace.target.join(directory), name))
}

/// Builds the client of client-go; `None` without Go, except in CI.
fn build_client_go(workspace: &Workspace) -> Result<Option<PathBuf>> {
    let go = match go::find_or_skip("client-go is skipped: `go` is not in the PATH") {
        Ok(go) => go,
        Err(Missing::Fail(reason)) => bail!("{reason}"),
        Err(Missing::Skip(_)) => return Ok(None),
    };
    let built = go::build_into(&go, "bench/peers/client-go", work_dir(workspace))?;
    let directory = built.context("client-go did not build")?;
    Ok(Some(process::executable(&directory, "client-go")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_built_only_if_it_may_be_used() {
        let needs = |line: &str| {
            let program = line.split_whitespace().map(str::to_owned).collect();
            Arguments { debug: false, program }.needs_cluster()
        };
        for line in ["", "--quick", "--quick --json a.json", "relist watchers", "cold-sync --real"] {
            assert!(needs(line), "{line}");
        }
        assert!(!needs("relist --quick") && !needs("--objects 10k relist") && !needs("--help"));
    }
}
