//! What the keys and columns mean.

use super::theme::Theme;
use crate::paint::Tone;
use ratatui::{
    Frame,
    layout::Rect,
    widgets::{Clear, Paragraph},
};

const HELP: &str = " enter, right    open the chosen kind or object
 esc, left       back; first takes a search or filter away
 up down j k     one row;  page up/down, space: a page;  g G: first, last
 /               search names         s   sort: name, age, change
 n  m  o         filter by namespace, node, owner
 tab             yaml or last changes of an object
 q, Ctrl-C       quit

 PHASE     listing: asks for the whole state; watching: follows changes;
           waiting: something failed, and it tries again soon
 VERSION   up to which version of the server the cache has everything
 LAG       how long the oldest change waits to be shown
 LISTS     how often the whole state was asked for, RELISTS: after a failure
";

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, theme: Theme) {
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(HELP).style(theme.of(Tone::Strong)), area);
}
