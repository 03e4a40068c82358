//! The third page: one object.

use super::{query::Search, window::Window};
use crate::paint::Highlight;
use crossterm::event::KeyCode;
use kube_informer_wire::Key;

/// The page of one object, with its YAML or its changes.
#[derive(Clone, Debug)]
pub(super) struct Object {
    /// The position of its kind.
    pub(super) at: usize,
    pub(super) key: Key,
    pub(super) tab: Tab,
    pub(super) lines: Vec<(Option<Highlight>, String)>,
    pub(super) window: Window,
    /// The state of the object that the lines show.
    pub(super) shown: Option<Shown>,
    pub(super) search: String,
    pub(super) is_typing: bool,
}

/// The part of an object that is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tab {
    #[default]
    Yaml,
    Changes,
}

/// The state that the lines of a page show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) tab: Tab,
    /// `None` if the object is deleted.
    pub(super) version: Option<String>,
    /// The number of its last change, which may be recorded later than the cache changes.
    pub(super) last_change: Option<u64>,
}

impl Object {
    pub(super) fn of(at: usize, key: Key) -> Self {
        Self {
            at,
            key,
            tab: Tab::default(),
            lines: Vec::new(),
            window: Window::default(),
            shown: None,
            search: String::new(),
            is_typing: false,
        }
    }

    /// Handles a key while a search is typed, and scrolls to the first match.
    pub(super) fn typed(&mut self, key: KeyCode) {
        match key {
            KeyCode::Char(letter) => self.search.push(letter),
            KeyCode::Backspace => drop(self.search.pop()),
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => {
                self.is_typing = false;
                self.search.clear();
            }
            _ => return,
        }
        if self.is_typing {
            self.find(self.window.first);
        }
    }

    /// Scrolls to the next line that matches the search, from `from` on and then from the start.
    pub(super) fn find(&mut self, from: usize) {
        let search = Search::new(&self.search);
        let order = (from..self.lines.len()).chain(0..from.min(self.lines.len()));
        let mut found = order.filter(|at| !self.search.is_empty() && search.finds(&self.lines[*at].1));
        if let Some(at) = found.next() {
            let last = self.lines.len().saturating_sub(self.window.height.max(1));
            self.window.first = at.min(last);
        }
    }

    /// Returns whether a line matches the search.
    pub(super) fn is_match(&self, line: &str) -> bool {
        !self.search.is_empty() && Search::new(&self.search).finds(line)
    }

    pub(super) fn turn(&mut self) {
        self.tab = match self.tab {
            Tab::Yaml => Tab::Changes,
            Tab::Changes => Tab::Yaml,
        };
        self.window.first = 0;
    }
}
