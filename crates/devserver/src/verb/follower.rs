//! Decides what a watch says next, and when.

use crate::fault::{Cut, Manner, Notice, WatchEffect};
use crate::storage::{Batch, Place, Position, Record, Selection, Store, Unreadable};
use crate::verb::{
    form::Shape,
    protobuf::{Protobuf, error_event},
    refusal::Refusal,
};
use bytes::Bytes;
use kube_informer_wire::{
    EventType, ResourceVersion, encode_bookmark, encode_error, encode_initial_events_end,
};
use std::time::Duration;
use tokio::time::Instant;

/// How many events are looked at in one step.
const EVENTS: usize = 256;
/// How many bytes are sent in one step, about.
const CHUNK: usize = 64 * 1024;

/// One watch, from its first event to its end.
///
/// Initial -> Live -> Over
#[derive(Debug)]
pub(crate) struct Follower {
    pub(crate) watch: Watch,
    phase: Phase,
    position: Position,
    sent: u64,
    /// When the bookmark that ends the initial events is due.
    initial_end: Option<Instant>,
    next_bookmark: Option<Instant>,
    started: Instant,
}

/// What a watch is about.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) place: Place,
    pub(crate) selection: Selection,
    pub(crate) shape: Shape,
    /// The way to tell it in protobuf, if that is wanted.
    pub(crate) protobuf: Option<Protobuf>,
    /// What there is when it begins, if it begins with that.
    pub(crate) initial: Vec<Record>,
    /// Whether the end of what there is at the beginning is told.
    pub(crate) tells_initial_end: bool,
    /// How often it tells how far it has come.
    pub(crate) bookmarks: Option<Duration>,
    /// How long it lasts.
    pub(crate) timeout: Duration,
    /// What goes wrong with it.
    pub(crate) effect: WatchEffect,
}

#[derive(Debug)]
enum Phase {
    Initial(std::vec::IntoIter<Record>),
    Live,
    Over(Manner),
}

/// What a watch does next.
#[derive(Debug)]
pub(crate) enum Step {
    /// It sends these bytes.
    Send(Bytes),
    /// It waits for a change, until this time at the latest.
    Wait(Instant),
    /// It ends.
    End(Manner),
}

impl Follower {
    pub(crate) fn new(mut watch: Watch, position: Position, now: Instant) -> Self {
        let initial = std::mem::take(&mut watch.initial).into_iter();
        let bookmark =
            |interval: Duration| later(now, interval.saturating_add(delay(&watch.effect.bookmarks)));
        let next_bookmark = watch.bookmarks.map(bookmark);
        let initial_end = later(now, delay(&watch.effect.initial_events_end));
        let initial_end = watch.tells_initial_end.then_some(initial_end);
        let phase = Phase::Initial(initial);
        let mut follower = Self { watch, phase, position, sent: 0, initial_end, next_bookmark, started: now };
        follower.cut_if(|_, cut| cut.events == Some(0));
        follower
    }

    /// What the watch does at this time, given what is in the store.
    pub(crate) fn step(&mut self, store: &Store, now: Instant) -> Step {
        let mut out = Vec::new();
        if matches!(self.phase, Phase::Initial(_)) {
            self.say_initial(&mut out);
        }
        if matches!(self.phase, Phase::Live) {
            self.say_events(store, &mut out);
        }
        if matches!(self.phase, Phase::Live) {
            self.say_bookmarks(now, &mut out);
            self.end_in_time(now, &mut out);
        }
        match (&self.phase, out.is_empty()) {
            (_, false) => Step::Send(out.into()),
            (Phase::Over(manner), true) => Step::End(*manner),
            (Phase::Initial(_), true) => Step::Wait(now),
            (Phase::Live, true) => Step::Wait(self.next_time()),
        }
    }

    fn say_initial(&mut self, out: &mut Vec<u8>) {
        let Phase::Initial(records) = &mut self.phase else { return };
        let mut records = std::mem::take(records);
        while out.len() < CHUNK {
            let Some(record) = records.next() else {
                self.phase = Phase::Live;
                return;
            };
            self.say(EventType::Added, &record, out);
            if !matches!(self.phase, Phase::Initial(_)) {
                return;
            }
        }
        self.phase = Phase::Initial(records);
    }

    fn say_events(&mut self, store: &Store, out: &mut Vec<u8>) {
        while out.len() < CHUNK {
            let Batch { events, position } = match store.events(&self.watch.place, self.position, EVENTS) {
                Ok(batch) => batch,
                Err(unreadable) => return self.lose(unreadable, out),
            };
            let is_all = events.len() < EVENTS;
            self.position = position;
            for event in events {
                if let Some((kind, record)) = event.seen_by(&self.watch.selection) {
                    self.say(kind, &record, out);
                }
                if !matches!(self.phase, Phase::Live) {
                    return;
                }
            }
            if is_all {
                return;
            }
        }
    }

    fn say(&mut self, kind: EventType, record: &Record, out: &mut Vec<u8>) {
        if let Some(protobuf) = &self.watch.protobuf {
            out.extend_from_slice(&protobuf.event(kind, record));
        } else {
            out.reserve(self.watch.shape.size(record));
            out.extend_from_slice(b"{\"type\":\"");
            out.extend_from_slice(kind.as_str().as_bytes());
            out.extend_from_slice(b"\",\"object\":");
            self.watch.shape.append(record, out);
            out.extend_from_slice(b"}\n");
        }
        self.sent += 1;
        self.cut_if(|sent, cut| cut.events.is_some_and(|events| sent >= events));
    }

    fn cut_if(&mut self, is_due: impl Fn(u64, &Cut) -> bool) {
        if let Some(cut) = self.watch.effect.cuts.iter().find(|cut| is_due(self.sent, cut)) {
            self.phase = Phase::Over(cut.strike());
        }
    }

    fn say_bookmarks(&mut self, now: Instant, out: &mut Vec<u8>) {
        let version = ResourceVersion::number(self.position.version);
        if self.initial_end.is_some_and(|due| due <= now) {
            self.initial_end = None;
            if tells(&self.watch.effect.initial_events_end) {
                let bookmark = match &self.watch.protobuf {
                    Some(protobuf) => protobuf.initial_events_end(&version),
                    None => encode_initial_events_end(&self.watch.shape.types(), &version),
                };
                out.extend_from_slice(&bookmark);
            }
        }
        if self.next_bookmark.is_some_and(|due| due <= now) {
            let interval = self.watch.bookmarks.unwrap_or_default();
            let time = interval.saturating_add(delay(&self.watch.effect.bookmarks));
            self.next_bookmark = Some(later(now, time));
            self.say_bookmark(out);
        }
    }

    fn say_bookmark(&self, out: &mut Vec<u8>) {
        // A bookmark before the initial events have ended would say that they have.
        if self.initial_end.is_none() && tells(&self.watch.effect.bookmarks) {
            let version = ResourceVersion::number(self.position.version);
            let bookmark = match &self.watch.protobuf {
                Some(protobuf) => protobuf.bookmark(&version),
                None => encode_bookmark(&self.watch.shape.types(), &version),
            };
            out.extend_from_slice(&bookmark);
        }
    }

    fn end_in_time(&mut self, now: Instant, out: &mut Vec<u8>) {
        let lasted = now.duration_since(self.started);
        self.cut_if(|_, cut| cut.time.is_some_and(|time| lasted >= time));
        if matches!(self.phase, Phase::Live) && lasted >= self.watch.timeout {
            self.phase = Phase::Over(Manner::Clean);
            if self.watch.bookmarks.is_some() {
                self.say_bookmark(out);
            }
        }
    }

    fn lose(&mut self, why: Unreadable, out: &mut Vec<u8>) {
        self.phase = Phase::Over(match why {
            Unreadable::Forgotten { floor } => {
                let refusal = too_old(self.position.version, floor);
                let event = match &self.watch.protobuf {
                    Some(_) => error_event(refusal.status()),
                    None => encode_error(refusal.status()),
                };
                out.extend_from_slice(&event);
                Manner::Clean
            }
            Unreadable::Ended => Manner::Clean,
            Unreadable::CutOff | Unreadable::Ahead { .. } => Manner::Abrupt,
        });
    }

    /// When the watch has something to say even if nothing changes.
    fn next_time(&self) -> Instant {
        let cuts = self.watch.effect.cuts.iter().filter_map(|cut| cut.time);
        let ends = cuts.chain([self.watch.timeout]).map(|time| later(self.started, time));
        let times = ends.chain(self.initial_end).chain(self.next_bookmark);
        times.min().expect("every watch has a timeout")
    }
}

/// What a watch is told that wants to begin, or to go on, where nothing is known any more.
pub(crate) fn too_old(version: u64, floor: u64) -> Refusal {
    Refusal::expired(&format!("too old resource version: {version} ({floor})"))
}

/// So much later, or as late as need be.
fn later(now: Instant, time: Duration) -> Instant {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
    now + time.min(YEAR)
}

fn delay(notice: &Notice) -> Duration {
    match notice {
        Notice::Kept | Notice::Dropped(_) => Duration::ZERO,
        Notice::Delayed(time, _) => *time,
    }
}

/// Whether something is told; counts the fault if it is not, or not in time.
fn tells(notice: &Notice) -> bool {
    match notice {
        Notice::Kept => true,
        Notice::Dropped(tally) => {
            tally.strike();
            false
        }
        Notice::Delayed(_, tally) => {
            tally.strike();
            true
        }
    }
}
