//! What a rule says about a line that breaks it.

use std::fmt;

/// A broken rule: where, which, what is wrong and what to do about it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Violation {
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) rule: &'static str,
    pub(crate) wrong: String,
    pub(crate) mend: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, rule, wrong, mend } = self;
        write!(f, "{file}:{line}: {rule}: {wrong}; mend: {mend}")
    }
}
