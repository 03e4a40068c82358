//! The third page: one object.

use super::window::Window;
use crate::paint::Tone;
use kube_informer_wire::Key;

/// One object, whole or by its changes.
#[derive(Clone, Debug)]
pub(super) struct Object {
    /// The place of its kind.
    pub(super) at: usize,
    pub(super) key: Key,
    pub(super) tab: Tab,
    pub(super) lines: Vec<(Option<Tone>, String)>,
    pub(super) window: Window,
    /// The state of the object that the lines show.
    pub(super) shown: Option<Shown>,
}

/// What is seen of an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tab {
    #[default]
    Yaml,
    Changes,
}

/// What the lines of a page were made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) tab: Tab,
    /// Nothing once the object is gone.
    pub(super) version: Option<String>,
    /// The number of its last change, which may come later than the cache shows it.
    pub(super) last_change: Option<u64>,
}

impl Object {
    pub(super) fn of(at: usize, key: Key) -> Self {
        Self { at, key, tab: Tab::default(), lines: Vec::new(), window: Window::default(), shown: None }
    }

    pub(super) fn turn(&mut self) {
        self.tab = match self.tab {
            Tab::Yaml => Tab::Changes,
            Tab::Changes => Tab::Yaml,
        };
        self.window.first = 0;
    }
}
