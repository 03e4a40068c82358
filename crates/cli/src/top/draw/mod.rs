//! Draws a screen.

mod theme;
mod edges;
mod overview;
mod objects;
mod object;
mod help;

use crate::top::screen::Screen;
use ratatui::Frame;
pub(super) use theme::Theme;

/// Draws the topmost page.
pub(super) fn draw(frame: &mut Frame<'_>, screen: &Screen, theme: Theme) {
    let body = edges::draw(frame, screen, theme);
    match (&screen.object, &screen.objects) {
        (Some(object), _) => object::draw(frame, body, object, theme),
        (None, Some(objects)) => objects::draw(frame, body, objects, theme),
        (None, None) => overview::draw(frame, body, &screen.overview, theme),
    }
    if screen.has_help {
        help::draw(frame, body, theme);
    }
}
