//! The summary at the end of a run: a line for each step, and the total.

use std::fmt::Write;

use crate::outcome::{Outcome, Verdict};
use crate::paint::Paint;
use crate::tally::Tally;

/// The tests and failed checks of all steps together.
pub(crate) fn total(outcomes: &[Outcome]) -> Tally {
    let mut total = Tally::default();
    for outcome in outcomes {
        total += outcome.result.counts();
    }
    total
}

/// The table, whose last line is `N passed, N failed` and nothing else.
pub(crate) fn summary(outcomes: &[Outcome], paint: Paint) -> String {
    let heading = format!("{:<10} {:<8} {:>8} {:>8} {:>8}", "step", "result", "seconds", "passed", "failed");
    let mut text = format!("\n{}\n", paint.bold(&heading));
    for outcome in outcomes {
        writeln!(text, "{}", row(outcome, paint)).expect("a string takes any text");
    }
    let Tally { passed, failed } = total(outcomes);
    text + &format!("\n{passed} passed, {failed} failed")
}

fn row(outcome: &Outcome, paint: Paint) -> String {
    let (result, why) = match &outcome.result.verdict {
        Verdict::Passed => (paint.green("ok      "), ""),
        Verdict::Failed(why) => (paint.red("FAILED  "), why.as_str()),
        Verdict::NotBuilt => (paint.red("FAILED  "), "did not build"),
        Verdict::Skipped(why) => (paint.yellow("skipped "), *why),
    };
    let counts = outcome.result.counts();
    let is_counted = outcome.result.tally.is_some();
    let passed = if is_counted { counts.passed.to_string() } else { String::new() };
    let failed = if is_counted || counts.failed > 0 { counts.failed.to_string() } else { String::new() };
    let seconds = outcome.took.as_secs_f64();
    let row = format!("{:<10} {result} {seconds:>8.1} {passed:>8} {failed:>8}  {why}", outcome.step.name());
    row.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::outcome::StepResult;
    use crate::step::Step;

    fn check(results: Vec<(Step, StepResult)>, expected: &str) {
        let outcomes: Vec<_> = results
            .into_iter()
            .map(|(step, result)| Outcome { step, result, took: Duration::from_millis(1500) })
            .collect();
        assert_eq!(summary(&outcomes, Paint::Plain), expected);
    }

    fn tests(passed: usize, failed: usize) -> StepResult {
        let verdict = if failed == 0 { Verdict::Passed } else { Verdict::Failed(String::new()) };
        StepResult { verdict, tally: Some(Tally { passed, failed }) }
    }

    #[test]
    fn sums_up_tests_and_failed_checks() {
        check(
            vec![
                (Step::Fmt, StepResult::passed()),
                (Step::Tidy, StepResult::failed("3 violations")),
                (Step::Tests, tests(134, 2)),
                (Step::DocTests, tests(6, 0)),
                (Step::Model, StepResult::skipped("no package has model-checked tests")),
            ],
            "
step       result    seconds   passed   failed
fmt        ok            1.5
tidy       FAILED        1.5                 1  3 violations
tests      FAILED        1.5      134        2
doc-tests  ok            1.5        6        0
model      skipped       1.5                    no package has model-checked tests

140 passed, 3 failed",
        );
    }

    #[test]
    fn colours_leave_the_total_plain() {
        let outcome = Outcome { step: Step::Tests, result: tests(1, 0), took: Duration::ZERO };
        let text = summary(&[outcome], Paint::Coloured);
        assert!(text.contains("\x1b[32mok") && text.ends_with("\n1 passed, 0 failed"));
    }
}
