//! The lines above and below every page.

use super::theme::Theme;
use crate::number::{age, bytes, count, grouped, short};
use crate::paint::Highlight;
use crate::top::{
    kind_state::{KindState, Phase},
    object::Tab,
    query::{Direction, Listed},
    screen::Screen,
};
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
    widgets::Paragraph,
};

/// Draws the edges, and returns the area of the page.
pub(super) fn draw(frame: &mut Frame<'_>, screen: &Screen, theme: Theme) -> Rect {
    let rows = [Constraint::Length(1), Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)];
    let [title, place, body, keys] = Layout::vertical(rows).areas(frame.area());
    let Title { name, texts, usage } = Title::new(screen, title.width.into());
    let columns = [Constraint::Min(0), Constraint::Length(usage.chars().count() as u16)];
    let [left, right] = Layout::horizontal(columns).areas(title);
    let spans = [Span::styled(name, theme.of(Highlight::Strong)), Span::raw(texts)];
    frame.render_widget(Line::from_iter(spans), left);
    frame.render_widget(Paragraph::new(usage), right);
    frame.render_widget(title_line(screen, theme), place);
    frame.render_widget(Paragraph::new(hints(screen)).style(theme.of(Highlight::Quiet)), keys);
    body
}

/// The parts of the first line.
struct Title {
    name: &'static str,
    texts: String,
    usage: String,
}

impl Title {
    /// Omits parts that do not fit: first the figures of the process, then the server, then the name of the program. The context, the
    /// namespaces and the selectors are always shown, because they identify the objects.
    fn new(screen: &Screen, width: usize) -> Self {
        let [server, scope] = [screen.server.as_str(), screen.scope.as_str()];
        let join = |parts: &[&str]| {
            let parts: Vec<_> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
            parts.join("  ")
        };
        let name = "informer  ";
        let most = if scope.is_empty() { server } else { scope };
        let titles = [
            Self { name, texts: join(&[server, scope]), usage: usage(screen) },
            Self { name, texts: join(&[server, scope]), usage: String::new() },
            Self { name, texts: most.to_owned(), usage: String::new() },
        ];
        let least = Self { name: "", texts: most.to_owned(), usage: String::new() };
        titles.into_iter().find(|title| title.width() <= width).unwrap_or(least)
    }

    fn width(&self) -> usize {
        [self.name, &self.texts, &self.usage].map(|part| part.chars().count()).iter().sum()
    }
}

fn usage(screen: &Screen) -> String {
    let usage = &screen.usage;
    let mut parts = vec![format!("up {}", age(usage.uptime))];
    parts.extend(usage.rss_bytes.map(|rss| format!("rss {}", bytes(rss))));
    parts.extend(usage.cpu_percent.map(|percent| format!("cpu {percent:.0}%")));
    format!(" {}", parts.join("  "))
}

/// Returns the title of the page, or the current notice.
fn title_line(screen: &Screen, theme: Theme) -> Line<'static> {
    if let Some(prompt) = &screen.prompt {
        let problem = prompt.problem.as_ref().map_or(String::new(), |problem| format!("  {problem}"));
        let text = Span::styled(format!("add a resource: {}_", prompt.text), theme.of(Highlight::Strong));
        return Line::from(vec![text, Span::styled(problem, theme.of(Highlight::Went))]);
    }
    let resource = |at: usize| screen.overview.kind(at).map_or(String::new(), |kind| kind.resource.clone());
    if let Some(object) = &screen.object {
        let tab = match object.tab {
            Tab::Yaml => "yaml",
            Tab::Changes => "last changes",
        };
        let mut text = format!("{} > {} > {tab}", resource(object.at), object.key);
        if object.is_typing || !object.search.is_empty() {
            text += &format!(", /{}{}", object.search, if object.is_typing { "_" } else { "" });
        }
        return with_staleness(text, screen.overview.kind(object.at), theme);
    }
    if let Some(objects) = &screen.objects {
        let query = &objects.query;
        let number = grouped(objects.keys.len() as u64);
        let mut text = match query.listed {
            Listed::Existing => format!("{} > {number} by {}", resource(objects.at), query.order.name()),
            Listed::Deleted => format!("{} > {number} deleted in the last hour", resource(objects.at)),
        };
        if query.direction == Direction::Reversed {
            text += ", reversed";
        }
        for filter in &query.filters {
            text += &format!(", {} {}", filter.index.name(), filter.value);
        }
        if query.problems_only {
            text += ", problems only";
        }
        if objects.is_typing || !query.search.is_empty() {
            text += &format!(", /{}{}", query.search, if objects.is_typing { "_" } else { "" });
        }
        return with_staleness(text, screen.overview.kind(objects.at), theme);
    }
    match &screen.notice {
        Some(notice) => Line::styled(notice.clone(), theme.of(Highlight::Went)),
        None => {
            let objects: u64 = screen.overview.kinds.iter().map(|kind| kind.objects).sum();
            let rate: f64 = screen.overview.kinds.iter().map(|kind| kind.rate).sum();
            let mut text = format!("{}, {} changes/s", count(objects, "object"), short(rate));
            if let Some(column) = screen.overview.order {
                text += &format!(", by {}", column.name());
            }
            let stale = screen.overview.kinds.iter().filter(|kind| staleness(kind).is_some()).count();
            if stale == 0 {
                return Line::raw(text);
            }
            // The warning comes first, because the end may not fit.
            let warning = format!("STALE: {stale} of {} kinds  ", screen.overview.kinds.len());
            Line::from(vec![Span::styled(warning, theme.of(Highlight::Went)), Span::raw(text)])
        }
    }
}

/// Adds a warning if the objects may be outdated: first that they are, and at the end, which may not fit, the reason.
fn with_staleness(text: String, kind: Option<&KindState>, theme: Theme) -> Line<'static> {
    let text = Span::styled(text, theme.of(Highlight::Strong));
    let Some(reason) = kind.and_then(staleness) else { return Line::from(text) };
    let warning = |text: String| Span::styled(text, theme.of(Highlight::Went));
    Line::from(vec![warning("STALE  ".to_owned()), text, warning(format!("  {reason}"))])
}

/// Returns why a kind may not be up to date.
fn staleness(kind: &KindState) -> Option<String> {
    let since = kind.since_received.map_or(String::new(), |time| format!(" for {}", age(time)));
    let failure = kind.last_error.as_ref().map_or(String::new(), |failure| format!(": {failure}"));
    match kind.phase {
        Phase::Waiting => Some(format!("not connected{since}{failure}")),
        Phase::Stopped => Some("stopped".to_owned()),
        Phase::Starting | Phase::Listing | Phase::Watching => None,
    }
}

fn hints(screen: &Screen) -> &'static str {
    match (&screen.object, &screen.objects) {
        _ if screen.has_help => "any key closes the help",
        _ if screen.prompt.is_some() => "type a resource, such as cronjobs   enter add   esc cancel",
        (Some(object), _) if object.is_typing => "type to search   enter keep   esc clear",
        (Some(_), _) => "tab yaml/changes   / search   up/down scroll   esc back   ? help   q quit",
        (None, Some(objects)) if objects.is_typing => "type to search   enter keep   esc clear",
        (None, Some(objects)) if objects.picker.is_some() => {
            "type to search   up/down choose   enter filter   esc back"
        }
        (None, Some(_)) => "enter open  / search  p problems  d deleted  s sort  n/m/o filter  ? help",
        (None, None) => "enter open   up/down choose   s sort   : add a kind   ? help   q quit",
    }
}
