//! The table of kinds, details of the selected kind, and the latest changes.

use super::theme::Theme;
use crate::number::{age, bytes, grouped, short};
use crate::paint::Highlight;
use crate::top::{
    kind_state::{KindState, Phase, counts_text},
    overview::Overview,
};
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
    widgets::{Cell, Paragraph, Row, Table, Wrap},
};
use std::time::Duration;

const HEAD: [&str; 9] = ["KIND", "PHASE", "OBJECTS", "VERSION", "EV/S", "LAG", "LISTS", "RELISTS", "ERRORS"];

/// The width of each column; the first one takes the rest.
const WIDTHS: [u16; 9] = [14, 8, 9, 10, 5, 6, 5, 7, 6];
/// The columns that a narrow terminal does not show, in this order: VERSION, LISTS, RELISTS, LAG, ERRORS, EV/S.
const DROPPED_FIRST: [usize; 6] = [3, 6, 7, 5, 8, 4];

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, overview: &Overview, theme: Theme) {
    let rows = overview.window.range(overview.kinds.len());
    let heights = [
        Constraint::Length(rows.len() as u16 + 1),
        Constraint::Length(1),
        Constraint::Length(2),
        Constraint::Length(1),
        Constraint::Min(0),
    ];
    let [table, _, details, _, feed] = Layout::vertical(heights).areas(area);
    let shown = overview.kinds[rows.clone()].iter().enumerate().map(|(at, kind)| {
        let is_chosen = rows.start + at == overview.window.chosen;
        let row = row(kind, &columns(area.width), theme);
        if is_chosen { row.style(Theme::chosen()) } else { row }
    });
    let columns = columns(area.width);
    let widths = columns.iter().map(|at| match at {
        0 => Constraint::Min(WIDTHS[0]),
        at => Constraint::Length(WIDTHS[*at]),
    });
    let all = overview.kinds.len();
    let head = columns.iter().map(|at| match at {
        // There are more above or below.
        0 if rows.len() < all => format!("KIND {}-{}/{all}", rows.start + 1, rows.end),
        at => HEAD[*at].to_owned(),
    });
    let head = Row::new(columns.iter().zip(head).map(|(at, text)| aligned(*at, text)));
    frame.render_widget(Table::new(shown, widths).header(head.style(theme.of(Highlight::Quiet))), table);
    if let Some(kind) = overview.chosen() {
        let about = Paragraph::new(about(kind, theme));
        // The error is in the second line.
        let about = if kind.last_error.is_none() { about.wrap(Wrap { trim: true }) } else { about };
        frame.render_widget(about, details);
    }
    let lines = overview.feed.iter().take(usize::from(feed.height)).map(|line| {
        Line::from(vec![
            Span::styled(format!("{} ", line.time), theme.of(Highlight::Quiet)),
            Span::styled(format!("{:<8} ", line.verb), theme.of(line.highlight)),
            Span::styled(shortened(&line.what, usize::from(feed.width) / 2), theme.of(Highlight::Strong)),
            Span::raw(format!("  {}", line.words)),
        ])
    });
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), feed);
}

/// Returns the columns that fit, so that no number is cut.
fn columns(width: u16) -> Vec<usize> {
    let mut columns: Vec<usize> = (0..HEAD.len()).collect();
    let mut dropped = DROPPED_FIRST.iter();
    while columns.iter().map(|at| WIDTHS[*at] + 1).sum::<u16>() > width + 1 {
        let Some(next) = dropped.next() else { break };
        columns.retain(|at| at != next);
    }
    columns
}

fn row(kind: &KindState, columns: &[usize], theme: Theme) -> Row<'static> {
    let sum = |counts: &std::collections::BTreeMap<String, u64>| counts.values().sum::<u64>().to_string();
    let cells = [
        kind.resource.clone(),
        kind.phase.name().to_owned(),
        grouped(kind.objects),
        kind.version.clone(),
        short(kind.rate),
        lag(kind.lag),
        kind.lists.to_string(),
        sum(&kind.relists),
        sum(&kind.errors),
    ];
    let highlight = match kind.phase {
        Phase::Watching => Some(Highlight::Came),
        Phase::Starting | Phase::Listing => Some(Highlight::Changed),
        Phase::Waiting | Phase::Stopped => Some(Highlight::Went),
    };
    Row::new(columns.iter().map(move |at| {
        let (at, cell) = (*at, aligned(*at, cells[*at].clone()));
        match highlight.filter(|_| at == 1) {
            Some(highlight) => cell.style(theme.of(highlight)),
            None => cell,
        }
    }))
}

/// Aligns names at the left and numbers at the right.
fn aligned(column: usize, text: String) -> Cell<'static> {
    let line = Line::raw(text);
    Cell::from(if column < 2 { line } else { line.right_aligned() })
}

/// Removes the middle of a long text: the ends of names differ most.
fn shortened(text: &str, width: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= width || width < 12 {
        return text.to_owned();
    }
    let (head, tail) = (width - 9, letters.len() - 7);
    letters[..head].iter().chain(&['.', '.']).chain(&letters[tail..]).collect()
}

fn lag(lag: Duration) -> String {
    match lag.as_millis() {
        millis @ 0..1000 => format!("{millis}ms"),
        _ => format!("{:.1}s", lag.as_secs_f64()),
    }
}

/// Returns details of a kind.
fn about(kind: &KindState, theme: Theme) -> Vec<Line<'static>> {
    let mut parts: Vec<_> = kind.kept.map(|kept| format!("cache {}", bytes(kept))).into_iter().collect();
    parts.push(format!("received {}", bytes(kind.bytes)));
    parts.extend(kind.since_received.map(|time| format!("last event {} ago", age(time))));
    let reasons = [("relists", &kind.relists), ("errors", &kind.errors)];
    let reasons = reasons.into_iter().filter(|(_, counts)| !counts.is_empty());
    parts.extend(reasons.map(|(name, counts)| format!("{name}: {}", counts_text(counts))));
    let known = Line::raw(format!("{}: {}", kind.resource, parts.join("; ")));
    let failure =
        kind.last_error.iter().map(|failure| Line::styled(failure.clone(), theme.of(Highlight::Went)));
    std::iter::once(known).chain(failure).collect()
}
