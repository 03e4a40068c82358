//! The help page.

use super::theme::Theme;
use crate::paint::Highlight;
use ratatui::{
    Frame,
    layout::Rect,
    widgets::{Clear, Paragraph},
};

const HELP: &str = " enter, right    open the chosen kind or object
 esc, left       clear the search or the last filter, then go back
 up down j k     one row;  page up/down, space: a page;  g G: first, last
 /               search names, labels and status (regex); n: next in yaml
 p               problems only        d   deleted in the last hour
 s  r            sort by the next column; reverse the order
 :               add a resource, such as cronjobs or widgets.example.com
 n  m  o         filter by namespace, node, owner: type to search the values
 tab             yaml or last changes of an object
 q, Ctrl-C       quit

 PHASE     listing: initial list or relist; watching: receiving changes;
           waiting: an error occurred, retrying soon
 VERSION   the resourceVersion of the cache
 LAG       the age of the oldest change that is not shown yet
 LISTS     number of lists; RELISTS: those after an error
";

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, theme: Theme) {
    frame.render_widget(Clear, area);
    let (lines, height) = (HELP.lines().count(), usize::from(area.height));
    let text = match lines > height {
        true => {
            let shown = height.saturating_sub(1);
            let mut text: Vec<String> = HELP.lines().take(shown).map(str::to_owned).collect();
            text.push(format!(" .. {} more lines in a taller terminal", lines - shown));
            text.join("\n")
        }
        false => HELP.to_owned(),
    };
    frame.render_widget(Paragraph::new(text).style(theme.of(Highlight::Strong)), area);
}
