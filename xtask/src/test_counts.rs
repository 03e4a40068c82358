//! The number of passed and failed tests, from the output of the test harness.

use std::ops::AddAssign;

/// The number of passed and failed tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TestCounts {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
}

/// Counts tests line by line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Counter {
    pub(crate) counts: TestCounts,
    pub(crate) started: usize,
    finished: usize,
}

impl Counter {
    pub(crate) fn line_printed(&mut self, line: &str) {
        if is_start(line) {
            self.started += 1;
        } else if let Some(counts) = TestCounts::from_line(line) {
            self.finished += 1;
            self.counts += counts;
        }
    }

    /// Returns the number of test binaries without a result.
    pub(crate) fn crashed(&self) -> usize {
        self.started.saturating_sub(self.finished)
    }
}

impl TestCounts {
    /// Parses a line such as `test result: ok. 5 passed; 0 failed; ..`.
    fn from_line(line: &str) -> Option<Self> {
        let (_, counts) = line.trim().strip_prefix("test result: ")?.split_once(". ")?;
        let count = |name: &str| {
            counts.split(';').find_map(|part| part.trim().strip_suffix(name)?.trim().parse().ok())
        };
        Some(Self { passed: count("passed")?, failed: count("failed")? })
    }
}

impl AddAssign for TestCounts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

/// Returns true for `running 5 tests`, the first line of every test binary.
fn is_start(line: &str) -> bool {
    let count = line.trim().strip_prefix("running ");
    let count = count.and_then(|rest| rest.strip_suffix(" tests").or(rest.strip_suffix(" test")));
    count.is_some_and(|count| count.parse::<usize>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Option<(usize, usize)>) {
        let expected = expected.map(|(passed, failed)| TestCounts { passed, failed });
        assert_eq!(TestCounts::from_line(line), expected);
    }

    #[test]
    fn results_are_parsed() {
        check("test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 2 filtered out", Some((5, 0)));
        check("test result: FAILED. 12 passed; 3 failed; 0 ignored; finished in 0.10s", Some((12, 3)));
        check("test counts::reads_a_line ... ok", None);
        check("test result: unknown", None);
    }

    #[test]
    fn a_binary_without_a_result_has_crashed() {
        let mut counter = Counter::default();
        for line in
            ["running 1 test", "test result: ok. 1 passed; 0 failed;", "running 2 tests", "running late"]
        {
            counter.line_printed(line);
        }
        assert_eq!(counter.crashed(), 1);
        assert_eq!(counter.counts, TestCounts { passed: 1, failed: 0 });
    }
}
