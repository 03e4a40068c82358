//! Colours on a terminal that wants them, plain text everywhere else.

use std::io::IsTerminal;

/// Whether what we print may carry colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    Coloured,
    Plain,
}

impl Paint {
    /// Coloured when standard output is a terminal and `NO_COLOR` is unset or empty.
    pub(crate) fn detect() -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if std::io::stdout().is_terminal() && !refused { Self::Coloured } else { Self::Plain }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.with(1, text)
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.with(32, text)
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.with(31, text)
    }

    pub(crate) fn yellow(self, text: &str) -> String {
        self.with(33, text)
    }

    fn with(self, code: u8, text: &str) -> String {
        match self {
            Self::Coloured => format!("\x1b[{code}m{text}\x1b[0m"),
            Self::Plain => text.to_owned(),
        }
    }
}
