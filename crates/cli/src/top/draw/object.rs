//! The page of one object.

use super::theme::Theme;
use crate::top::object::Object;
use ratatui::{Frame, layout::Rect, text::Line, widgets::Paragraph};

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, object: &Object, theme: Theme) {
    let lines = object.lines[object.window.range(object.lines.len())].iter().map(|(highlight, text)| {
        let line = Line::raw(text.as_str());
        let line = highlight.map_or(line.clone(), |highlight| line.style(theme.of(highlight)));
        if object.is_match(text) { line.patch_style(Theme::chosen()) } else { line }
    });
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), area);
}
