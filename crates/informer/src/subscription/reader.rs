//! What a follower has not been told yet, in the order in which it will be.

use super::{
    coalesce::{Folded, Since},
    event_log::{Cursor, Log, Part, Reading, Stretch},
};
use crate::{
    cache::{Entry, Snapshot},
    event::Event,
};
use kube_core::Resource;
use std::sync::Arc;
use tokio::time::Instant;

/// Where a follower stands:  what was there when it came, then what was folded while it was behind, then the log.
pub(super) struct Reader<K> {
    number: u64,
    wants_again: bool,
    told: Option<Telling<K>>,
    /// What had changed when it came.
    missed: std::vec::IntoIter<Event<K>>,
    folded: Folded<K>,
    cursor: Cursor<K>,
}

/// A state that is told object by object.
struct Telling<K> {
    rest: Rest<K>,
    why: Why,
    /// Where the log was then.
    position: u64,
}

enum Rest<K> {
    /// All of it. It is taken apart by the follower in its own time, not by whoever lets it in.
    Whole(Arc<Snapshot<K>>),
    /// All of it, in the order of a list.
    Listed(Arc<Part<K>>),
    Part(std::vec::IntoIter<Arc<Entry<K>>>),
}

/// What is told first to one who comes.
pub(super) enum Welcome<K> {
    /// All there is.
    All(Arc<Snapshot<K>>),
    /// What has changed between two states.
    Differences { before: Arc<Snapshot<K>>, now: Arc<Snapshot<K>> },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Why {
    Joined,
    Resync,
}

/// Some events, and where the follower stands once it has handled them.
pub(super) struct Chunk<K> {
    events: Events<K>,
    pub(super) reached: Reached,
}

/// How far a follower has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reached {
    pub(super) position: u64,
    /// Whether what was there when it came is still being told.
    pub(super) is_joining: bool,
}

enum Events<K> {
    Shared(Stretch<K>),
    Own(Vec<Event<K>>),
}

/// So many events are handed out together at most.
pub(super) const CHUNK: usize = 256;

/// So many of objects that a look at them leaves decoded.
const PACKED_CHUNK: usize = 32;

impl<K> Reader<K> {
    /// Tells the welcome first, which leads to the state at `cursor`.
    pub(super) fn new(number: u64, wants_again: bool, welcome: Welcome<K>, cursor: Cursor<K>) -> Self {
        let (told, missed) = match welcome {
            Welcome::All(snapshot) => (Telling::of(snapshot, Why::Joined, cursor.position()), Vec::new()),
            Welcome::Differences { before, now } => (None, differences(&before, &now)),
        };
        Self { number, wants_again, told, missed: missed.into_iter(), folded: Folded::default(), cursor }
    }

    /// How far it has come, if all that it handed out has been handled.
    pub(super) fn reached(&self) -> Reached {
        let is_joining =
            self.missed.len() > 0 || self.told.as_ref().is_some_and(|telling| telling.why == Why::Joined);
        let position = match (&self.told, self.folded.since()) {
            (Some(telling), _) => telling.position,
            (None, Some(since)) => since.position,
            (None, None) => self.cursor.position(),
        };
        Reached { position, is_joining }
    }

    /// How many events are waiting, with the log written up to `end`.
    pub(super) fn depth(&self, end: u64) -> u64 {
        let told = self.told.as_ref().map_or(0, |telling| match &telling.rest {
            Rest::Whole(snapshot) => snapshot.len(),
            Rest::Listed(part) => part.initial().len(),
            Rest::Part(rest) => rest.len(),
        });
        // It stands in the log as one.
        let initial = self.cursor.initial().saturating_sub(1);
        (told + self.missed.len() + self.folded.len() + initial) as u64
            + end.saturating_sub(self.cursor.position())
    }

    /// When the oldest change that it has not handed out arrived.
    pub(super) fn oldest(&self) -> Option<Instant> {
        self.folded.since().map(|since| since.received).or_else(|| self.cursor.received())
    }

    /// Lets go of everything: nobody reads any longer.
    pub(super) fn end(&mut self) {
        (self.told, self.folded, self.cursor) = (None, Folded::default(), Log::nowhere());
        self.missed = Vec::new().into_iter();
    }

    /// Takes the next events; nothing if there are none yet.
    pub(super) fn take(&mut self) -> Option<Chunk<K>> {
        let events =
            self.catch_up().or_else(|| self.tell()).or_else(|| self.unfold()).or_else(|| self.read())?;
        Some(Chunk { events, reached: self.reached() })
    }

    fn catch_up(&mut self) -> Option<Events<K>> {
        let events: Vec<_> = self.missed.by_ref().take(PACKED_CHUNK).collect();
        (!events.is_empty()).then_some(Events::Own(events))
    }

    fn tell(&mut self) -> Option<Events<K>> {
        let telling = self.told.as_mut()?;
        let why = telling.why;
        let event = |entry: Arc<Entry<K>>| match why {
            Why::Joined => Event::Added { object: entry.shared(), initial: true },
            Why::Resync => Event::sync(entry.shared()),
        };
        let rest = telling.rest.open();
        let chunk = rest.as_slice().first().map_or(CHUNK, |entry| match entry.kept().is_packed() {
            true => PACKED_CHUNK,
            false => CHUNK,
        });
        let events = rest.take(chunk).map(event).collect();
        if rest.len() == 0 {
            self.told = None;
        }
        Some(Events::Own(events))
    }

    fn unfold(&mut self) -> Option<Events<K>> {
        let mut events: Vec<_> = self.folded.pop()?.collect();
        while events.len() < CHUNK
            && let Some(more) = self.folded.pop()
        {
            events.extend(more);
        }
        Some(Events::Own(events))
    }

    fn read(&mut self) -> Option<Events<K>> {
        loop {
            let position = self.cursor.position();
            match self.cursor.read(CHUNK) {
                Reading::End => return None,
                Reading::Changes(stretch) => return Some(Events::Shared(stretch)),
                Reading::Again(stretch) if self.wants_again => return Some(Events::Shared(stretch)),
                Reading::Again(_) => {}
                Reading::Resync(part) => {
                    let (snapshot, whom) = part.resync()?;
                    if whom.contains(&self.number) {
                        self.told = Telling::of(Arc::clone(snapshot), Why::Resync, position);
                        if let Some(events) = self.tell() {
                            return Some(events);
                        }
                    }
                }
                Reading::Initial(part) => {
                    self.told = Some(Telling::listed(part, position));
                    return self.tell();
                }
            }
        }
    }
}

impl<K: Resource> Reader<K> {
    /// Folds all that the log has, so that it can be freed, if that is more than `limit`. It is written up to `end`.
    pub(super) fn fold_beyond(&mut self, limit: u64, end: u64) {
        if end.saturating_sub(self.cursor.position()) <= limit {
            return;
        }
        while let Some(received) = self.cursor.received() {
            let mut since = Since { position: self.cursor.position(), received };
            match self.cursor.read(usize::MAX) {
                Reading::End => return,
                Reading::Again(_) if !self.wants_again => {}
                Reading::Changes(stretch) | Reading::Again(stretch) => {
                    for event in stretch.events() {
                        self.folded.fold(event, since);
                        since.position += 1;
                    }
                }
                Reading::Initial(part) if self.told.is_none() && self.folded.len() == 0 => {
                    self.told = Some(Telling::listed(part, since.position));
                }
                Reading::Initial(part) => {
                    for entry in part.initial() {
                        let event = Event::Added { object: entry.shared(), initial: true };
                        self.folded.fold(&event, since);
                    }
                }
                Reading::Resync(part) => match part.resync() {
                    Some((snapshot, whom)) if whom.contains(&self.number) => {
                        let again = |entry: &Entry<K>| self.folded.fold(&Event::sync(entry.shared()), since);
                        snapshot.iter().for_each(again);
                    }
                    Some(_) | None => {}
                },
            }
        }
    }
}

/// What leads from one state to another.
fn differences<K>(before: &Arc<Snapshot<K>>, now: &Arc<Snapshot<K>>) -> Vec<Event<K>> {
    if Arc::ptr_eq(before, now) {
        return Vec::new();
    }
    let gone = before.iter().filter(|entry| !now.contains(entry.key())).map(|entry| {
        let last_known = entry.shared();
        Event::Deleted { old: last_known.clone(), last_known, observed: false }
    });
    let come = now.iter().filter_map(|entry| match before.entry(entry.key()) {
        // An index that was added since makes entries anew, of the same objects.
        Some(known) if std::ptr::eq(known, entry) || known.kept().is(&entry.shared()) => None,
        Some(known) => Some(Event::Updated { old: known.shared(), new: entry.shared() }),
        None => Some(Event::Added { object: entry.shared(), initial: false }),
    });
    gone.chain(come).collect()
}

impl<K> Telling<K> {
    fn of(snapshot: Arc<Snapshot<K>>, why: Why, position: u64) -> Option<Self> {
        (!snapshot.is_empty()).then(|| Self { rest: Rest::Whole(snapshot), why, position })
    }

    /// What was there at first, which is something.
    fn listed(part: Arc<Part<K>>, position: u64) -> Self {
        Self { rest: Rest::Listed(part), why: Why::Joined, position }
    }
}

impl<K> Rest<K> {
    fn open(&mut self) -> &mut std::vec::IntoIter<Arc<Entry<K>>> {
        match self {
            Self::Whole(snapshot) => *self = Self::Part(snapshot.shared_entries().into_iter()),
            Self::Listed(part) => *self = Self::Part(part.initial().to_vec().into_iter()),
            Self::Part(_) => {}
        }
        match self {
            Self::Part(rest) => rest,
            Self::Whole(_) | Self::Listed(_) => unreachable!("it was opened just before"),
        }
    }
}

impl<K> Chunk<K> {
    pub(super) fn events(&self) -> &[Event<K>] {
        match &self.events {
            Events::Shared(stretch) => stretch.events(),
            Events::Own(events) => events,
        }
    }

    /// When the server's word arrived; not for what is told on demand.
    pub(super) fn received(&self) -> Option<Instant> {
        match &self.events {
            Events::Shared(stretch) => Some(stretch.received),
            Events::Own(_) => None,
        }
    }
}
