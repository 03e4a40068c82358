//! What a change did, on its way to the log.

use super::event_log::Part;
use crate::{cache::Entry, cache::Tell, event::Event};
use std::sync::Arc;

/// Collects what a change did, apart by who wants to hear of it.
pub(crate) struct Tidings<K> {
    pub(super) parts: Vec<Part<K>>,
    wants: Wants,
    /// How many there were, whoever wants to hear of them.
    pub(super) changes: u64,
}

/// What followers want to hear of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wants {
    Nothing,
    Changes,
    /// Also what is told again.
    Everything,
}

impl<K> Tidings<K> {
    pub(super) fn for_those_who_want(wants: Wants) -> Self {
        Self { parts: Vec::new(), wants, changes: 0 }
    }
}

impl<K> Tell<K> for Tidings<K> {
    fn change(&mut self, event: Event<K>) {
        self.changes += 1;
        if self.wants == Wants::Nothing {
            return;
        }
        match self.parts.last_mut() {
            Some(Part::Changes(events)) if events.len() < longest(&event) => events.push(event),
            _ => self.parts.push(Part::Changes(vec![event])),
        }
    }

    fn again(&mut self, event: Event<K>) {
        if self.wants != Wants::Everything {
            return;
        }
        match self.parts.last_mut() {
            Some(Part::Again(events)) if events.len() < longest(&event) => events.push(event),
            _ => self.parts.push(Part::Again(vec![event])),
        }
    }

    fn initial(&mut self, entries: Vec<Arc<Entry<K>>>) {
        self.changes += entries.len() as u64;
        if self.wants != Wants::Nothing && !entries.is_empty() {
            self.parts.push(Part::Initial(entries));
        }
    }
}

/// How many events are written to the log in one, and so freed in one when all have read them.
///
/// One whose objects are decoded when they are looked at grows by that.
fn longest<K>(event: &Event<K>) -> usize {
    if event.object().is_packed() { 32 } else { 1024 }
}
