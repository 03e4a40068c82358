//! Collects the events of one change of the cache before they are appended to the log.

use super::event_log::LogEntry;
use crate::{
    cache::{Entry, EventSink},
    event::Event,
};
use std::sync::Arc;

/// The events of one change of the cache, grouped into log entries.
pub(crate) struct EventBatch<K> {
    pub(super) entries: Vec<LogEntry<K>>,
    /// The number of changes, whether or not they are in `entries`.
    pub(super) changes: u64,
    audience: Audience,
}

/// The kinds of events that the current subscribers receive. Other events are not collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Audience {
    /// There are no subscribers.
    Empty,
    /// No subscriber resyncs.
    Changes,
    /// Some subscriber also receives unchanged objects.
    Resyncs,
}

impl<K> EventBatch<K> {
    pub(super) fn new(audience: Audience) -> Self {
        Self { entries: Vec::new(), changes: 0, audience }
    }
}

impl<K> EventSink<K> for EventBatch<K> {
    fn changed(&mut self, event: Event<K>) {
        self.changes += 1;
        if self.audience == Audience::Empty {
            return;
        }
        match self.entries.last_mut() {
            Some(LogEntry::Changes(events)) if events.len() < max_entry_len(&event) => events.push(event),
            _ => self.entries.push(LogEntry::Changes(vec![event])),
        }
    }

    fn resynced(&mut self, event: Event<K>) {
        if self.audience != Audience::Resyncs {
            return;
        }
        match self.entries.last_mut() {
            Some(LogEntry::Resynced(events)) if events.len() < max_entry_len(&event) => events.push(event),
            _ => self.entries.push(LogEntry::Resynced(vec![event])),
        }
    }

    fn initial_list(&mut self, entries: Vec<Arc<Entry<K>>>) {
        self.changes += entries.len() as u64;
        if self.audience != Audience::Empty && !entries.is_empty() {
            self.entries.push(LogEntry::InitialList(entries));
        }
    }
}

/// Returns the maximum length of an entry. Its events are freed together, and compressed objects grow when they are read.
fn max_entry_len<K>(event: &Event<K>) -> usize {
    if event.object().is_stored_encoded() { 32 } else { 1024 }
}
