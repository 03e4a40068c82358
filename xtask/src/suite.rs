//! Runs the steps one after the other.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::Result;

use crate::bench;
use crate::cluster;
use crate::deps;
use crate::examples;
use crate::go::Ready;
use crate::interop;
use crate::metadata::{self, MODEL_FEATURE, Model, Workspace};
use crate::oracle;
use crate::outcome::{Outcome, StepResult, Verdict};
use crate::paint::Paint;
use crate::process::{self, Tested};
use crate::simulate;
use crate::soak;
use crate::step::Step;
use crate::tables;
use crate::tidy;

/// Runs every given step, also after one has failed; only code that does not compile ends the steps that need it.
pub(crate) fn run(steps: &[Step], root: &Path, paint: Paint) -> Vec<Outcome> {
    let mut outcomes: Vec<Outcome> = Vec::new();
    for &step in steps {
        println!("\n{}", paint.bold(&format!("==> {}: {}", step.name(), step.about())));
        let began = Instant::now();
        let is_built = outcomes.iter().all(|outcome| outcome.result.verdict != Verdict::NotBuilt);
        let result = if step.needs_build() && !is_built {
            StepResult::skipped("the code does not compile")
        } else {
            perform(step, root, paint).unwrap_or_else(|error| StepResult::failed(format!("{error:#}")))
        };
        outcomes.push(Outcome { step, result, took: began.elapsed() });
    }
    outcomes
}

fn perform(step: Step, root: &Path, paint: Paint) -> Result<StepResult> {
    match step {
        Step::Fmt => check(process::cargo(["fmt", "--all", "--check"]).args(fmt_arguments(paint))),
        Step::Clippy => check(&mut process::cargo([
            "clippy",
            "--workspace",
            "--all-targets",
            "--all-features",
            "--",
            "-D",
            "warnings",
        ])),
        Step::Tidy => found(tidy::print(root)?),
        Step::Deps => found(deps::print(root)?),
        // Bench targets are not named: those without a harness would run as if they were tests.
        Step::Tests => {
            test(&mut process::cargo(["test", "--workspace", "--lib", "--bins", "--tests", "--no-fail-fast"]))
        }
        Step::Fuzz => check(&mut process::cargo(["run", "-p", "kube-informer-fuzz"])),
        Step::Simulate => simulate::step(&metadata::load()?),
        Step::Tables => test_ready(tables::prepare(&metadata::load()?)?),
        Step::Oracle => test_ready(oracle::prepare(&metadata::load()?)?),
        Step::Interop => test_ready(interop::prepare(&metadata::load()?)?),
        Step::Cluster => test_cluster(&metadata::load()?),
        Step::Bench => {
            let workspace = metadata::load()?;
            bench::run(&workspace, &bench::smoke(), &bench::IN_CI)?;
            match soak::run(&workspace, &soak::smoke())? {
                true => Ok(StepResult::passed()),
                false => Ok(StepResult::failed("informers under load lost something")),
            }
        }
        Step::DocTests => test(&mut process::cargo(["test", "--workspace", "--doc", "--no-fail-fast"])),
        Step::Docs => {
            check(process::cargo(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-Dwarnings"))
        }
        Step::Model => models(&metadata::load()?.models),
        Step::Examples => examples::run(&metadata::load()?),
    }
}

/// Unlike cargo, rustfmt colours what goes to a file or a pipe as well.
fn fmt_arguments(paint: Paint) -> &'static [&'static str] {
    match paint {
        Paint::Coloured => &[],
        Paint::Plain => &["--", "--color=never"],
    }
}

fn found(violations: usize) -> Result<StepResult> {
    Ok(match violations {
        0 => StepResult::passed(),
        1 => StepResult::failed("1 violation"),
        found => StepResult::failed(format!("{found} violations")),
    })
}

fn check(command: &mut Command) -> Result<StepResult> {
    println!("{}", process::line(command));
    Ok(if process::run(command)? { StepResult::passed() } else { StepResult::failed("") })
}

fn test(command: &mut Command) -> Result<StepResult> {
    println!("{}", process::line(command));
    let Tested { succeeded, counter } = process::run_tests(command)?;
    let mut tally = counter.tally;
    tally.failed += counter.crashed();
    let verdict = match (succeeded, counter.started, counter.crashed()) {
        (true, _, _) => Verdict::Passed,
        // Cargo builds every test program before it starts the first.
        (false, 0, _) => Verdict::NotBuilt,
        (false, _, 0) => Verdict::Failed(String::new()),
        (false, _, crashed) => Verdict::Failed(format!("test programs that crashed: {crashed}")),
    };
    let tally = (verdict != Verdict::NotBuilt).then_some(tally);
    Ok(StepResult { verdict, tally })
}

fn test_ready(ready: Ready) -> Result<StepResult> {
    match ready {
        Ready::Test(mut command) => test(&mut command),
        Ready::Skip(why) => Ok(StepResult::skipped(why)),
        Ready::Fail(why) => Ok(StepResult::failed(why)),
    }
}

/// A cluster that outlives its tests is a failure, too.
fn test_cluster(workspace: &Workspace) -> Result<StepResult> {
    let result = test_ready(cluster::prepare(workspace)?)?;
    let left = cluster::left_behind(workspace)?;
    match (&result.verdict, left.first()) {
        (Verdict::Passed, Some(left)) => {
            let why = format!("a cluster was left behind in {}", left.display());
            Ok(StepResult { verdict: Verdict::Failed(why), ..result })
        }
        _ => Ok(result),
    }
}

fn models(models: &[Model]) -> Result<StepResult> {
    if models.is_empty() {
        return Ok(StepResult::skipped("no package has model-checked tests"));
    }
    if let Some(model) = models.iter().find(|model| model.tests.is_empty()) {
        println!("{} has the feature `{MODEL_FEATURE}`, and no test target requires it", model.package);
        return Ok(StepResult::failed("no tests"));
    }
    test(&mut model_command(models))
}

/// All of them at once and of the whole workspace, so that what they depend on is what the other steps have built.
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
    fn models_run_together_and_only_the_tests_made_for_them() {
        let line =
            process::line(&model_command(&[model("queue", &["model", "races"]), model("store", &["model"])]));
        let expected = "cargo test --workspace --no-fail-fast --features queue/__model,store/__model \
                        --test model --test races";
        assert_eq!(line, expected);
    }

    #[test]
    fn a_model_without_tests_fails() {
        let result = models(&[model("queue", &[])]).unwrap();
        assert!(matches!(result.verdict, Verdict::Failed(_)));
    }
}
