//! Builds the simulation and runs seeds of it.

use std::process::Command;

use anyhow::Result;

use crate::metadata::Workspace;
use crate::outcome::{StepResult, Verdict};
use crate::process;

/// From so many seeds on it takes less time to build with optimisation than to do without.
const MANY: u64 = 3000;

/// Runs with these arguments, which are the program's own, and says whether all went well.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<bool> {
    let build = Build::of(arguments);
    Ok(process::run(&mut build.command())? && process::run(build.program(workspace).args(arguments))?)
}

/// Runs the usual seeds.
pub(crate) fn step(workspace: &Workspace) -> Result<StepResult> {
    let build = Build::Plain;
    println!("{}", process::line(&build.command()));
    if !process::run(&mut build.command())? {
        return Ok(StepResult { verdict: Verdict::NotBuilt, tally: None });
    }
    Ok(if process::run(&mut build.program(workspace))? {
        StepResult::passed()
    } else {
        StepResult::failed("")
    })
}

/// How the program is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Build {
    Plain,
    Optimised,
}

impl Build {
    fn of(arguments: &[String]) -> Self {
        let seeds = arguments.iter().skip_while(|argument| *argument != "--seeds").nth(1);
        let seeds = seeds.and_then(|count| count.parse::<u64>().ok()).unwrap_or_default();
        if seeds >= MANY { Self::Optimised } else { Self::Plain }
    }

    fn command(self) -> Command {
        match self {
            // As its tests are, and of the whole workspace, so that what it depends on is what the other steps have built.
            Self::Plain => {
                process::cargo(["test", "--quiet", "--workspace", "--test", "simulation", "--no-run"])
            }
            Self::Optimised => process::cargo([
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
            Self::Optimised => "release",
        };
        Command::new(workspace.target.join(profile).join(format!("simulate{}", std::env::consts::EXE_SUFFIX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_seeds_are_worth_an_optimised_build() {
        let build = |line: &str| Build::of(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        for line in ["", "--seeds 2999", "--seeds", "--seeds many", "--from 5000"] {
            assert_eq!(build(line), Build::Plain, "{line}");
        }
        assert_eq!(build("--from 1 --seeds 100000"), Build::Optimised);
    }
}
