//! Generates an operator with `informer new-operator`, and builds, tests and runs it.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::metadata::Workspace;
use crate::process::{self, Tested};
use crate::programs;
use crate::report::{StepResult, Verdict};

/// Generates a project into a new temporary folder, with path dependencies on this workspace, and runs its tests and its example.
pub(crate) fn run(workspace: &Workspace, root: &Path) -> Result<StepResult> {
    let folder = std::env::temp_dir().join(format!("kube-informer-operator-{}", std::process::id()));
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    let result = generate_and_test(workspace, root, &folder);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    result
}

fn generate_and_test(workspace: &Workspace, root: &Path, folder: &Path) -> Result<StepResult> {
    let Some(program) = programs::build(workspace, "informer")? else { return Ok(StepResult::not_built()) };
    let mut generate = Command::new(program);
    generate.args(["new-operator", "website-operator", "--source"]).arg(root).arg("--dir").arg(folder);
    if !process::run(&mut generate)? {
        return Ok(StepResult::failed("the project is not generated"));
    }
    // The same versions as here, so that dependencies are neither downloaded nor built again.
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).context("cannot copy Cargo.lock")?;
    let mut tests = cargo(workspace, root, folder, "test");
    println!("{}", process::line(&tests));
    let Tested { succeeded, counter } = process::run_tests(&mut tests)?;
    let mut counts = counter.counts;
    counts.failed += counter.crashed();
    if !succeeded {
        return Ok(StepResult { verdict: Verdict::Failed("its tests".to_owned()), counts: Some(counts) });
    }
    let mut clippy = cargo(workspace, root, folder, "clippy");
    clippy.args(["--all-targets", "--", "-D", "warnings"]);
    let mut format = process::cargo(["fmt", "--check"]);
    format.current_dir(folder);
    let mut example = cargo(workspace, root, folder, "run");
    example.args(["--example", "local"]);
    for (command, failure) in
        [(&mut clippy, "clippy"), (&mut format, "its format"), (&mut example, "its example")]
    {
        println!("{}", process::line(command));
        if !process::run(command)? {
            let verdict = Verdict::Failed(failure.to_owned());
            return Ok(StepResult { verdict, counts: Some(counts) });
        }
    }
    Ok(StepResult { verdict: Verdict::Passed, counts: Some(counts) })
}

/// Returns a cargo command in the project, with the target directory and the profile of this workspace.
fn cargo(workspace: &Workspace, root: &Path, folder: &Path, command: &str) -> Command {
    let mut cargo = process::cargo([command]);
    cargo.current_dir(folder).arg("--target-dir").arg(&workspace.target);
    // The profiles of the manifest, so that dependencies are not built again.
    cargo.arg("--config").arg(root.join("Cargo.toml"));
    cargo
}
