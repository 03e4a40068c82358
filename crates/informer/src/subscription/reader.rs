//! Reads the events of one subscriber in order: the initial state, then coalesced events, then the log.

use super::{
    coalesce::{CoalescedEvents, Oldest},
    event_log::{Cursor, EventRange, LogEntry},
};
use crate::{
    cache::{Entry, Snapshot},
    event::{Event, Phase, UpdateCause},
    object::Object,
};
use kube_core::Resource;
use std::sync::Arc;
use tokio::time::Instant;

/// The events that a subscriber has not received yet.
pub(super) struct Reader<K> {
    /// The id of the subscriber, if it resyncs.
    resync_id: Option<u64>,
    /// The differences that a subscriber receives instead of the initial state.
    differences: std::vec::IntoIter<Event<K>>,
    replay: Option<StateReplay<K>>,
    coalesced: CoalescedEvents<K>,
    cursor: Cursor<K>,
}

/// A state of the cache that is delivered object by object.
struct StateReplay<K> {
    source: ReplaySource<K>,
    reason: ReplayReason,
    /// The log position of that state.
    position: u64,
}

enum ReplaySource<K> {
    /// A snapshot that is split into entries by the subscriber when it reads, not by the caller that creates the replay.
    Snapshot(Arc<Snapshot<K>>),
    Entries(std::vec::IntoIter<Arc<Entry<K>>>),
    /// An initial list, which is shared by all subscribers, from index `next` on.
    List {
        entry: Arc<LogEntry<K>>,
        next: usize,
    },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ReplayReason {
    Initial,
    Resync,
}

/// Events to deliver, and the position of the subscriber once it has handled them.
pub(super) struct Chunk<K> {
    events: ChunkEvents<K>,
    pub(super) position: ReadPosition,
}

enum ChunkEvents<K> {
    Shared(EventRange<K>),
    Owned(Vec<Event<K>>),
}

/// The read position of a subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReadPosition {
    /// All events in the log before this position have been read.
    pub(super) log: u64,
    /// True if the initial state has been read completely.
    pub(super) has_initial_state: bool,
}

/// The maximum number of events in a chunk.
pub(super) const MAX_CHUNK: usize = 256;

/// The maximum for compressed objects, which stay decoded in memory once a subscriber has read them.
const MAX_COMPRESSED_CHUNK: usize = 32;

impl<K> Reader<K> {
    /// Creates a reader of the log from `cursor` on, for the subscriber `resync_id` if it resyncs.
    pub(super) fn new(resync_id: Option<u64>, cursor: Cursor<K>) -> Self {
        Self {
            resync_id,
            differences: Vec::new().into_iter(),
            replay: None,
            coalesced: CoalescedEvents::default(),
            cursor,
        }
    }

    /// Reads every object of `state` before the log.
    pub(super) fn after_state(mut self, state: Arc<Snapshot<K>>) -> Self {
        self.replay = StateReplay::new(state, ReplayReason::Initial, self.cursor.position());
        self
    }

    /// Reads the differences between two states before the log.
    pub(super) fn after_differences(mut self, before: &Arc<Snapshot<K>>, now: &Arc<Snapshot<K>>) -> Self {
        self.differences = diff(before, now).into_iter();
        self
    }

    /// Returns the read position.
    pub(super) fn position(&self) -> ReadPosition {
        let is_initial = self.replay.as_ref().is_some_and(|replay| replay.reason == ReplayReason::Initial);
        let log = match (&self.replay, self.coalesced.oldest()) {
            (Some(replay), _) => replay.position,
            (None, Some(oldest)) => oldest.position,
            (None, None) => self.cursor.position(),
        };
        ReadPosition { log, has_initial_state: self.differences.len() == 0 && !is_initial }
    }

    /// Returns the number of unread events, with the log written up to `end`.
    pub(super) fn depth(&self, end: u64) -> u64 {
        let replay = self.replay.as_ref().map_or(0, StateReplay::len);
        // An initial list has length one in the log.
        let list = self.cursor.peek().map_or(0, |entry| entry.initial_list().len().saturating_sub(1));
        let unread = self.differences.len() + replay + self.coalesced.len() + list;
        unread as u64 + end.saturating_sub(self.cursor.position())
    }

    /// Returns when the oldest unread change was received.
    pub(super) fn oldest(&self) -> Option<Instant> {
        self.coalesced.oldest().map(|oldest| oldest.received).or_else(|| self.cursor.received())
    }

    /// Reads the next events; `None` if there are none.
    pub(super) fn next_chunk(&mut self) -> Option<Chunk<K>> {
        let events = self
            .read_differences()
            .or_else(|| self.read_replay())
            .or_else(|| self.read_coalesced())
            .or_else(|| self.read_log())?;
        Some(Chunk { events, position: self.position() })
    }

    fn is_among(&self, subscribers: &[u64]) -> bool {
        self.resync_id.is_some_and(|id| subscribers.contains(&id))
    }

    fn read_differences(&mut self) -> Option<ChunkEvents<K>> {
        let events: Vec<_> = self.differences.by_ref().take(MAX_COMPRESSED_CHUNK).collect();
        (!events.is_empty()).then_some(ChunkEvents::Owned(events))
    }

    fn read_replay(&mut self) -> Option<ChunkEvents<K>> {
        let replay = self.replay.as_mut()?;
        let events = replay.read();
        if replay.len() == 0 {
            self.replay = None;
        }
        Some(ChunkEvents::Owned(events))
    }

    fn read_coalesced(&mut self) -> Option<ChunkEvents<K>> {
        let mut events: Vec<_> = self.coalesced.pop()?.collect();
        while events.len() < MAX_CHUNK
            && let Some(more) = self.coalesced.pop()
        {
            events.extend(more);
        }
        Some(ChunkEvents::Owned(events))
    }

    fn read_log(&mut self) -> Option<ChunkEvents<K>> {
        loop {
            let range = self.cursor.read(MAX_CHUNK)?;
            match &*range.entry {
                LogEntry::Changes(_) => return Some(ChunkEvents::Shared(range)),
                LogEntry::Resynced(_) if self.resync_id.is_some() => return Some(ChunkEvents::Shared(range)),
                LogEntry::Resync { snapshot, subscribers } if self.is_among(subscribers) => {
                    self.replay =
                        StateReplay::new(Arc::clone(snapshot), ReplayReason::Resync, range.position);
                    if let Some(events) = self.read_replay() {
                        return Some(events);
                    }
                }
                LogEntry::Resynced(_) | LogEntry::Resync { .. } => {}
                LogEntry::InitialList(_) => {
                    self.replay = Some(StateReplay::of_list(range.entry, range.position));
                    return self.read_replay();
                }
            }
        }
    }
}

impl<K: Resource> Reader<K> {
    /// Folds the unread part of the log, which is written up to `end`, if it has more than `limit` events.
    pub(super) fn coalesce_beyond(&mut self, limit: u64, end: u64) {
        if end.saturating_sub(self.cursor.position()) <= limit {
            return;
        }
        while let Some(range) = self.cursor.read(usize::MAX) {
            let mut oldest = Oldest { position: range.position, received: range.received };
            match &*range.entry {
                LogEntry::Resynced(_) if self.resync_id.is_none() => {}
                LogEntry::Changes(_) | LogEntry::Resynced(_) => {
                    for event in range.events() {
                        self.coalesced.fold(event, oldest);
                        oldest.position += 1;
                    }
                }
                LogEntry::Resync { snapshot, subscribers } => {
                    if self.is_among(subscribers) {
                        for entry in snapshot.iter() {
                            self.coalesced.fold(&entry.resynced(), oldest);
                        }
                    }
                }
                LogEntry::InitialList(_) if self.replay.is_none() && self.coalesced.len() == 0 => {
                    self.replay = Some(StateReplay::of_list(range.entry, range.position));
                }
                LogEntry::InitialList(entries) => {
                    for entry in entries {
                        self.coalesced.fold(&ReplayReason::Initial.event(entry), oldest);
                    }
                }
            }
        }
    }
}

/// Returns the events that lead from one state to another.
fn diff<K>(before: &Arc<Snapshot<K>>, now: &Arc<Snapshot<K>>) -> Vec<Event<K>> {
    if Arc::ptr_eq(before, now) {
        return Vec::new();
    }
    let deleted = before.iter().filter(|entry| !now.contains(entry.key()));
    let deleted = deleted.map(|entry| Event::vanished(entry.key().clone(), entry.shared()));
    let changed = now.iter().filter_map(|entry| match before.entry(entry.key()) {
        Some(known) if std::ptr::eq(known, entry) || is_unchanged(known, &entry.shared()) => None,
        Some(known) => {
            let key = entry.key().clone();
            Some(Event::updated(key, known.shared(), entry.shared(), UpdateCause::Changed))
        }
        None => Some(Event::added(entry.key().clone(), entry.shared(), Phase::Live)),
    });
    deleted.chain(changed).collect()
}

/// Returns whether an entry is unchanged. Adding an index re-creates the entries of the same objects, and a relist replaces the
/// encoded form of a restored object by a smaller one.
fn is_unchanged<K>(known: &Entry<K>, object: &Object<K>) -> bool {
    known.stored().is(object) || known.stored().is_same_encoded_state(object)
}

impl ReplayReason {
    fn event<K>(self, entry: &Entry<K>) -> Event<K> {
        match self {
            Self::Initial => Event::added(entry.key().clone(), entry.shared(), Phase::Initial),
            Self::Resync => entry.resynced(),
        }
    }
}

impl<K> StateReplay<K> {
    /// Creates a replay of a snapshot; `None` if it is empty.
    fn new(snapshot: Arc<Snapshot<K>>, reason: ReplayReason, position: u64) -> Option<Self> {
        (!snapshot.is_empty()).then(|| Self { source: ReplaySource::Snapshot(snapshot), reason, position })
    }

    /// Creates a replay of an initial list.
    fn of_list(entry: Arc<LogEntry<K>>, position: u64) -> Self {
        let source = ReplaySource::List { entry, next: 0 };
        Self { source, reason: ReplayReason::Initial, position }
    }

    /// Returns the number of objects left.
    fn len(&self) -> usize {
        match &self.source {
            ReplaySource::Snapshot(snapshot) => snapshot.len(),
            ReplaySource::Entries(entries) => entries.len(),
            ReplaySource::List { entry, next } => entry.initial_list().len() - next,
        }
    }

    /// Reads the events of the next objects.
    fn read(&mut self) -> Vec<Event<K>> {
        if let ReplaySource::Snapshot(snapshot) = &self.source {
            self.source = ReplaySource::Entries(snapshot.shared_entries().into_iter());
        }
        let reason = self.reason;
        match &mut self.source {
            ReplaySource::Snapshot(_) => Vec::new(),
            ReplaySource::Entries(entries) => {
                let chunk = chunk_len(entries.as_slice());
                entries.take(chunk).map(|entry| reason.event(&entry)).collect()
            }
            ReplaySource::List { entry, next } => {
                let unread = &entry.initial_list()[*next..];
                let chunk = &unread[..chunk_len(unread)];
                *next += chunk.len();
                chunk.iter().map(|entry| reason.event(entry)).collect()
            }
        }
    }
}

/// Returns the length of the next chunk of these entries.
fn chunk_len<K>(entries: &[Arc<Entry<K>>]) -> usize {
    let is_compressed = entries.first().is_some_and(|entry| entry.stored().is_encoded());
    entries.len().min(if is_compressed { MAX_COMPRESSED_CHUNK } else { MAX_CHUNK })
}

impl<K> Chunk<K> {
    pub(super) fn events(&self) -> &[Event<K>] {
        match &self.events {
            ChunkEvents::Shared(range) => range.events(),
            ChunkEvents::Owned(events) => events,
        }
    }

    /// Returns when the events were received; `None` for replayed and coalesced events.
    pub(super) fn received(&self) -> Option<Instant> {
        match &self.events {
            ChunkEvents::Shared(range) => Some(range.received),
            ChunkEvents::Owned(_) => None,
        }
    }
}
