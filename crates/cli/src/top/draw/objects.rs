//! The page with the objects of a kind.

use super::theme::Theme;
use crate::paint::Highlight;
use crate::top::objects::{Objects, Picker};
use ratatui::{
    Frame,
    layout::{Constraint, Rect},
    text::Line,
    widgets::{Clear, Paragraph, Row, Table},
};

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, objects: &Objects, theme: Theme) {
    let first = objects.window.first;
    let rows = objects.rows.iter().enumerate().map(|(at, row)| {
        let cells = [row.namespace.clone(), row.name.clone(), row.age.clone(), row.status.clone()];
        let is_chosen = first + at == objects.window.chosen;
        let row = Row::new(cells);
        if is_chosen { row.style(Theme::chosen()) } else { row }
    });
    let width = |read: fn(&crate::top::objects::Row) -> &String, limits: (usize, usize)| {
        let widest = objects.rows.iter().map(|row| read(row).chars().count()).max().unwrap_or(0);
        Constraint::Length(widest.max(limits.0).min(limits.1) as u16)
    };
    let limit = usize::from(area.width) / 2;
    let has_namespaces = objects.rows.iter().any(|row| !row.namespace.is_empty());
    let namespace = if has_namespaces { width(|row| &row.namespace, (9, 20)) } else { Constraint::Length(0) };
    let widths = [namespace, width(|row| &row.name, (4, limit)), Constraint::Length(5), Constraint::Min(10)];
    let heads = [if has_namespaces { "NAMESPACE" } else { "" }, "NAME", "AGE", "STATUS"];
    frame.render_widget(
        Table::new(rows, widths).header(Row::new(heads).style(theme.of(Highlight::Quiet))),
        area,
    );
    if let Some(picker) = &objects.picker {
        draw_picker(frame, area, picker, theme);
    }
}

/// Draws the values of an index over the objects.
fn draw_picker(frame: &mut Frame<'_>, area: Rect, picker: &Picker, theme: Theme) {
    let width = area.width.min(60);
    let area = Rect { x: area.x + (area.width - width) / 2, width, ..area };
    frame.render_widget(Clear, area);
    let title = format!(" {}: {}", picker.index.name(), picker.search);
    let title = Line::styled(title.trim_end().to_owned(), theme.of(Highlight::Strong));
    let values = picker.shown();
    let range = picker.window.range(values.len());
    let shown = values[range.clone()].iter().enumerate().map(|(at, value)| {
        let value = if value.is_empty() { "(all)" } else { *value };
        let is_chosen = range.start + at == picker.window.chosen;
        let line = Line::raw(format!(" {value:<width$}", width = usize::from(width)));
        if is_chosen { line.style(Theme::chosen()) } else { line }
    });
    frame.render_widget(Paragraph::new(std::iter::once(title).chain(shown).collect::<Vec<_>>()), area);
}
