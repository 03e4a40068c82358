//! How a step ended.

use std::time::Duration;

use crate::step::Step;
use crate::tally::Tally;

/// What a step said, and how long it took.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) step: Step,
    pub(crate) result: StepResult,
    pub(crate) took: Duration,
}

/// The verdict of a step, with the tests it counted if it counts any.
#[derive(Debug)]
pub(crate) struct StepResult {
    pub(crate) verdict: Verdict,
    pub(crate) tally: Option<Tally>,
}

/// Whether a step is content.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Passed,
    Failed(String),
    /// The code does not compile, so that nothing could be tried.
    NotBuilt,
    Skipped(&'static str),
}

impl StepResult {
    pub(crate) fn passed() -> Self {
        Self { verdict: Verdict::Passed, tally: None }
    }

    pub(crate) fn failed(why: impl Into<String>) -> Self {
        Self { verdict: Verdict::Failed(why.into()), tally: None }
    }

    pub(crate) fn skipped(why: &'static str) -> Self {
        Self { verdict: Verdict::Skipped(why), tally: None }
    }

    /// What the step adds to the total: its tests, and itself when it fails without a test that shows it.
    pub(crate) fn counts(&self) -> Tally {
        let mut counts = self.tally.unwrap_or_default();
        let has_failed = match self.verdict {
            Verdict::Failed(_) | Verdict::NotBuilt => true,
            Verdict::Passed | Verdict::Skipped(_) => false,
        };
        if has_failed && counts.failed == 0 {
            counts.failed = 1;
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(verdict: Verdict, tally: Option<(usize, usize)>, expected: (usize, usize)) {
        let tally = tally.map(|(passed, failed)| Tally { passed, failed });
        let counts = StepResult { verdict, tally }.counts();
        assert_eq!((counts.passed, counts.failed), expected);
    }

    #[test]
    fn a_failed_check_counts_as_one_failure() {
        check(Verdict::Failed("3 violations".into()), None, (0, 1));
        check(Verdict::NotBuilt, None, (0, 1));
    }

    #[test]
    fn a_test_binary_that_crashes_is_not_lost() {
        check(Verdict::Failed("exit code 101".into()), Some((5, 0)), (5, 1));
    }

    #[test]
    fn failed_tests_are_counted_once() {
        check(Verdict::Failed("exit code 101".into()), Some((5, 2)), (5, 2));
    }

    #[test]
    fn a_passed_check_is_not_a_test() {
        check(Verdict::Passed, None, (0, 0));
        check(Verdict::Skipped("not built"), None, (0, 0));
    }
}
