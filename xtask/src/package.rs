//! Builds the packages of all published crates.

use anyhow::Result;
use clap::Args;

use crate::metadata::Workspace;
use crate::process;

/// The arguments of `package`.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Compile each package as it would be published, which takes some minutes.
    #[arg(long)]
    verify: bool,
}

/// Runs `cargo package`, which orders the crates by their dependencies.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<bool> {
    let mut command = process::cargo(["package", "--locked", "--allow-dirty"]);
    if !arguments.verify {
        command.arg("--no-verify");
    }
    for package in &workspace.published {
        command.args(["--package", package]);
    }
    process::run(&mut command)
}
