//! Errors of the command, with advice and an exit code.

use crate::notice::print_notice;
use std::{error::Error, fmt, io, process::ExitCode};

/// An error with advice and an exit code.
#[derive(Debug)]
pub(crate) struct CliError {
    class: Class,
    message: String,
    advice: Vec<String>,
}

/// The classes of errors, which have different exit codes. `--help` lists them.
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

impl CliError {
    pub(crate) fn new(class: Class, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), advice: Vec::new() }
    }

    /// Returns the error without the advice.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Returns whether the server denied access.
    pub(crate) fn is_refused(&self) -> bool {
        self.class == Class::Refused
    }

    /// Adds advice, which may have several lines.
    #[must_use]
    pub(crate) fn hint(mut self, advice: impl Into<String>) -> Self {
        self.advice.push(advice.into());
        self
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.advice.iter().try_for_each(|advice| write!(f, "\n  {}", advice.replace('\n', "\n  ")))
    }
}

impl Error for CliError {}

/// Returns an error with its causes, in one line.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        // Some errors contain the text of their cause.
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

/// Prints the error, and returns the exit code. A closed stdout is not an error.
pub(crate) fn end(outcome: anyhow::Result<()>) -> ExitCode {
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    let is_pipe = |error: &(dyn Error + 'static)| {
        error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    };
    if error.chain().any(is_pipe) {
        return ExitCode::SUCCESS;
    }
    let failure = error.downcast_ref::<CliError>();
    print_notice(failure.map_or_else(|| chain(error.as_ref()), ToString::to_string));
    failure.map_or(Class::Other, |failure| failure.class).code().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_indented() {
        let failure = CliError::new(Class::Kind, "no such kind").hint("did you mean\npods?");
        assert_eq!(failure.to_string(), "no such kind\n  did you mean\n  pods?");
    }

    #[test]
    fn a_cause_that_is_part_of_the_text_is_not_repeated() {
        let error = anyhow::anyhow!("inner").context("outer: inner");
        assert_eq!(chain(error.as_ref()), "outer: inner");
    }
}
