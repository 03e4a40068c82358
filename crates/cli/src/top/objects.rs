//! The second page: the objects of a kind.

use super::{
    query::{Filter, Index, Query, Search},
    window::{Step, Window},
};
use crossterm::event::KeyCode;
use kube_informer_wire::Key;
use std::sync::Arc;

/// The page with the objects of a kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Objects {
    /// The position of the kind.
    pub(super) at: usize,
    pub(super) query: Query,
    /// The selected objects in order, as of the last result.
    pub(super) keys: Arc<Vec<Key>>,
    pub(super) window: Window,
    /// The visible rows.
    pub(super) rows: Vec<Row>,
    pub(super) is_typing: bool,
    pub(super) picker: Option<Picker>,
    /// The query of `keys`.
    pub(super) answered: Option<Query>,
}

/// The cells of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) age: String,
    pub(super) status: String,
}

/// The values of an index, of which one is selected.
#[derive(Clone, Debug)]
pub(super) struct Picker {
    pub(super) index: Index,
    /// `None` until they are read.
    pub(super) values: Option<Vec<String>>,
    /// Narrows the values while it is typed.
    pub(super) search: String,
    pub(super) window: Window,
}

impl Objects {
    pub(super) fn of(at: usize) -> Self {
        Self { at, ..Self::default() }
    }

    /// Replaces the objects. The selected object stays selected if it still exists.
    pub(super) fn answered(&mut self, query: Query, keys: Vec<Key>) {
        let chosen = self.chosen().filter(|_| self.answered.as_ref() == Some(&query)).cloned();
        self.keys = Arc::new(keys);
        self.answered = Some(query);
        if let Some(at) = chosen.and_then(|chosen| self.keys.iter().position(|key| *key == chosen)) {
            self.window.chosen = at;
        }
        self.window.fit(self.keys.len());
    }

    pub(super) fn chosen(&self) -> Option<&Key> {
        self.keys.get(self.window.chosen)
    }

    /// Returns the keys of the visible objects.
    pub(super) fn in_sight(&self) -> &[Key] {
        &self.keys[self.window.range(self.keys.len())]
    }

    pub(super) fn step(&mut self, step: Step) {
        self.window.step(step, self.keys.len());
    }

    /// Handles a key while a search is typed.
    pub(super) fn typed(&mut self, key: KeyCode) {
        match key {
            KeyCode::Char(letter) => self.query.search.push(letter),
            KeyCode::Backspace => drop(self.query.search.pop()),
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => {
                self.is_typing = false;
                self.query.search.clear();
            }
            _ => return,
        }
        self.window = Window { height: self.window.height, ..Window::default() };
    }

    /// Opens the picker for a value of an index.
    pub(super) fn pick(&mut self, index: Index) {
        self.picker = Some(Picker { index, values: None, search: String::new(), window: Window::default() });
    }

    /// Filters by the selected value; an empty one removes the filter. The picker stays open if the search finds no value.
    pub(super) fn picked(&mut self) {
        let Some(picker) = &self.picker else { return };
        let Some(value) = picker.shown().get(picker.window.chosen).map(|value| (*value).to_owned()) else {
            return;
        };
        self.query.filter_by(Filter { index: picker.index, value });
        self.picker = None;
        self.window = Window { height: self.window.height, ..Window::default() };
    }
}

impl Picker {
    /// Returns the values that the search finds. The empty value, which removes the filter, is shown without a search.
    pub(super) fn shown(&self) -> Vec<&str> {
        let values = self.values.iter().flatten().map(String::as_str);
        if self.search.is_empty() {
            return values.collect();
        }
        let search = Search::new(&self.search);
        values.filter(|value| !value.is_empty() && search.finds(value)).collect()
    }

    pub(super) fn step(&mut self, step: Step) {
        let rows = self.shown().len();
        self.window.step(step, rows);
    }

    /// Changes the search, and selects the first value that it finds.
    pub(super) fn search_by(&mut self, search: String) {
        self.search = search;
        self.window = Window { height: self.window.height, ..Window::default() };
    }
}
