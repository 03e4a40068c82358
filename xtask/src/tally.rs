//! How many tests passed and failed, read from what the test harness prints.

use std::ops::AddAssign;

/// Tests that passed and failed; adds up over test binaries and steps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
}

/// Follows the output of test programs line by line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Counter {
    pub(crate) tally: Tally,
    pub(crate) started: usize,
    pub(crate) ended: usize,
}

impl Counter {
    pub(crate) fn line_printed(&mut self, line: &str) {
        if is_start(line) {
            self.started += 1;
        } else if let Some(tally) = Tally::from_line(line) {
            self.ended += 1;
            self.tally += tally;
        }
    }

    /// Test programs that started and never came to a result.
    pub(crate) fn crashed(&self) -> usize {
        self.started.saturating_sub(self.ended)
    }
}

impl Tally {
    /// Reads a line such as `test result: ok. 5 passed; 0 failed; ..`; any other line is none.
    fn from_line(line: &str) -> Option<Self> {
        let (_, counts) = line.trim().strip_prefix("test result: ")?.split_once(". ")?;
        Some(Self { passed: count(counts, "passed")?, failed: count(counts, "failed")? })
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, more: Self) {
        self.passed += more.passed;
        self.failed += more.failed;
    }
}

/// Whether a line is `running 5 tests` or the like, with which every test program starts.
fn is_start(line: &str) -> bool {
    let count = line
        .trim()
        .strip_prefix("running ")
        .and_then(|rest| rest.strip_suffix(" tests").or(rest.strip_suffix(" test")));
    count.is_some_and(|count| count.parse::<usize>().is_ok())
}

fn count(counts: &str, of: &str) -> Option<usize> {
    counts.split(';').find_map(|part| part.trim().strip_suffix(of)?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Option<(usize, usize)>) {
        assert_eq!(Tally::from_line(line), expected.map(|(passed, failed)| Tally { passed, failed }));
    }

    #[test]
    fn reads_a_passing_binary() {
        check("test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 2 filtered out", Some((5, 0)));
    }

    #[test]
    fn reads_a_failing_binary() {
        check("test result: FAILED. 12 passed; 3 failed; 0 ignored; finished in 0.10s", Some((12, 3)));
    }

    #[test]
    fn a_program_without_a_result_has_crashed() {
        let mut counter = Counter::default();
        for line in
            ["running 1 test", "test result: ok. 1 passed; 0 failed;", "running 2 tests", "running late"]
        {
            counter.line_printed(line);
        }
        assert_eq!(counter.crashed(), 1);
        assert_eq!(counter.tally, Tally { passed: 1, failed: 0 });
    }

    #[test]
    fn other_lines_count_nothing() {
        check("test tally::reads_a_line ... ok", None);
        check("test result: unheard of", None);
    }
}
