//! What happened, written once for everyone who follows, and read by each at its own pace.

use crate::{
    cache::{Entry, Snapshot},
    event::Event,
};
use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};
use tokio::time::Instant;

/// One thing that is told.
pub(super) enum Part<K> {
    /// What changed.
    Changes(Vec<Event<K>>),
    /// What was seen again unchanged; for those who want to be told again.
    Again(Vec<Event<K>>),
    /// Everything known at this point is told again to these followers.
    Resync(Arc<Snapshot<K>>, Box<[u64]>),
    /// All that there was at first, which is told object by object.
    Initial(Vec<Arc<Entry<K>>>),
}

/// A place in the log that is written once. The last one is empty.
///
/// Each follower holds the place that it reads next, so what everyone has read is freed without anyone counting.
pub(super) struct Slot<K> {
    written: OnceLock<Written<K>>,
}

struct Written<K> {
    /// Shared by itself: who is at these events must not hold what is written after them.
    part: Arc<Part<K>>,
    received: Instant,
    next: Arc<Slot<K>>,
}

/// The end that is written to.
pub(super) struct Log<K> {
    tail: Arc<Slot<K>>,
    end: u64,
}

/// Where a follower reads.
pub(super) struct Cursor<K> {
    slot: Arc<Slot<K>>,
    /// How many events of the slot have been read.
    offset: usize,
    position: u64,
}

/// Events of one part.
pub(super) struct Stretch<K> {
    part: Arc<Part<K>>,
    range: Range<usize>,
    pub(super) received: Instant,
}

/// What stands at a cursor.
pub(super) enum Reading<K> {
    /// Nothing yet.
    End,
    /// Events that changed something.
    Changes(Stretch<K>),
    /// Events that only tell again.
    Again(Stretch<K>),
    /// Everything known, told again.
    Resync(Arc<Part<K>>),
    /// All that there was at first.
    Initial(Arc<Part<K>>),
}

impl<K> Part<K> {
    fn len(&self) -> usize {
        match self {
            Self::Changes(events) | Self::Again(events) => events.len(),
            Self::Resync(..) | Self::Initial(_) => 1,
        }
    }

    fn events(&self) -> &[Event<K>] {
        match self {
            Self::Changes(events) | Self::Again(events) => events,
            Self::Resync(..) | Self::Initial(_) => &[],
        }
    }

    /// The state that is told again, if it is that, and to whom.
    pub(super) fn resync(&self) -> Option<(&Arc<Snapshot<K>>, &[u64])> {
        match self {
            Self::Resync(snapshot, whom) => Some((snapshot, whom)),
            Self::Changes(_) | Self::Again(_) | Self::Initial(_) => None,
        }
    }

    /// All that there was at first, if it is that.
    pub(super) fn initial(&self) -> &[Arc<Entry<K>>] {
        match self {
            Self::Initial(entries) => entries,
            Self::Changes(_) | Self::Again(_) | Self::Resync(..) => &[],
        }
    }
}

impl<K> Log<K> {
    pub(super) fn new() -> Self {
        Self { tail: Arc::new(Slot::empty()), end: 0 }
    }

    /// How much has been written.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Writes something that is not empty.
    pub(super) fn append(&mut self, part: Part<K>, received: Instant) {
        let next = Arc::new(Slot::empty());
        self.end += part.len() as u64;
        let written = Written { part: Arc::new(part), received, next: Arc::clone(&next) };
        let tail = std::mem::replace(&mut self.tail, next);
        assert!(tail.written.set(written).is_ok(), "only the log writes, and each slot once");
    }

    /// A place where nothing will ever be written.
    pub(super) fn nowhere() -> Cursor<K> {
        Self::new().cursor()
    }

    /// Reads from here on.
    pub(super) fn cursor(&self) -> Cursor<K> {
        Cursor { slot: Arc::clone(&self.tail), offset: 0, position: self.end }
    }
}

impl<K> Slot<K> {
    fn empty() -> Self {
        Self { written: OnceLock::new() }
    }
}

/// Frees a chain link by link: a follower far behind holds many, and each would drop the next from within its own drop.
impl<K> Drop for Slot<K> {
    fn drop(&mut self) {
        let mut next = self.written.take().map(|written| written.next);
        while let Some(mut slot) = next.and_then(Arc::into_inner) {
            next = slot.written.take().map(|written| written.next);
        }
    }
}

impl<K> Cursor<K> {
    /// How much of the log lies before it.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// When what stands here arrived.
    pub(super) fn received(&self) -> Option<Instant> {
        self.slot.written.get().map(|written| written.received)
    }

    /// How many objects a first state has that stands here.
    pub(super) fn initial(&self) -> usize {
        self.slot.written.get().map_or(0, |written| written.part.initial().len())
    }

    /// Reads up to `max` events, and moves behind them.
    pub(super) fn read(&mut self, max: usize) -> Reading<K> {
        let Some(written) = self.slot.written.get() else { return Reading::End };
        let begin = self.offset;
        let end = written.part.len().min(begin.saturating_add(max));
        let part = Arc::clone(&written.part);
        let reading = match &*written.part {
            Part::Changes(_) => {
                Reading::Changes(Stretch { part, range: begin..end, received: written.received })
            }
            Part::Again(_) => Reading::Again(Stretch { part, range: begin..end, received: written.received }),
            Part::Resync(..) => Reading::Resync(part),
            Part::Initial(_) => Reading::Initial(part),
        };
        self.position += (end - begin) as u64;
        if end == written.part.len() {
            (self.slot, self.offset) = (Arc::clone(&written.next), 0);
        } else {
            self.offset = end;
        }
        reading
    }
}

impl<K> Stretch<K> {
    pub(super) fn events(&self) -> &[Event<K>] {
        &self.part.events()[self.range.clone()]
    }
}
