//! Builds programs of the workspace with the features of its tests.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::metadata::Workspace;
use crate::process;

/// The smallest example. Cargo enables the features of dev-dependencies only if it builds a target that may use them.
pub(crate) const EXAMPLE: &str = "workers";

/// Builds a program, and returns its path; `None` if it does not build.
///
/// The libraries are those that the tests use. `cargo build --package` would build most of them again, with other features.
pub(crate) fn build(workspace: &Workspace, name: &str) -> Result<Option<PathBuf>> {
    let mut build = command(name);
    println!("{}", process::line(&build));
    let program = process::executable(&workspace.target.join("debug"), name);
    Ok(process::run(&mut build)?.then_some(program))
}

fn command(name: &str) -> Command {
    process::cargo(["build", "--workspace", "--bin", name, "--example", EXAMPLE])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_have_the_features_of_tests() {
        let expected = "cargo build --workspace --bin informer --example workers";
        assert_eq!(process::line(&command("informer")), expected);
    }
}
