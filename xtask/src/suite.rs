//! Runs steps one after the other.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Instant;

use anyhow::Result;

use crate::bench;
use crate::cluster;
use crate::dependencies;
use crate::examples;
use crate::go::Ready;
use crate::interop;
use crate::kubernetes::Version;
use crate::metadata::{self, MODEL_FEATURE, Model, Workspace};
use crate::operator;
use crate::oracle;
use crate::process::{self, Tested};
use crate::programs;
use crate::report::{Outcome, StepResult, Verdict};
use crate::simulate;
use crate::step::Step;
use crate::tables;
use crate::test_counts::TestCounts;
use crate::tidy;
use crate::web;

/// The number of tests that run at the same time on each core: many wait for a timeout or for a program.
const TESTS_PER_CORE: usize = 3;

/// The workspace, and the version of kube-apiserver for its tests if it is not that of `cluster/go.mod`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Environment<'r> {
    pub(crate) root: &'r Path,
    pub(crate) kubernetes: Option<Version>,
}

/// Runs all steps, even if one fails; if the code does not compile, steps that need it are skipped.
pub(crate) fn run(steps: &[Step], environment: Environment<'_>) -> Vec<Outcome> {
    let mut outcomes: Vec<Outcome> = Vec::new();
    for &step in steps {
        println!("\n==> {}: {}", step.name(), step.description());
        let start = Instant::now();
        let is_built = outcomes.iter().all(|outcome| outcome.result.verdict != Verdict::NotBuilt);
        let result = if step.needs_build() && !is_built {
            StepResult::skipped("the code does not compile")
        } else {
            run_step(step, environment).unwrap_or_else(|error| StepResult::failed(format!("{error:#}")))
        };
        outcomes.push(Outcome { step, result, duration: start.elapsed() });
    }
    outcomes
}

fn run_step(step: Step, environment: Environment<'_>) -> Result<StepResult> {
    let Environment { root, kubernetes } = environment;
    match step {
        Step::Fmt => check(&mut process::cargo(["fmt", "--all", "--check"])),
        Step::Clippy => clippy(&metadata::load()?.named_tests),
        Step::Tidy => violations(tidy::print(root)?),
        Step::Deps => violations(dependencies::print(root)?),
        Step::QuickTests => {
            let mut command =
                process::cargo(["test", "--workspace", "--lib", "--test", "pipeline", "--no-fail-fast"]);
            // An eighth of the default, with which `tests` runs them.
            test(command.env("PROPTEST_CASES", "32"))
        }
        // All targets with unit or integration tests. Bench targets without a harness would run as tests without this option, and
        // `--bins` would build programs without tests as well.
        Step::Tests => test(&mut process::cargo(["test", "--workspace", "--tests", "--no-fail-fast"])),
        Step::Fuzz => match programs::build(&metadata::load()?, "fuzz")? {
            Some(program) => check(&mut Command::new(program)),
            None => Ok(StepResult::not_built()),
        },
        Step::Simulate => simulate::step(&metadata::load()?),
        Step::Tables => test_ready(tables::prepare(&metadata::load()?)?),
        Step::Oracle => test_ready(oracle::prepare(&metadata::load()?)?),
        Step::Interop => test_ready(interop::prepare(&metadata::load()?)?),
        Step::Controllers => test_ready(interop::prepare_controllers(&metadata::load()?)?),
        Step::Programs => test_ready(interop::prepare_programs(&metadata::load()?)?),
        Step::Cluster => test_cluster(&metadata::load()?, kubernetes),
        Step::Web => test_ready(web::prepare(&metadata::load()?)?),
        Step::Bench => {
            let has_passed = bench::smoke_test(&metadata::load()?)?;
            Ok(StepResult::passed_if(has_passed, "a cache differs from the server"))
        }
        Step::DocTests => test(&mut process::cargo(["test", "--workspace", "--doc", "--no-fail-fast"])),
        Step::Docs => check(&mut docs_command()),
        Step::Model => test_models(&metadata::load()?.models),
        Step::Examples => examples::run(&metadata::load()?),
        Step::Operator => operator::run(&metadata::load()?, root),
    }
}

fn violations(count: usize) -> Result<StepResult> {
    Ok(match count {
        0 => StepResult::passed(),
        1 => StepResult::failed("1 violation"),
        count => StepResult::failed(format!("{count} violations")),
    })
}

fn check(command: &mut Command) -> Result<StepResult> {
    println!("{}", process::line(command));
    Ok(StepResult::passed_if(process::run(command)?, ""))
}

fn test(command: &mut Command) -> Result<StepResult> {
    if let Ok(cores) = thread::available_parallelism() {
        command.env("RUST_TEST_THREADS", (TESTS_PER_CORE * cores.get()).to_string());
    }
    println!("{}", process::line(command));
    let Tested { succeeded, counter } = process::run_tests(command)?;
    let mut counts = counter.counts;
    counts.failed += counter.crashed();
    let verdict = match (succeeded, counter.started, counter.crashed()) {
        // A filter or a target that selects nothing is a mistake in this program.
        (true, _, _) if counts == TestCounts::default() => Verdict::Failed("no test was run".to_owned()),
        (true, _, _) => Verdict::Passed,
        // Cargo builds all test binaries before it starts the first.
        (false, 0, _) => return Ok(StepResult::not_built()),
        (false, _, 0) => Verdict::Failed(String::new()),
        (false, _, crashed) => Verdict::Failed(format!("{crashed} test binaries crashed")),
    };
    Ok(StepResult { verdict, counts: Some(counts) })
}

fn test_ready(ready: Ready) -> Result<StepResult> {
    match ready {
        Ready::Test(mut command) => test(&mut command),
        Ready::Skip(reason) => Ok(StepResult::skipped(reason)),
        Ready::Fail(reason) => Ok(StepResult::failed(reason)),
    }
}

/// Lints all targets. A target that no command tests by default has to be named, which excludes the others from the command.
fn clippy(named_tests: &BTreeSet<String>) -> Result<StepResult> {
    let named: Vec<_> = named_tests.iter().flat_map(|name| ["--test", name]).collect();
    for targets in [["--all-targets"].as_slice(), &named].into_iter().filter(|targets| !targets.is_empty()) {
        let mut command = process::cargo(["clippy", "--workspace", "--all-features"]);
        let result = check(command.args(targets).args(["--", "-D", "warnings"]))?;
        if result.verdict != Verdict::Passed {
            return Ok(result);
        }
    }
    Ok(StepResult::passed())
}

/// Returns the command with the features of the tests, as clippy has checked the dependencies with them.
fn docs_command() -> Command {
    let mut command = process::cargo(["doc", "--workspace", "--no-deps", "--lib", "--bins"]);
    command.args(["--example", programs::EXAMPLE]).env("RUSTDOCFLAGS", "-Dwarnings");
    command
}

/// Runs the cluster tests; a cluster that does not stop with them is a failure.
fn test_cluster(workspace: &Workspace, version: Option<Version>) -> Result<StepResult> {
    let result = test_ready(cluster::prepare(workspace, version)?)?;
    let remaining = cluster::remaining(workspace)?;
    match (&result.verdict, remaining.first()) {
        (Verdict::Passed, Some(directory)) => {
            let reason = format!("a cluster was not stopped: {}", directory.display());
            Ok(StepResult { verdict: Verdict::Failed(reason), ..result })
        }
        _ => Ok(result),
    }
}

fn test_models(models: &[Model]) -> Result<StepResult> {
    if models.is_empty() {
        return Ok(StepResult::skipped("no package has model-checked tests"));
    }
    if let Some(model) = models.iter().find(|model| model.tests.is_empty()) {
        println!("{} has the feature `{MODEL_FEATURE}`, but no test target requires it", model.package);
        return Ok(StepResult::failed("no tests"));
    }
    test(&mut model_command(models))
}

/// Returns one command for all models, of the workspace, so that dependencies are not built again.
fn model_command(models: &[Model]) -> Command {
    let features: Vec<_> = models.iter().map(|model| format!("{}/{MODEL_FEATURE}", model.package)).collect();
    let tests: BTreeSet<_> = models.iter().flat_map(|model| &model.tests).collect();
    let mut command =
        process::cargo(["test", "--workspace", "--no-fail-fast", "--features", &features.join(",")]);
    for test in tests {
        command.args(["--test", test]);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(package: &str, tests: &[&str]) -> Model {
        Model { package: package.into(), tests: tests.iter().map(|&test| test.to_owned()).collect() }
    }

    #[test]
    fn models_run_in_one_command_with_only_their_tests() {
        let line =
            process::line(&model_command(&[model("queue", &["model", "races"]), model("store", &["model"])]));
        let expected = "cargo test --workspace --no-fail-fast --features queue/__model,store/__model \
                        --test model --test races";
        assert_eq!(line, expected);
    }

    #[test]
    fn a_model_without_tests_fails() {
        let result = test_models(&[model("queue", &[])]).unwrap();
        assert!(matches!(result.verdict, Verdict::Failed(_)));
    }
}
