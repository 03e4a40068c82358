//! Colours, where they are wanted.

use crate::args::Colour;
use std::io::IsTerminal;

/// Whether text is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    Plain,
    Coloured,
}

/// The meaning of a color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Highlight {
    Came,
    Changed,
    Went,
    Quiet,
    Strong,
}

impl Paint {
    /// What suits what stdout is.
    pub(crate) fn of_stdout(wish: Colour) -> Self {
        let is_wanted = match wish {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => std::io::stdout().is_terminal() && allows_colour(),
        };
        if is_wanted { Self::Coloured } else { Self::Plain }
    }

    /// Returns the text with a color.
    pub(crate) fn tint(self, highlight: Highlight, text: &str) -> String {
        let code = match highlight {
            Highlight::Came => 32,
            Highlight::Changed => 33,
            Highlight::Went => 31,
            Highlight::Quiet => 2,
            Highlight::Strong => 1,
        };
        match self {
            Self::Plain => text.to_owned(),
            Self::Coloured => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
}

/// Returns whether the environment allows colors: <https://no-color.org>.
pub(crate) fn allows_colour() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_stays_plain() {
        assert_eq!(Paint::Plain.tint(Highlight::Went, "gone"), "gone");
        assert_eq!(Paint::Coloured.tint(Highlight::Went, "gone"), "\x1b[31mgone\x1b[0m");
    }
}
