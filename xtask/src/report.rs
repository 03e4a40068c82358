//! The results of steps, and the summary of a run.

use std::fmt::Write;
use std::time::Duration;

use crate::step::Step;
use crate::test_counts::TestCounts;

/// The result of a step, and its duration.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) step: Step,
    pub(crate) result: StepResult,
    pub(crate) duration: Duration,
}

/// The verdict of a step, and the number of its tests if it has any.
#[derive(Debug)]
pub(crate) struct StepResult {
    pub(crate) verdict: Verdict,
    pub(crate) counts: Option<TestCounts>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Passed,
    Failed(String),
    /// The code does not compile.
    NotBuilt,
    Skipped(&'static str),
}

impl StepResult {
    pub(crate) fn passed() -> Self {
        Self { verdict: Verdict::Passed, counts: None }
    }

    pub(crate) fn failed(reason: impl Into<String>) -> Self {
        Self { verdict: Verdict::Failed(reason.into()), counts: None }
    }

    pub(crate) fn not_built() -> Self {
        Self { verdict: Verdict::NotBuilt, counts: None }
    }

    pub(crate) fn skipped(reason: &'static str) -> Self {
        Self { verdict: Verdict::Skipped(reason), counts: None }
    }

    /// Returns passed, or failed with this reason.
    pub(crate) fn passed_if(has_passed: bool, reason: &str) -> Self {
        if has_passed { Self::passed() } else { Self::failed(reason) }
    }

    /// Returns the number of tests; a failed step without a failed test adds one failure.
    pub(crate) fn total(&self) -> TestCounts {
        let mut counts = self.counts.unwrap_or_default();
        let has_failed = matches!(self.verdict, Verdict::Failed(_) | Verdict::NotBuilt);
        if has_failed && counts.failed == 0 {
            counts.failed = 1;
        }
        counts
    }
}

/// Returns the tests and failed checks of all steps.
pub(crate) fn total(outcomes: &[Outcome]) -> TestCounts {
    let mut total = TestCounts::default();
    outcomes.iter().for_each(|outcome| total += outcome.result.total());
    total
}

/// Returns a table, whose last line is `N passed, N failed`.
pub(crate) fn summary(outcomes: &[Outcome]) -> String {
    let mut text =
        format!("\n{:<10} {:<8} {:>8} {:>8} {:>8}\n", "step", "result", "seconds", "passed", "failed");
    for outcome in outcomes {
        _ = writeln!(text, "{}", row(outcome));
    }
    let TestCounts { passed, failed } = total(outcomes);
    text + &format!("\n{passed} passed, {failed} failed")
}

fn row(outcome: &Outcome) -> String {
    let (result, reason) = match &outcome.result.verdict {
        Verdict::Passed => ("ok", ""),
        Verdict::Failed(reason) => ("FAILED", reason.as_str()),
        Verdict::NotBuilt => ("FAILED", "did not build"),
        Verdict::Skipped(reason) => ("skipped", *reason),
    };
    let counts = outcome.result.total();
    let is_counted = outcome.result.counts.is_some();
    let passed = if is_counted { counts.passed.to_string() } else { String::new() };
    let failed = if is_counted || counts.failed > 0 { counts.failed.to_string() } else { String::new() };
    let (name, seconds) = (outcome.step.name(), outcome.duration.as_secs_f64());
    let row = format!("{name:<10} {result:<8} {seconds:>8.1} {passed:>8} {failed:>8}  {reason}");
    row.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tests(passed: usize, failed: usize) -> StepResult {
        let verdict = if failed == 0 { Verdict::Passed } else { Verdict::Failed(String::new()) };
        StepResult { verdict, counts: Some(TestCounts { passed, failed }) }
    }

    #[test]
    fn the_summary_counts_tests_and_failed_checks() {
        let results = [
            (Step::Fmt, StepResult::passed()),
            (Step::Tidy, StepResult::failed("3 violations")),
            (Step::Tests, tests(134, 2)),
            (Step::DocTests, tests(6, 0)),
            (Step::Model, StepResult::skipped("no model-checked tests")),
        ];
        let outcome = |(step, result)| Outcome { step, result, duration: Duration::from_millis(1500) };
        let expected = "
step       result    seconds   passed   failed
fmt        ok            1.5
tidy       FAILED        1.5                 1  3 violations
tests      FAILED        1.5      134        2
doc-tests  ok            1.5        6        0
model      skipped       1.5                    no model-checked tests

140 passed, 3 failed";
        assert_eq!(summary(&results.into_iter().map(outcome).collect::<Vec<_>>()), expected);
    }

    #[test]
    fn a_failed_step_without_a_failed_test_is_one_failure() {
        let check = |verdict: Verdict, counts: Option<TestCounts>, passed: usize, failed: usize| {
            assert_eq!(StepResult { verdict, counts }.total(), TestCounts { passed, failed });
        };
        check(Verdict::Failed("3 violations".into()), None, 0, 1);
        check(Verdict::NotBuilt, None, 0, 1);
        check(Verdict::Failed("crash".into()), Some(TestCounts { passed: 5, failed: 0 }), 5, 1);
        check(Verdict::Failed(String::new()), Some(TestCounts { passed: 5, failed: 2 }), 5, 2);
        check(Verdict::Passed, None, 0, 0);
        check(Verdict::Skipped("no Go"), None, 0, 0);
    }
}
