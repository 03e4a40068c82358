//! The styles of text.

use crate::paint::Highlight;
use ratatui::style::{Color, Modifier, Style};

/// Whether colors are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::top) enum Theme {
    Plain,
    Coloured,
}

impl Theme {
    pub(super) fn of(self, highlight: Highlight) -> Style {
        let colour = match highlight {
            Highlight::Came => Color::Green,
            Highlight::Changed => Color::Yellow,
            Highlight::Went => Color::Red,
            Highlight::Quiet => return Style::new().add_modifier(Modifier::DIM),
            Highlight::Strong => return Style::new().add_modifier(Modifier::BOLD),
        };
        match self {
            Self::Plain => Style::new(),
            Self::Coloured => Style::new().fg(colour),
        }
    }

    /// Returns the style of the selected row, which does not depend on colors.
    pub(super) fn chosen() -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}
