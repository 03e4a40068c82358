//! A violation of a rule.

use std::fmt;

/// The location, the rule, the problem and the fix.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Violation {
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) rule: &'static str,
    pub(crate) problem: String,
    pub(crate) fix: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, rule, problem, fix } = self;
        write!(f, "{file}:{line}: {rule}: {problem}; fix: {fix}")
    }
}
