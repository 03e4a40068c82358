//! A log of events that is written once and read by every subscriber at its own pace.

use crate::{
    cache::{Entry, EventSink, Snapshot},
    event::Event,
};
use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};
use tokio::time::Instant;

/// One entry of the log.
pub(super) enum LogEntry<K> {
    /// Changes of the cache.
    Changes(Vec<Event<K>>),
    /// Objects that were received again unchanged, for subscribers that resync.
    Resynced(Vec<Event<K>>),
    /// A resync of some subscribers with the state of the cache at this point. Its length is one.
    Resync { snapshot: Arc<Snapshot<K>>, subscribers: Box<[u64]> },
    /// The first list of an empty cache, in list order. Its length is one.
    InitialList(Vec<Arc<Entry<K>>>),
}

/// The writing end of the log.
pub(super) struct EventLog<K> {
    tail: Arc<Slot<K>>,
    end: u64,
    changes_end: u64,
}

/// A place in the log that is written once. The last slot is empty.
///
/// Each cursor holds the slot that it reads next, so a slot is freed when every cursor has passed it.
struct Slot<K> {
    written: OnceLock<Written<K>>,
}

struct Written<K> {
    /// Shared apart from the slot, so that reading an entry does not keep the slots after it alive.
    entry: Arc<LogEntry<K>>,
    received: Instant,
    next: Arc<Slot<K>>,
}

/// The position of a subscriber in the log.
pub(super) struct Cursor<K> {
    slot: Arc<Slot<K>>,
    /// The number of events of the slot that have been read.
    offset: usize,
    position: u64,
}

/// Events of one entry that were read from the log.
pub(super) struct EventRange<K> {
    pub(super) entry: Arc<LogEntry<K>>,
    /// The log position of the first event.
    pub(super) position: u64,
    pub(super) received: Instant,
    range: Range<usize>,
}

impl<K> LogEntry<K> {
    fn len(&self) -> usize {
        match self {
            Self::Changes(events) | Self::Resynced(events) => events.len(),
            Self::Resync { .. } | Self::InitialList(_) => 1,
        }
    }

    /// Returns the objects if this is an initial list.
    pub(super) fn initial_list(&self) -> &[Arc<Entry<K>>] {
        match self {
            Self::InitialList(entries) => entries,
            Self::Changes(_) | Self::Resynced(_) | Self::Resync { .. } => &[],
        }
    }
}

impl<K> EventLog<K> {
    pub(super) fn new() -> Self {
        Self { tail: Arc::new(Slot::empty()), end: 0, changes_end: 0 }
    }

    /// Returns the position behind the last entry.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Returns the position behind the last entry that is not a resync.
    pub(super) fn changes_end(&self) -> u64 {
        self.changes_end
    }

    /// Appends an entry that is not empty.
    pub(super) fn append(&mut self, entry: LogEntry<K>, received: Instant) {
        let next = Arc::new(Slot::empty());
        self.end += entry.len() as u64;
        if !matches!(entry, LogEntry::Resync { .. }) {
            self.changes_end = self.end;
        }
        let written = Written { entry: Arc::new(entry), received, next: Arc::clone(&next) };
        let tail = std::mem::replace(&mut self.tail, next);
        assert!(tail.written.set(written).is_ok(), "only the log writes slots, each of them once");
    }

    /// Returns a cursor at the end of the log.
    pub(super) fn cursor(&self) -> Cursor<K> {
        Cursor { slot: Arc::clone(&self.tail), offset: 0, position: self.end }
    }
}

impl<K> Slot<K> {
    fn empty() -> Self {
        Self { written: OnceLock::new() }
    }
}

/// Frees a chain of slots in a loop: dropping each slot from within the drop of the previous one could overflow the stack.
impl<K> Drop for Slot<K> {
    fn drop(&mut self) {
        let mut next = self.written.take().map(|written| written.next);
        while let Some(mut slot) = next.and_then(Arc::into_inner) {
            next = slot.written.take().map(|written| written.next);
        }
    }
}

impl<K> Cursor<K> {
    /// Returns a cursor of a log that stays empty.
    pub(super) fn detached() -> Self {
        EventLog::new().cursor()
    }

    /// Returns the position of the next event to read.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Returns the entry to read next.
    pub(super) fn peek(&self) -> Option<&LogEntry<K>> {
        self.slot.written.get().map(|written| &*written.entry)
    }

    /// Returns when the next entry was received.
    pub(super) fn received(&self) -> Option<Instant> {
        self.slot.written.get().map(|written| written.received)
    }

    /// Reads at most `max` events of one entry and advances the cursor. `None` at the end of the log.
    pub(super) fn read(&mut self, max: usize) -> Option<EventRange<K>> {
        let written = self.slot.written.get()?;
        let start = self.offset;
        let len = written.entry.len();
        let end = len.min(start.saturating_add(max));
        let range = EventRange {
            entry: Arc::clone(&written.entry),
            position: self.position,
            received: written.received,
            range: start..end,
        };
        self.position += (end - start) as u64;
        if end == len {
            self.slot = Arc::clone(&written.next);
            self.offset = 0;
        } else {
            self.offset = end;
        }
        Some(range)
    }
}

impl<K> EventRange<K> {
    /// Returns the events; empty for a resync or an initial list.
    pub(super) fn events(&self) -> &[Event<K>] {
        match &*self.entry {
            LogEntry::Changes(events) | LogEntry::Resynced(events) => &events[self.range.clone()],
            LogEntry::Resync { .. } | LogEntry::InitialList(_) => &[],
        }
    }
}

/// The events of one change of the cache, grouped into log entries.
pub(crate) struct EventBatch<K> {
    pub(super) entries: Vec<LogEntry<K>>,
    /// The number of changes, whether or not they are in `entries`.
    pub(super) changes: u64,
    audience: Audience,
    /// The expected number of changes.
    expected: usize,
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
        Self { entries: Vec::new(), changes: 0, audience, expected: 1 }
    }

    /// Sets the expected number of changes, for which memory is allocated at once.
    pub(crate) fn expect_changes(&mut self, expected: usize) {
        self.expected = expected;
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
            _ => {
                let mut events = Vec::with_capacity(self.expected.min(max_entry_len(&event)));
                events.push(event);
                self.entries.push(LogEntry::Changes(events));
            }
        }
    }

    fn resynced(&mut self, entry: &Entry<K>) {
        if self.audience != Audience::Resyncs {
            return;
        }
        let event = entry.resynced();
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
