//! The state machine of a watch: which events are sent, and when.

use crate::fault::{BookmarkEffect, Cut, Manner, WatchEffect};
use crate::storage::{Batch, CollectionId, Position, ReadError, Record, Selection, Store};
use crate::verb::{
    error_response::ErrorResponse,
    form::ObjectEncoder,
    protobuf::{Protobuf, error_event},
};
use bytes::Bytes;
use kube_informer_wire::{
    EventType, ResourceVersion, encode_bookmark, encode_error, encode_initial_events_end,
};
use std::time::Duration;
use tokio::time::Instant;

/// The maximum number of events that are read in one step.
const EVENTS: usize = 256;
/// The approximate maximum number of bytes that are sent in one step.
const CHUNK: usize = 64 * 1024;

/// One watch, from its first event to its end.
///
/// Initial -> Live -> Over
#[derive(Debug)]
pub(crate) struct WatchState {
    pub(crate) watch: Watch,
    phase: Phase,
    position: Position,
    sent: u64,
    /// The time of the bookmark that ends the initial events.
    initial_end: Option<Instant>,
    next_bookmark: Option<Instant>,
    started: Instant,
    /// The event that ends the watch because its objects cannot be converted.
    conversion_error: Option<Bytes>,
}

/// The options of a watch.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) collection: CollectionId,
    pub(crate) selection: Selection,
    pub(crate) encoder: ObjectEncoder,
    /// The encoder, if the client requests protobuf.
    pub(crate) protobuf: Option<Protobuf>,
    /// The initial objects, if they are requested.
    pub(crate) initial: Vec<Record>,
    /// The converted events that are sent next, if a webhook converts the objects.
    pub(crate) converted: Option<Vec<(EventType, Record)>>,
    /// True if a bookmark ends the initial events.
    pub(crate) sends_initial_end: bool,
    /// The interval of bookmarks.
    pub(crate) bookmarks: Option<Duration>,
    /// The timeout.
    pub(crate) timeout: Duration,
    /// The faults.
    pub(crate) effect: WatchEffect,
}

#[derive(Debug)]
enum Phase {
    Initial(std::vec::IntoIter<Record>),
    Live,
    Over(Manner),
}

/// The next step of a watch.
#[derive(Debug)]
pub(crate) enum Step {
    /// Send these bytes.
    Send(Bytes),
    /// Wait for a change, at most until this time.
    Wait(Instant),
    /// End.
    End(Manner),
}

impl WatchState {
    pub(crate) fn new(mut watch: Watch, position: Position, now: Instant) -> Self {
        let initial = std::mem::take(&mut watch.initial).into_iter();
        let bookmark =
            |interval: Duration| later(now, interval.saturating_add(delay(&watch.effect.bookmarks)));
        let next_bookmark = watch.bookmarks.map(bookmark);
        let initial_end = later(now, delay(&watch.effect.initial_events_end));
        let initial_end = watch.sends_initial_end.then_some(initial_end);
        let phase = Phase::Initial(initial);
        let mut state = Self {
            watch,
            phase,
            position,
            sent: 0,
            initial_end,
            next_bookmark,
            started: now,
            conversion_error: None,
        };
        state.cut_if(|_, cut| cut.events == Some(0));
        state
    }

    /// Returns the next step at this time.
    pub(crate) fn step(&mut self, store: &Store, now: Instant) -> Step {
        let mut out = Vec::new();
        let was_initial = matches!(self.phase, Phase::Initial(_));
        if was_initial {
            self.append_initial(&mut out);
        }
        if matches!(self.phase, Phase::Live) {
            self.append_events(store, &mut out);
        }
        if matches!(self.phase, Phase::Live) {
            self.append_bookmarks(now, &mut out);
            self.end_in_time(now, &mut out);
        }
        match (&self.phase, out.is_empty()) {
            (_, false) => Step::Send(out.into()),
            (Phase::Over(manner), true) => Step::End(*manner),
            (Phase::Initial(_), true) => Step::Wait(now),
            // The events were not converted before this step.
            (Phase::Live, true) if was_initial && self.watch.converted.is_some() => Step::Wait(now),
            (Phase::Live, true) => Step::Wait(self.next_time()),
        }
    }

    fn append_initial(&mut self, out: &mut Vec<u8>) {
        let Phase::Initial(records) = &mut self.phase else { return };
        let mut records = std::mem::take(records);
        while out.len() < CHUNK {
            let Some(record) = records.next() else {
                self.phase = Phase::Live;
                return;
            };
            self.append(EventType::Added, &record, out);
            if !matches!(self.phase, Phase::Initial(_)) {
                return;
            }
        }
        self.phase = Phase::Initial(records);
    }

    /// Returns the next events, which are converted before the next step. There are none before the initial objects are sent.
    pub(crate) fn take_events(&mut self, store: &Store) -> Vec<(EventType, Record)> {
        if !matches!(self.phase, Phase::Live) {
            return Vec::new();
        }
        // The next step reports an error.
        let Ok(batch) = store.events(&self.watch.collection, self.position, EVENTS) else {
            return Vec::new();
        };
        self.position = batch.position;
        batch.events.iter().filter_map(|event| event.seen_by(&self.watch.selection)).collect()
    }

    /// Sends these events with the next step.
    pub(crate) fn events_converted(&mut self, events: Vec<(EventType, Record)>) {
        self.watch.converted = Some(events);
    }

    /// Ends the watch with an error.
    pub(crate) fn conversion_failed(&mut self, error: &ErrorResponse) {
        self.conversion_error = Some(match &self.watch.protobuf {
            Some(_) => error_event(error.status()),
            None => encode_error(error.status()),
        });
    }

    fn append_converted(&mut self, store: &Store, out: &mut Vec<u8>) {
        if let Some(error) = self.conversion_error.take() {
            out.extend_from_slice(&error);
            self.phase = Phase::Over(Manner::Clean);
            return;
        }
        for (kind, record) in self.watch.converted.take().unwrap_or_default() {
            self.append(kind, &record, out);
            if !matches!(self.phase, Phase::Live) {
                return;
            }
        }
        self.watch.converted = Some(Vec::new());
        if let Err(error) = store.events(&self.watch.collection, self.position, EVENTS) {
            self.expire(error, out);
        }
    }

    fn append_events(&mut self, store: &Store, out: &mut Vec<u8>) {
        if self.watch.converted.is_some() {
            return self.append_converted(store, out);
        }
        while out.len() < CHUNK {
            let Batch { events, position } = match store.events(&self.watch.collection, self.position, EVENTS)
            {
                Ok(batch) => batch,
                Err(error) => return self.expire(error, out),
            };
            let is_all = events.len() < EVENTS;
            self.position = position;
            for event in events {
                if let Some((kind, record)) = event.seen_by(&self.watch.selection) {
                    self.append(kind, &record, out);
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

    fn append(&mut self, kind: EventType, record: &Record, out: &mut Vec<u8>) {
        if let Some(protobuf) = &self.watch.protobuf {
            out.extend_from_slice(&protobuf.event(kind, record));
        } else {
            out.reserve(self.watch.encoder.size(record));
            out.extend_from_slice(b"{\"type\":\"");
            out.extend_from_slice(kind.as_str().as_bytes());
            out.extend_from_slice(b"\",\"object\":");
            self.watch.encoder.append(record, out);
            out.extend_from_slice(b"}\n");
        }
        self.sent += 1;
        self.cut_if(|sent, cut| cut.events.is_some_and(|events| sent >= events));
    }

    fn cut_if(&mut self, is_due: impl Fn(u64, &Cut) -> bool) {
        if let Some(cut) = self.watch.effect.cuts.iter().find(|cut| is_due(self.sent, cut)) {
            self.phase = Phase::Over(cut.record_hit());
        }
    }

    fn append_bookmarks(&mut self, now: Instant, out: &mut Vec<u8>) {
        let version = ResourceVersion::number(self.position.version);
        if self.initial_end.is_some_and(|due| due <= now) {
            self.initial_end = None;
            if is_sent(&self.watch.effect.initial_events_end) {
                let bookmark = match &self.watch.protobuf {
                    Some(protobuf) => protobuf.initial_events_end(&version),
                    None => encode_initial_events_end(&self.watch.encoder.types(), &version),
                };
                out.extend_from_slice(&bookmark);
            }
        }
        if self.next_bookmark.is_some_and(|due| due <= now) {
            let interval = self.watch.bookmarks.unwrap_or_default();
            let time = interval.saturating_add(delay(&self.watch.effect.bookmarks));
            self.next_bookmark = Some(later(now, time));
            self.append_bookmark(out);
        }
    }

    fn append_bookmark(&self, out: &mut Vec<u8>) {
        // A bookmark before the end of the initial events would report that they have ended.
        if self.initial_end.is_none() && is_sent(&self.watch.effect.bookmarks) {
            let version = ResourceVersion::number(self.position.version);
            let bookmark = match &self.watch.protobuf {
                Some(protobuf) => protobuf.bookmark(&version),
                None => encode_bookmark(&self.watch.encoder.types(), &version),
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
                self.append_bookmark(out);
            }
        }
    }

    fn expire(&mut self, why: ReadError, out: &mut Vec<u8>) {
        self.phase = Phase::Over(match why {
            ReadError::Expired { floor } => {
                let error = too_old(self.position.version, floor);
                let event = match &self.watch.protobuf {
                    Some(_) => error_event(error.status()),
                    None => encode_error(error.status()),
                };
                out.extend_from_slice(&event);
                Manner::Clean
            }
            ReadError::NotServed => Manner::Clean,
            ReadError::Cut | ReadError::NotReached { .. } => Manner::Abrupt,
        });
    }

    /// Returns the time of the next step without a change.
    fn next_time(&self) -> Instant {
        let cuts = self.watch.effect.cuts.iter().filter_map(|cut| cut.time);
        let ends = cuts.chain([self.watch.timeout]).map(|time| later(self.started, time));
        let times = ends.chain(self.initial_end).chain(self.next_bookmark);
        times.min().expect("every watch has a timeout")
    }
}

/// Returns the error event of a watch whose version has expired.
pub(crate) fn too_old(version: u64, floor: u64) -> ErrorResponse {
    ErrorResponse::expired(&format!("too old resource version: {version} ({floor})"))
}

/// Adds a delay without overflow.
fn later(now: Instant, time: Duration) -> Instant {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
    now + time.min(YEAR)
}

fn delay(notice: &BookmarkEffect) -> Duration {
    match notice {
        BookmarkEffect::Kept | BookmarkEffect::Dropped(_) => Duration::ZERO,
        BookmarkEffect::Delayed(time, _) => *time,
    }
}

/// Returns true if a bookmark is sent, and counts the fault if it is dropped or delayed.
fn is_sent(notice: &BookmarkEffect) -> bool {
    match notice {
        BookmarkEffect::Kept => true,
        BookmarkEffect::Dropped(tally) => {
            tally.record_hit();
            false
        }
        BookmarkEffect::Delayed(_, tally) => {
            tally.record_hit();
            true
        }
    }
}
