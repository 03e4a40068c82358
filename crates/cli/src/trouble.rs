//! Why the command ends badly, in words that a person can act on.

use crate::notice::say;
use std::{error::Error, fmt, io, process::ExitCode};

/// What went wrong, what to do about it, and the exit code that says so.
#[derive(Debug)]
pub(crate) struct Trouble {
    class: Class,
    what: String,
    advice: Vec<String>,
}

/// The kinds of endings that scripts can tell apart; `--help` lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Usage,
    Kind,
    Config,
    Refused,
    Unreachable,
    Other,
}

impl Class {
    fn code(self) -> u8 {
        match self {
            Self::Other => 1,
            Self::Usage => 2,
            Self::Kind => 3,
            Self::Config => 4,
            Self::Refused => 5,
            Self::Unreachable => 6,
        }
    }
}

impl Trouble {
    pub(crate) fn new(class: Class, what: impl Into<String>) -> Self {
        Self { class, what: what.into(), advice: Vec::new() }
    }

    /// What went wrong, without what may be done about it.
    pub(crate) fn what(&self) -> &str {
        &self.what
    }

    /// Adds what may be done about it; lines stay as they are.
    #[must_use]
    pub(crate) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice.push(advice.into());
        self
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        self.advice.iter().try_for_each(|advice| write!(f, "\n  {}", advice.replace('\n', "\n  ")))
    }
}

impl Error for Trouble {}

/// The error with everything that led to it, in one line.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        // Errors that repeat their cause need no second mention of it.
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

/// Tells the person why, and the caller by its exit code. A reader that went away is no trouble.
pub(crate) fn end(outcome: anyhow::Result<()>) -> ExitCode {
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    let is_pipe = |error: &(dyn Error + 'static)| {
        error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    };
    if error.chain().any(is_pipe) {
        return ExitCode::SUCCESS;
    }
    let trouble = error.downcast_ref::<Trouble>();
    say(trouble.map_or_else(|| chain(error.as_ref()), ToString::to_string));
    trouble.map_or(Class::Other, |trouble| trouble.class).code().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_indented() {
        let trouble = Trouble::new(Class::Kind, "no such kind").advise("did you mean\npods?");
        assert_eq!(trouble.to_string(), "no such kind\n  did you mean\n  pods?");
    }

    #[test]
    fn a_cause_that_is_told_is_not_told_again() {
        let error = anyhow::anyhow!("inner").context("outer: inner");
        assert_eq!(chain(error.as_ref()), "outer: inner");
    }
}
