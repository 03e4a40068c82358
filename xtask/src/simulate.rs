//! Builds the simulation and runs seeds of it.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::metadata::Workspace;
use crate::process;
use crate::programs;
use crate::report::StepResult;

const PROGRAM: &str = "simulate";

/// The number of seeds from which an optimized build saves time.
const OPTIMIZED_FROM: u64 = 3000;

/// Runs the simulation with its own arguments, and returns true if all seeds passed.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<bool> {
    let program = match Build::of(arguments) {
        Build::Plain => programs::build(workspace, PROGRAM)?,
        Build::Optimized => optimized(workspace)?,
    };
    let Some(program) = program else { return Ok(false) };
    process::run(Command::new(program).args(arguments))
}

/// Runs the default seeds.
pub(crate) fn step(workspace: &Workspace) -> Result<StepResult> {
    let Some(program) = programs::build(workspace, PROGRAM)? else { return Ok(StepResult::not_built()) };
    Ok(StepResult::passed_if(process::run(&mut Command::new(program))?, ""))
}

/// The profile of the build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Build {
    Plain,
    Optimized,
}

impl Build {
    fn of(arguments: &[String]) -> Self {
        let seeds = arguments.iter().skip_while(|argument| *argument != "--seeds").nth(1);
        let seeds = seeds.and_then(|count| count.parse::<u64>().ok()).unwrap_or_default();
        if seeds >= OPTIMIZED_FROM { Self::Optimized } else { Self::Plain }
    }
}

/// Builds the simulation with optimization, and returns its path; `None` if it does not build.
fn optimized(workspace: &Workspace) -> Result<Option<PathBuf>> {
    let mut build =
        process::cargo(["build", "--release", "--package", "kube-informer-simulation", "--bin", PROGRAM]);
    let program = process::executable(&workspace.target.join("release"), PROGRAM);
    Ok(process::run(&mut build)?.then_some(program))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_seeds_use_an_optimized_build() {
        let build = |line: &str| Build::of(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        for line in ["", "--seeds 2999", "--seeds", "--seeds many", "--from 5000"] {
            assert_eq!(build(line), Build::Plain, "{line}");
        }
        assert_eq!(build("--from 1 --seeds 100000"), Build::Optimized);
    }
}
