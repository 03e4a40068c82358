//! A range of a history as a list and a watch: the initial objects, then the events with their original spacing.

use crate::{
    changes::{Changes, Filter},
    error::ReadError,
    history::History,
    kind::KindId,
    record::Event,
    view::Version,
};
use jiff::Timestamp;
use kube_informer_wire::{EventType, ResourceVersion};
use std::{ops::Range, time::Duration};

/// A range of a history, to be replayed.
///
/// With the feature `history` of `kube-informer`, it is a source for an informer.
#[derive(Clone, Debug)]
#[must_use]
pub struct Replay {
    history: History,
    from: Timestamp,
    to: Timestamp,
    pace: Pace,
    namespace: Option<String>,
}

/// The speed of a replay.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Pace {
    /// A multiple of the original speed.
    Speed(f64),
    Immediate,
}

/// The objects at the start of a replay.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InitialList {
    /// The resourceVersion of the list.
    pub version: Option<ResourceVersion>,
    /// The objects, ordered by key.
    pub objects: Vec<Version>,
}

/// An event of a replay.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReplayEvent {
    /// The type: added, modified or deleted.
    pub event: EventType,
    /// The object. For a deletion it is the last known state.
    pub object: Version,
    /// The time to wait after the previous event, or after the start of the replay.
    pub delay: Duration,
}

/// The events of a replay.
#[derive(Debug)]
pub struct ReplayEvents {
    changes: Changes,
    pace: Pace,
    last: Timestamp,
}

impl History {
    /// Returns the changes after `range.start` up to and including `range.end` for replaying them.
    pub fn replay(&self, range: Range<Timestamp>) -> Replay {
        let (from, to) = (range.start, range.end);
        Replay { history: self.clone(), from, to, pace: Pace::Speed(1.0), namespace: None }
    }
}

impl Replay {
    /// Replays at a multiple of the original speed. Values that are not positive are ignored.
    pub fn speed(self, factor: f64) -> Self {
        if factor > 0.0 { Self { pace: Pace::Speed(factor), ..self } } else { self }
    }

    /// Replays all events without waiting.
    pub fn immediate(self) -> Self {
        Self { pace: Pace::Immediate, ..self }
    }

    /// Replays only one namespace.
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        Self { namespace: Some(namespace.into()), ..self }
    }

    /// Returns the kind with a group, version and plural name.
    ///
    /// # Errors
    /// [`ReadError::UnknownKind`] if it is not recorded.
    pub fn kind(&self, group: &str, version: &str, plural: &str) -> Result<KindId, ReadError> {
        let kinds = self.history.kinds()?;
        let is_same = |kind: &crate::kind::Kind| {
            kind.group == group && kind.version == version && kind.plural == plural
        };
        let found = kinds.into_iter().find(|(_, kind)| is_same(kind)).map(|(id, _)| id);
        found.ok_or_else(|| ReadError::UnknownKind { name: format!("{plural}.{version}.{group}") })
    }

    /// Returns the objects of a kind at the start.
    ///
    /// # Errors
    /// [`ReadError::BeforeStart`] if the range starts before the history.
    pub fn initial(&self, kind: KindId) -> Result<InitialList, ReadError> {
        let snapshot = self.history.at(self.from)?;
        let objects = snapshot.list(kind, self.namespace.as_deref()).collect::<Result<_, _>>()?;
        Ok(InitialList { version: snapshot.version(kind)?, objects })
    }

    /// Returns the resourceVersion of a kind at the end.
    ///
    /// # Errors
    /// As [`initial`](Self::initial).
    pub fn last_version(&self, kind: KindId) -> Result<Option<ResourceVersion>, ReadError> {
        let mut newest = self.history.at(self.to)?.version(kind)?;
        // A deletion has the newest version, but its object is not part of the state.
        for change in self.history.changes(self.from..self.to, self.filter(kind))? {
            if let Some(version) = change?.version()
                && newest.as_ref().is_none_or(|newest| newest < version)
            {
                newest = Some(version.clone());
            }
        }
        Ok(newest)
    }

    /// Returns the events of a kind with a newer resourceVersion than `after`; all if it is that of the initial list.
    ///
    /// # Errors
    /// [`ReadError::Io`].
    pub fn events(&self, kind: KindId, after: Option<&ResourceVersion>) -> Result<ReplayEvents, ReadError> {
        let mut start = self.from;
        if let Some(after) = after {
            // Continue after the last event that the client has received.
            for change in self.history.changes(self.from..self.to, self.filter(kind))? {
                let change = change?;
                match change.version() {
                    Some(version) if version <= after => start = change.time(),
                    Some(_) => break,
                    None => {}
                }
            }
        }
        let changes = self.history.changes(start..self.to, self.filter(kind))?;
        Ok(ReplayEvents { changes, pace: self.pace, last: start })
    }

    fn filter(&self, kind: KindId) -> Filter {
        let filter = Filter::new().kind(kind);
        match &self.namespace {
            Some(namespace) => filter.namespace(namespace),
            None => filter,
        }
    }
}

impl Iterator for ReplayEvents {
    type Item = Result<ReplayEvent, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let object = match self.changes.next()? {
            Ok(object) => object,
            Err(error) => return Some(Err(error)),
        };
        let event = match object.event() {
            Event::Checkpoint | Event::Added => EventType::Added,
            Event::Modified => EventType::Modified,
            Event::Deleted => EventType::Deleted,
        };
        let since = Duration::try_from(object.time().duration_since(self.last)).unwrap_or_default();
        self.last = object.time();
        let delay = match self.pace {
            Pace::Immediate => Duration::ZERO,
            Pace::Speed(factor) => {
                Duration::try_from_secs_f64(since.as_secs_f64() / factor).unwrap_or(Duration::MAX)
            }
        };
        Some(Ok(ReplayEvent { event, object, delay }))
    }
}
