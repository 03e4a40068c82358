//! What stands above and below every page.

use super::theme::Theme;
use crate::number::{age, bytes, count, grouped, short};
use crate::paint::Tone;
use crate::top::{
    object::Tab,
    reading::{Phase, Reading},
    screen::Screen,
};
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
    widgets::Paragraph,
};

/// Draws the edges, and says where the page goes.
pub(super) fn draw(frame: &mut Frame<'_>, screen: &Screen, theme: Theme) -> Rect {
    let rows = [Constraint::Length(1), Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)];
    let [title, place, body, keys] = Layout::vertical(rows).areas(frame.area());
    let machine = machine(screen);
    let columns = [Constraint::Min(0), Constraint::Length(machine.chars().count() as u16)];
    let [left, right] = Layout::horizontal(columns).areas(title);
    let name = Span::styled("informer  ", theme.of(Tone::Strong));
    let scope = if screen.scope.is_empty() { String::new() } else { format!("  {}", screen.scope) };
    frame.render_widget(Line::from(vec![name, Span::raw(screen.server.as_str()), Span::raw(scope)]), left);
    frame.render_widget(Paragraph::new(machine), right);
    frame.render_widget(whereabouts(screen, theme), place);
    frame.render_widget(Paragraph::new(hints(screen)).style(theme.of(Tone::Quiet)), keys);
    body
}

fn machine(screen: &Screen) -> String {
    let machine = &screen.machine;
    let mut parts = vec![format!("up {}", age(machine.uptime))];
    parts.extend(machine.rss_bytes.map(|rss| format!("rss {}", bytes(rss))));
    parts.extend(machine.cpu_percent.map(|percent| format!("cpu {percent:.0}%")));
    format!(" {}", parts.join("  "))
}

/// Which page this is, or what is done to the cluster just now.
fn whereabouts(screen: &Screen, theme: Theme) -> Line<'static> {
    let resource =
        |at: usize| screen.overview.kinds.get(at).map_or(String::new(), |kind| kind.resource.clone());
    if let Some(object) = &screen.object {
        let tab = match object.tab {
            Tab::Yaml => "yaml",
            Tab::Changes => "last changes",
        };
        let mut text = format!("{} > {} > {tab}", resource(object.at), object.key);
        if object.is_typing || !object.search.is_empty() {
            text += &format!(", /{}{}", object.search, if object.is_typing { "_" } else { "" });
        }
        return with_staleness(text, screen.overview.kinds.get(object.at), theme);
    }
    if let Some(objects) = &screen.objects {
        let query = &objects.query;
        let mut text = format!(
            "{} > {} by {}",
            resource(objects.at),
            grouped(objects.keys.len() as u64),
            query.order.name()
        );
        for filter in &query.filters {
            text += &format!(", {} {}", filter.index.name(), filter.value);
        }
        if query.problems_only {
            text += ", problems only";
        }
        if objects.is_typing || !query.search.is_empty() {
            text += &format!(", /{}{}", query.search, if objects.is_typing { "_" } else { "" });
        }
        return with_staleness(text, screen.overview.kinds.get(objects.at), theme);
    }
    match &screen.notice {
        Some(notice) => Line::styled(notice.clone(), theme.of(Tone::Went)),
        None => {
            let objects: u64 = screen.overview.kinds.iter().map(|kind| kind.objects).sum();
            let rate: f64 = screen.overview.kinds.iter().map(|kind| kind.rate).sum();
            let text = format!("{}, {} changes/s", count(objects, "object"), short(rate));
            let stale = screen.overview.kinds.iter().filter(|kind| staleness(kind).is_some()).count();
            if stale == 0 {
                return Line::raw(text);
            }
            let warning = format!("  STALE: {stale} of {} kinds", screen.overview.kinds.len());
            Line::from(vec![Span::raw(text), Span::styled(warning, theme.of(Tone::Went))])
        }
    }
}

/// Appends a warning if what is shown may not be the current state.
fn with_staleness(text: String, kind: Option<&Reading>, theme: Theme) -> Line<'static> {
    let mut spans = vec![Span::styled(text, theme.of(Tone::Strong))];
    if let Some(warning) = kind.and_then(staleness) {
        spans.push(Span::styled(format!("  STALE: {warning}"), theme.of(Tone::Went)));
    }
    Line::from(spans)
}

/// Returns why a kind may not be up to date.
fn staleness(kind: &Reading) -> Option<String> {
    let since = kind.heard.map_or(String::new(), |heard| format!(" for {}", age(heard)));
    let trouble = kind.trouble.as_ref().map_or(String::new(), |trouble| format!(": {trouble}"));
    match kind.phase {
        Phase::Waiting => Some(format!("not connected{since}{trouble}")),
        Phase::Stopped => Some("stopped".to_owned()),
        Phase::Starting | Phase::Listing | Phase::Watching => None,
    }
}

fn hints(screen: &Screen) -> &'static str {
    match (&screen.object, &screen.objects) {
        _ if screen.has_help => "any key closes the help",
        (Some(object), _) if object.is_typing => "type to search   enter keep   esc clear",
        (Some(_), _) => "tab yaml/changes   / search   up/down scroll   esc back   ? help   q quit",
        (None, Some(objects)) if objects.is_typing => "type to search   enter keep   esc clear",
        (None, Some(objects)) if objects.picker.is_some() => "enter choose   esc back",
        (None, Some(_)) => "enter open  / search  p problems  s sort  n/m/o filter  esc back  ? help",
        (None, None) => "enter open   up/down choose   ? help   q quit",
    }
}
