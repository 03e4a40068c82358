//! Builds the simulation and runs seeds of it.

use std::process::Command;

use anyhow::Result;

use crate::metadata::Workspace;
use crate::process;
use crate::report::StepResult;

/// The number of seeds from which an optimized build saves time.
const OPTIMIZED_FROM: u64 = 3000;

/// Runs the simulation with its own arguments, and returns true if all seeds passed.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<bool> {
    let build = Build::of(arguments);
    Ok(process::run(&mut build.command())? && process::run(build.program(workspace).args(arguments))?)
}

/// Runs the default seeds.
pub(crate) fn step(workspace: &Workspace) -> Result<StepResult> {
    let build = Build::Plain;
    println!("{}", process::line(&build.command()));
    if !process::run(&mut build.command())? {
        return Ok(StepResult::not_built());
    }
    Ok(StepResult::passed_if(process::run(&mut build.program(workspace))?, ""))
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

    fn command(self) -> Command {
        match self {
            // The same features as in the other steps, so that dependencies are not built again.
            Self::Plain => {
                process::cargo(["test", "--quiet", "--workspace", "--test", "simulation", "--no-run"])
            }
            Self::Optimized => process::cargo([
                "build",
                "--release",
                "--package",
                "kube-informer-simulation",
                "--bin",
                "simulate",
            ]),
        }
    }

    fn program(self, workspace: &Workspace) -> Command {
        let profile = match self {
            Self::Plain => "debug",
            Self::Optimized => "release",
        };
        Command::new(workspace.target.join(profile).join(format!("simulate{}", std::env::consts::EXE_SUFFIX)))
    }
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
