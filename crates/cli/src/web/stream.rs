//! Streams changes and the status to a page as server-sent events.

use super::{
    api::{change_json, status_json},
    change::Change,
    source::ChangeSource,
};
use bytes::Bytes;
use futures_util::{Stream, stream};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::time::Instant;

/// The time between two events, so that a page draws at most ten times a second.
const INTERVAL: Duration = Duration::from_millis(100);
/// The time after which an event is sent even if nothing changed.
const HEARTBEAT: Duration = Duration::from_secs(2);
/// The time between two reports of the status.
const STATUS: Duration = Duration::from_secs(1);
/// The maximum number of changes in an event; the others are counted.
const MAX_CHANGES: usize = 100;
/// The time after which a connection is closed if its client reads nothing.
pub(super) const STALLED: Duration = Duration::from_secs(30);

/// The open streams of a server, and the events that they share: the work and the memory do not grow with their number.
#[derive(Clone, Debug, Default)]
pub(super) struct Streams {
    open: Arc<AtomicUsize>,
    status: Arc<tokio::sync::Mutex<Option<SharedStatus>>>,
    changes: Arc<Mutex<Option<SharedChanges>>>,
}

/// A status as JSON.
#[derive(Debug)]
struct SharedStatus {
    created: Instant,
    json: Arc<str>,
}

/// The changes from one number up to another as JSON.
#[derive(Debug)]
struct SharedChanges {
    created: Instant,
    from: u64,
    next: u64,
    json: Arc<str>,
}

/// An open stream, until it is dropped.
#[derive(Debug)]
struct Open(Arc<AtomicUsize>);

impl Streams {
    /// Returns the number of open streams.
    pub(super) fn count(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    fn open(&self) -> Open {
        self.open.fetch_add(1, Ordering::Relaxed);
        Open(Arc::clone(&self.open))
    }

    /// Returns the status as JSON, which is computed once a second for all streams.
    async fn status(&self, source: &Arc<dyn ChangeSource>) -> Arc<str> {
        let mut last = self.status.lock().await;
        if let Some(status) = last.as_ref().filter(|status| status.created.elapsed() < STATUS) {
            return Arc::clone(&status.json);
        }
        let (source, streams) = (Arc::clone(source), self.count());
        let status = tokio::task::spawn_blocking(move || status_json(&*source, streams)).await;
        let json: Arc<str> = status.unwrap_or_default().to_string().into();
        *last = Some(SharedStatus { created: Instant::now(), json: Arc::clone(&json) });
        json
    }

    /// Returns the changes from a number on as JSON, and the number after them.
    ///
    /// Streams that read within the interval of events receive the same changes, so that they continue at the same number.
    fn changes(&self, source: &dyn ChangeSource, from: u64) -> (Arc<str>, u64) {
        let mut last = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = last.as_ref().filter(|last| last.created.elapsed() < INTERVAL && last.next > from);
        if let Some(recent) = recent.filter(|recent| recent.from == from) {
            return (Arc::clone(&recent.json), recent.next);
        }
        let next = recent.map(|recent| recent.next);
        let (json, next, is_shared) = match next {
            Some(next) => (changes_json(source, from, next), next, false),
            None => {
                let next = source.log().next();
                (changes_json(source, from, next), next, next > from)
            }
        };
        let json: Arc<str> = json.to_string().into();
        if is_shared {
            *last = Some(SharedChanges { created: Instant::now(), from, next, json: Arc::clone(&json) });
        }
        (json, next)
    }
}

/// Returns the newest changes of those from one number up to another, and the number of the others.
fn changes_json(source: &dyn ChangeSource, from: u64, next: u64) -> Value {
    let kinds = source.kinds();
    let log = source.log();
    let later = usize::try_from(log.next() - next).unwrap_or(usize::MAX);
    let shown: Vec<&Change> = log.since(from).rev().skip(later).take(MAX_CHANGES).collect();
    let skipped = (next - from).saturating_sub(shown.len() as u64);
    let shown: Vec<Value> = shown.iter().map(|change| change_json(&kinds, change)).collect();
    json!({"next": next, "end": log.end(), "skipped": skipped, "changes": shown})
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The time at which the stream of a connection produced its last event.
#[derive(Clone, Debug, Default)]
pub(super) struct LastEvent(Arc<Mutex<Option<Instant>>>);

impl LastEvent {
    fn set(&self, time: Option<Instant>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = time;
    }

    fn get(&self) -> Option<Instant> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the client of an open stream has not read anything for too long.
    pub(super) async fn stalled(&self) {
        loop {
            tokio::time::sleep(HEARTBEAT).await;
            if self.get().is_some_and(|time| time.elapsed() > STALLED) {
                return;
            }
        }
    }
}

struct Position {
    source: Arc<dyn ChangeSource>,
    streams: Streams,
    last_event: LastEvent,
    progress: tokio::sync::watch::Receiver<u64>,
    /// The number of the next change.
    next: u64,
    /// The time of the last report of the status; `None` before the first event.
    reported: Option<Instant>,
    _open: Open,
}

impl Drop for Position {
    fn drop(&mut self) {
        self.last_event.set(None);
    }
}

/// Streams changes as server-sent events.
///
/// An event is created when the connection can send it, from the changes since the previous one. A client that reads slowly gets
/// fewer and larger events, in which older changes are only counted. No events are queued for it.
pub(super) fn events(
    source: Arc<dyn ChangeSource>,
    streams: Streams,
    last_event: LastEvent,
) -> impl Stream<Item = Bytes> {
    let (progress, open) = (source.progress(), streams.open());
    let next = source.log().next();
    let position = Position { source, streams, last_event, progress, next, reported: None, _open: open };
    stream::unfold(position, |mut position| async move {
        let event = position.event().await;
        position.last_event.set(Some(Instant::now()));
        Some((event, position))
    })
}

impl Position {
    async fn event(&mut self) -> Bytes {
        if let Some(reported) = self.reported {
            tokio::time::sleep(INTERVAL).await;
            let next = self.next;
            let changed = async { self.progress.wait_for(|known| *known > next).await.is_ok() };
            let limit = HEARTBEAT.min(STATUS.saturating_sub(reported.elapsed()));
            // If the source has ended, the status reports it.
            if tokio::time::timeout(limit, changed).await == Ok(false) {
                tokio::time::sleep(HEARTBEAT).await;
            }
        }
        let mut text = String::new();
        if self.reported.is_none_or(|reported| reported.elapsed() >= STATUS) {
            self.reported = Some(Instant::now());
            write_event(&mut text, "status", &self.streams.status(&self.source).await);
        }
        let (changes, next) = self.streams.changes(&*self.source, self.next);
        self.next = next;
        write_event(&mut text, "changes", &changes);
        text.into()
    }
}

/// Writes an event. JSON has no line breaks, so the data is one line.
fn write_event(text: &mut String, name: &str, data: &str) {
    text.push_str("event: ");
    text.push_str(name);
    text.push_str("\ndata: ");
    text.push_str(data);
    text.push_str("\n\n");
}
