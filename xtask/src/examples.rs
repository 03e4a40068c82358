//! Builds every example of the workspace and runs each to its end.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use crate::metadata::{Example, Workspace};
use crate::process::{self, Ended};
use crate::report::{StepResult, Verdict};
use crate::test_counts::TestCounts;

/// The time limit of an example.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs all examples, even if one fails. Each is a test of the summary.
pub(crate) fn run(workspace: &Workspace) -> Result<StepResult> {
    if workspace.examples.is_empty() {
        return Ok(StepResult::skipped("no examples"));
    }
    if !build(&workspace.examples)? {
        return Ok(StepResult::not_built());
    }
    let mut counts = TestCounts::default();
    let mut failed = Vec::new();
    for example in &workspace.examples {
        println!("running example `{}` of {}", example.name, example.package);
        match run_one(&workspace.target, example)? {
            None => counts.passed += 1,
            Some(problem) => {
                println!("example `{}` {problem}", example.name);
                counts.failed += 1;
                failed.push(example.name.as_str());
            }
        }
    }
    let verdict = if failed.is_empty() { Verdict::Passed } else { Verdict::Failed(failed.join(", ")) };
    Ok(StepResult { verdict, counts: Some(counts) })
}

fn build(examples: &[Example]) -> Result<bool> {
    if !process::run(&mut process::cargo(["build", "--workspace", "--examples"]))? {
        return Ok(false);
    }
    // Cargo skips examples with disabled features, so these are built one by one.
    for example in examples.iter().filter(|example| !example.features.is_empty()) {
        let features: Vec<_> =
            example.features.iter().map(|name| format!("{}/{name}", example.package)).collect();
        let mut command = process::cargo(["build", "--workspace", "--example", &example.name]);
        if !process::run(command.args(["--features", &features.join(",")]))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the problem; `None` if the example succeeded.
fn run_one(target: &Path, example: &Example) -> Result<Option<String>> {
    let mut program = Command::new(process::executable(&target.join("debug/examples"), &example.name));
    Ok(match process::run_within(&mut program, LIMIT)? {
        Ended::InTime(status) if status.success() => None,
        Ended::InTime(status) => Some(format!("failed: {status}")),
        Ended::Killed => Some(format!("did not end within {} s and was killed", LIMIT.as_secs())),
    })
}
