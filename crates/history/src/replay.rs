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
use std::{
    ops::Range,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

/// A range of a history, to be replayed.
///
/// With the feature `history` of `kube-informer`, it is a source for an informer.
///
/// Clones share the time at which the replay was [begun](Self::time_until), unless their speed is changed. To start over, create another
/// replay of the [`History`].
#[derive(Clone, Debug)]
#[must_use]
pub struct Replay {
    history: History,
    from: Timestamp,
    to: Timestamp,
    pace: Pace,
    namespace: Option<String>,
    origin: Arc<OnceLock<Origin>>,
}

/// The time at which a replay was begun, and the recorded time at which it started.
#[derive(Clone, Copy, Debug)]
struct Origin {
    begun: Instant,
    recorded: Timestamp,
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
    /// The recorded time from which `delay` is measured.
    previous: Timestamp,
}

/// The events of a replay.
#[derive(Debug)]
pub struct ReplayEvents {
    changes: Changes,
    pace: Pace,
    previous: Timestamp,
}

impl History {
    /// Returns the changes after `range.start` up to and including `range.end` for replaying them.
    pub fn replay(&self, range: Range<Timestamp>) -> Replay {
        let (from, to) = (range.start, range.end);
        Replay {
            history: self.clone(),
            from,
            to,
            pace: Pace::Speed(1.0),
            namespace: None,
            origin: Arc::default(),
        }
    }
}

impl Pace {
    /// Returns the duration between two recorded times; zero if `to` is not after `from`.
    fn duration(self, from: Timestamp, to: Timestamp) -> Duration {
        match self {
            Self::Immediate => Duration::ZERO,
            Self::Speed(factor) => {
                let original = Duration::try_from(to.duration_since(from)).unwrap_or_default();
                Duration::try_from_secs_f64(original.as_secs_f64() / factor).unwrap_or(Duration::MAX)
            }
        }
    }
}

impl Replay {
    /// Replays at a multiple of the original speed. Values that are not positive are ignored.
    pub fn speed(self, factor: f64) -> Self {
        if factor > 0.0 { Self { pace: Pace::Speed(factor), origin: Arc::default(), ..self } } else { self }
    }

    /// Replays all events without waiting.
    pub fn immediate(self) -> Self {
        Self { pace: Pace::Immediate, origin: Arc::default(), ..self }
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

    /// Returns the events of a kind after the one with the resourceVersion `after`; all if it is that of the initial list. If no event
    /// has this version, the events start with the first one that has a newer version.
    ///
    /// # Errors
    /// As [`initial`](Self::initial).
    pub fn events(&self, kind: KindId, after: Option<&ResourceVersion>) -> Result<ReplayEvents, ReadError> {
        let mut changes = self.history.changes(self.from..self.to, self.filter(kind))?;
        let mut previous = self.from;
        for _ in 0..self.received(kind, after)? {
            previous = changes.next().transpose()?.map_or(previous, |change| change.time());
        }
        Ok(ReplayEvents { changes, pace: self.pace, previous })
    }

    /// Returns the number of changes that a client with the version `after` has received.
    fn received(&self, kind: KindId, after: Option<&ResourceVersion>) -> Result<usize, ReadError> {
        let Some(after) = after else { return Ok(0) };
        if self.history.at(self.from)?.version(kind)?.as_ref() == Some(after) {
            return Ok(0);
        }
        // The versions of changes that were found by a list are not ordered.
        let mut older = 0;
        let mut is_newer = false;
        for (position, change) in self.history.changes(self.from..self.to, self.filter(kind))?.enumerate() {
            match change?.version() {
                Some(version) if version == after => return Ok(position + 1),
                Some(version) if version > after => is_newer = true,
                Some(_) if !is_newer => older = position + 1,
                Some(_) | None => {}
            }
        }
        Ok(older)
    }

    /// Returns the time to wait at `now` until an event is due.
    ///
    /// The first call for this replay or one of its clones begins the replay: the event is due after its [`delay`](ReplayEvent::delay).
    /// All other events have their original spacing from it, at the speed of the replay, also after a watch was closed and opened again.
    #[must_use]
    pub fn time_until(&self, event: &ReplayEvent, now: Instant) -> Duration {
        let origin = self.origin.get_or_init(|| Origin { begun: now, recorded: event.previous });
        let due = self.pace.duration(origin.recorded, event.object.time());
        due.saturating_sub(now.saturating_duration_since(origin.begun))
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
        let previous = std::mem::replace(&mut self.previous, object.time());
        let delay = self.pace.duration(previous, object.time());
        Some(Ok(ReplayEvent { event, object, delay, previous }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, List, Recorder, RecorderOptions};
    use kube_informer_wire::{Format, Raw};
    use testkit::TempFolder;

    fn time(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    fn pod(name: &str, version: u64) -> Raw {
        let json =
            format!(r#"{{"metadata":{{"name":"{name}","uid":"{name}","resourceVersion":"{version}"}}}}"#);
        Raw::new(Format::Json, json.into())
    }

    /// Records a list at second 1, changes at the seconds 10 and 7200, and a list with changes in another order at second 20.
    fn recorded(folder: &TempFolder) -> (History, KindId) {
        let mut recorder = Recorder::open(folder.path(), RecorderOptions::default(), time(0)).unwrap();
        let kind = recorder.add_kind(Kind::new("", "v1", "Pod", "pods"), time(0)).unwrap();
        let list = |version, objects: &[(&str, u64)]| {
            let objects = objects.iter().map(|(name, version)| pod(name, *version)).collect::<Vec<_>>();
            List { kind, namespace: None, version: Some(ResourceVersion::number(version)), objects }
        };
        recorder.list(list(5, &[("a", 3), ("b", 4)]), time(1)).unwrap();
        for (name, version) in [("c", 6), ("a", 7), ("b", 8)] {
            recorder.change(kind, EventType::Modified, &pod(name, version), time(10)).unwrap();
        }
        recorder.list(list(30, &[("a", 20), ("b", 15), ("d", 18)]), time(20)).unwrap();
        recorder.change(kind, EventType::Modified, &pod("a", 31), time(7_200)).unwrap();
        recorder.close(time(7_200)).unwrap();
        (History::open(folder.path()).unwrap(), kind)
    }

    fn events(replay: &Replay, kind: KindId, after: u64) -> Vec<ReplayEvent> {
        let events = replay.events(kind, Some(&ResourceVersion::number(after))).unwrap();
        events.map(Result::unwrap).collect()
    }

    #[test]
    fn a_replay_resumes_after_a_version_within_changes_of_the_same_time() {
        let folder = TempFolder::new("kube-history-replay");
        let (history, kind) = recorded(&folder);
        let replay = history.replay(time(1)..time(7_200));
        let versions = |after| {
            let version = |event: &ReplayEvent| event.object.version().and_then(ResourceVersion::to_number);
            events(&replay, kind, after).iter().map(version).collect::<Vec<_>>()
        };
        let all = [6, 7, 8, 20, 15, 18, 0, 31].map(|version| Some(version).filter(|version| *version > 0));
        assert_eq!(versions(5), all, "the version of the initial list");
        for (position, version) in all.iter().enumerate() {
            if let Some(version) = version {
                assert_eq!(versions(*version), all[position + 1..], "after {version}");
            }
        }
        assert_eq!(versions(10), all[3..], "no event has this version");
        assert_eq!(versions(40), []);
    }

    #[test]
    fn an_event_is_due_at_the_same_time_after_a_replay_is_resumed() {
        let folder = TempFolder::new("kube-history-replay");
        let (history, kind) = recorded(&folder);
        let begun = Instant::now();
        let at = |second| begun + Duration::from_secs(second);
        for (speed, due) in [(1.0, 7_199), (2.0, 3_599)] {
            let replay = history.replay(time(1)..time(7_200)).speed(speed);
            let first = &events(&replay, kind, 5)[0];
            assert_eq!(replay.time_until(first, begun), first.delay);
            let resumed = replay.clone();
            let last = events(&resumed, kind, 18).pop().unwrap();
            for now in [600, 1_200, due - 1] {
                let left = resumed.time_until(&last, at(now));
                assert_eq!(left.as_secs(), due - now, "at second {now} with speed {speed}");
            }
            assert_eq!(resumed.time_until(&last, at(due + 1)), Duration::ZERO);
        }
        let immediate = history.replay(time(1)..time(7_200)).immediate();
        let waits = events(&immediate, kind, 5).iter().map(|event| immediate.time_until(event, begun)).max();
        assert_eq!(waits, Some(Duration::ZERO));
    }

    #[test]
    fn a_replay_that_starts_with_a_later_version_waits_from_this_version() {
        let folder = TempFolder::new("kube-history-replay");
        let (history, kind) = recorded(&folder);
        let replay = history.replay(time(1)..time(7_200));
        let first = &events(&replay, kind, 8)[0];
        assert_eq!(replay.time_until(first, Instant::now()), Duration::from_secs(10));
    }
}
