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

/// The open streams of a server.
#[derive(Clone, Debug, Default)]
pub(super) struct Streams(Arc<AtomicUsize>);

/// An open stream, until it is dropped.
#[derive(Debug)]
struct Open(Arc<AtomicUsize>);

impl Streams {
    /// Returns the number of open streams.
    pub(super) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    fn open(&self) -> Open {
        self.0.fetch_add(1, Ordering::Relaxed);
        Open(Arc::clone(&self.0))
    }
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
            let (source, streams) = (Arc::clone(&self.source), self.streams.count());
            let status = tokio::task::spawn_blocking(move || status_json(&*source, streams)).await;
            write_event(&mut text, "status", &status.unwrap_or_default());
        }
        let changes = self.changes();
        write_event(&mut text, "changes", &changes);
        text.into()
    }

    fn changes(&mut self) -> Value {
        let kinds = self.source.kinds();
        let log = self.source.log();
        let next = log.next();
        let shown: Vec<&Change> = log.since(self.next).rev().take(MAX_CHANGES).collect();
        let skipped = (next - self.next).saturating_sub(shown.len() as u64);
        self.next = next;
        let shown: Vec<Value> = shown.iter().map(|change| change_json(&kinds, change)).collect();
        json!({"next": next, "end": log.end(), "skipped": skipped, "changes": shown})
    }
}

/// Writes an event. JSON has no line breaks, so the data is one line.
fn write_event(text: &mut String, name: &str, data: &Value) {
    text.push_str("event: ");
    text.push_str(name);
    text.push_str("\ndata: ");
    text.push_str(&data.to_string());
    text.push_str("\n\n");
}
