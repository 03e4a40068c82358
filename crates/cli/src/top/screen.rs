//! The state of the screen, and the effects of keys.

use super::{
    kind_state::ProcessUsage,
    object::Object,
    objects::Objects,
    overview::Overview,
    query::{Index, Listed},
    window::{Step, Window},
};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The state of the screen. Keys go to the topmost page.
#[derive(Clone, Debug, Default)]
pub(super) struct Screen {
    /// The URL of the server.
    pub(super) server: String,
    /// The context, the namespaces and the selectors.
    pub(super) scope: String,
    pub(super) usage: ProcessUsage,
    /// A notice, such as an injected fault.
    pub(super) notice: Option<String>,
    pub(super) overview: Overview,
    pub(super) objects: Option<Objects>,
    pub(super) object: Option<Object>,
    pub(super) has_help: bool,
    /// The prompt for a resource to add.
    pub(super) prompt: Option<Prompt>,
}

/// The prompt for a resource to add.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Prompt {
    pub(super) text: String,
    /// Why the resource of the last attempt cannot be added.
    pub(super) problem: Option<String>,
    /// Whether Enter was pressed, and the session has to add the resource.
    pub(super) is_submitted: bool,
}

impl Prompt {
    fn typed(&mut self, code: KeyCode) {
        match code {
            KeyCode::Char(letter) => self.text.push(letter),
            KeyCode::Backspace => drop(self.text.pop()),
            KeyCode::Enter => self.is_submitted = !self.text.trim().is_empty(),
            _ => return,
        }
        self.problem = None;
    }
}

/// Whether the session continues after a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    GoOn,
    Quit,
}

/// Lines above and below the body of a page.
const FRAME: u16 = 4;

impl Screen {
    /// Adapts the pages to the height of the terminal.
    pub(super) fn resized(&mut self, height: u16) {
        let body = usize::from(height.saturating_sub(FRAME));
        // The overview shares its body with details and the feed.
        self.overview.window.height = overview_rows(height, self.overview.kinds.len());
        self.overview.window.fit(self.overview.kinds.len());
        if let Some(objects) = &mut self.objects {
            objects.window.height = body;
            objects.window.fit(objects.keys.len());
            if let Some(picker) = &mut objects.picker {
                picker.window.height = body;
            }
        }
        if let Some(object) = &mut self.object {
            object.window.height = body;
        }
    }

    /// Handles a key.
    pub(super) fn key(&mut self, key: KeyEvent) -> Flow {
        if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
            return Flow::Quit;
        }
        if self.has_help {
            self.has_help = false;
            return Flow::GoOn;
        }
        if let Some(prompt) = &mut self.prompt {
            if key.code == KeyCode::Esc {
                self.prompt = None;
            } else {
                prompt.typed(key.code);
            }
            return Flow::GoOn;
        }
        let is_typing = self.objects.as_ref().is_some_and(|objects| objects.is_typing);
        if let Some(objects) = self.objects.as_mut().filter(|_| is_typing && self.object.is_none()) {
            objects.typed(key.code);
            return Flow::GoOn;
        }
        if let Some(objects) = self.objects.as_mut().filter(|objects| objects.picker.is_some()) {
            picker_key(objects, key.code);
            return Flow::GoOn;
        }
        if let Some(object) = self.object.as_mut().filter(|object| object.is_typing) {
            object.typed(key.code);
            return Flow::GoOn;
        }
        match key.code {
            KeyCode::Char('q') => return Flow::Quit,
            KeyCode::Char('?') => self.has_help = true,
            KeyCode::Char(':') => self.prompt = Some(Prompt::default()),
            code => self.page_key(code),
        }
        Flow::GoOn
    }

    fn page_key(&mut self, code: KeyCode) {
        match (&mut self.object, &mut self.objects) {
            (Some(object), _) => match code {
                KeyCode::Esc if !object.search.is_empty() => object.search.clear(),
                KeyCode::Esc | KeyCode::Backspace | KeyCode::Left => self.object = None,
                KeyCode::Tab => object.turn(),
                KeyCode::Char('/') => object.is_typing = true,
                KeyCode::Char('n') if !object.search.is_empty() => object.find(object.window.first + 1),
                code => {
                    let rows = object.lines.len();
                    step(code).into_iter().for_each(|step| object.window.scroll(step, rows));
                }
            },
            (None, Some(objects)) => match code {
                KeyCode::Esc | KeyCode::Backspace | KeyCode::Left => leave(&mut self.objects),
                KeyCode::Enter | KeyCode::Right => {
                    let (at, chosen) = (objects.at, objects.chosen().cloned());
                    self.object = chosen.map(|key| Object::of(at, key));
                }
                code => objects_key(objects, code),
            },
            (None, None) => match code {
                KeyCode::Enter | KeyCode::Right => {
                    self.objects = self.overview.chosen().map(|kind| Objects::of(kind.at));
                }
                KeyCode::Char('s') => self.overview.next_order(),
                code => step(code).into_iter().for_each(|step| self.overview.step(step)),
            },
        }
    }
}

/// Returns the number of visible kinds: at most half of the screen.
pub(super) fn overview_rows(height: u16, kinds: usize) -> usize {
    kinds.min(usize::from(height.saturating_sub(FRAME) / 2)).max(1)
}

/// Removes the last filter of a list, or closes the list.
fn leave(page: &mut Option<Objects>) {
    match page {
        Some(objects) if !objects.query.search.is_empty() => objects.query.search.clear(),
        Some(objects) if objects.query.problems_only => objects.query.problems_only = false,
        Some(objects) if objects.query.listed == Listed::Deleted => objects.query.listed = Listed::Existing,
        Some(objects) if !objects.query.filters.is_empty() => drop(objects.query.filters.pop()),
        page => *page = None,
    }
}

fn objects_key(objects: &mut Objects, code: KeyCode) {
    match code {
        KeyCode::Char('/') => objects.is_typing = true,
        KeyCode::Char('s') => objects.query.order = objects.query.order.next(),
        KeyCode::Char('r') => objects.query.direction = objects.query.direction.toggled(),
        KeyCode::Char('d') => {
            objects.query.listed = objects.query.listed.toggled();
            objects.window = Window { height: objects.window.height, ..Window::default() };
        }
        KeyCode::Char('p') => {
            objects.query.problems_only = !objects.query.problems_only;
            objects.window = Window { height: objects.window.height, ..Window::default() };
        }
        KeyCode::Char('n') => objects.pick(Index::Namespace),
        KeyCode::Char('o') => objects.pick(Index::Owner),
        KeyCode::Char('m') => objects.pick(Index::Node),
        code => step(code).into_iter().for_each(|step| objects.step(step)),
    }
}

/// Handles a key while a value is selected: letters narrow the values.
fn picker_key(objects: &mut Objects, code: KeyCode) {
    let Some(picker) = &mut objects.picker else { return };
    match code {
        KeyCode::Enter => objects.picked(),
        KeyCode::Char(letter) => picker.search_by(format!("{}{letter}", picker.search)),
        KeyCode::Backspace if !picker.search.is_empty() => {
            let mut search = picker.search.clone();
            search.pop();
            picker.search_by(search);
        }
        KeyCode::Esc if !picker.search.is_empty() => picker.search_by(String::new()),
        KeyCode::Esc | KeyCode::Backspace | KeyCode::Left => objects.picker = None,
        code => step(code).into_iter().for_each(|step| picker.step(step)),
    }
}

fn step(code: KeyCode) -> Option<Step> {
    Some(match code {
        KeyCode::Up | KeyCode::Char('k') => Step::Up,
        KeyCode::Down | KeyCode::Char('j') => Step::Down,
        KeyCode::PageUp => Step::PageUp,
        KeyCode::PageDown | KeyCode::Char(' ') => Step::PageDown,
        KeyCode::Home | KeyCode::Char('g') => Step::Top,
        KeyCode::End | KeyCode::Char('G') => Step::Bottom,
        _ => return None,
    })
}
