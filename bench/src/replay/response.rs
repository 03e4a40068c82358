//! Responses to LIST and WATCH, each written by its own thread.

use super::{
    encoder::{self, Encoder, Page, Revision},
    placeholders::Chunk,
    store::ReplayStore,
    watchers::{CHUNKS, Watcher, Watchers},
};
use kube_informer_bench_client::{options::Encoding, recorder::now};
use kube_informer_wire::EventType;
use serde_json::json;
use std::{
    collections::HashMap,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};
use tokio::sync::mpsc;

/// The approximate size of a chunk.
pub(super) const CHUNK_BYTES: usize = 256 << 10;

/// The state that all requests share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) store: ReplayStore,
    pub(super) watchers: Watchers,
    /// The time of the first full list since the last reset of this field, in nanoseconds since 1970; zero if there was none.
    pub(super) list_time: AtomicU64,
}

/// The supported parameters of a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Query {
    is_watch: bool,
    is_streaming: bool,
    version: u64,
    limit: usize,
    /// The number of objects on previous pages.
    start: usize,
}

impl Query {
    pub(super) fn parse(query: &str) -> Self {
        let query: HashMap<_, _> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let is = |name: &str| query.get(name).is_some_and(|value| value == "1" || value == "true");
        let number = |name: &str| query.get(name).and_then(|value| value.parse::<u64>().ok()).unwrap_or(0);
        Self {
            is_watch: is("watch"),
            is_streaming: is("sendInitialEvents"),
            version: number("resourceVersion"),
            limit: number("limit") as usize,
            start: number("continue") as usize,
        }
    }

    pub(super) fn is_watch(&self) -> bool {
        self.is_watch
    }
}

/// Starts a response, whose chunks are received from the channel.
pub(super) fn respond(shared: &Arc<Shared>, query: Query, encoding: Encoding) -> mpsc::Receiver<Chunk> {
    let (chunks, receiver) = mpsc::channel(CHUNKS);
    let watcher = Watcher { encoding, chunks };
    if query.is_streaming || !query.is_watch && query.start == 0 {
        _ = shared.list_time.compare_exchange(0, now(), Ordering::Relaxed, Ordering::Relaxed);
    }
    let shared = Arc::clone(shared);
    thread::spawn(move || {
        // `None` means that the client has closed the connection.
        _ = match (query.is_watch, query.is_streaming) {
            (false, _) => list(&shared, &query, &watcher),
            (true, true) => streamed_list(&shared, &watcher),
            (true, false) => watch(&shared, query.version, &watcher),
        };
    });
    receiver
}

/// Sends a list, or a page of it.
fn list(shared: &Shared, query: &Query, watcher: &Watcher) -> Option<()> {
    let versions = shared.store.versions().clone();
    let encoder = Encoder { encoding: watcher.encoding, resource: &shared.store.resource };
    let objects = shared.store.objects();
    let end = if query.limit == 0 { objects.len() } else { objects.len().min(query.start + query.limit) };
    let range = query.start.min(end)..end;
    let mut metadata = json!({ "resourceVersion": versions.newest.to_string() });
    if end < objects.len() {
        metadata["continue"] = end.to_string().into();
        metadata["remainingItemCount"] = (objects.len() - end).into();
    }
    let item_bytes = objects[range.clone()].iter().map(|object| encoder.item_bytes(object)).sum();
    let mut chunk = new_chunk();
    encoder.list_start(&Page { metadata, item_bytes }, &mut chunk);
    write_each(range, watcher, &mut chunk, |index, chunk| {
        let revision = Revision { object: &objects[index], version: versions.of_objects[index], sent: 0 };
        encoder.item(revision, chunk);
    })?;
    encoder.list_end(&mut chunk);
    send(watcher, chunk)
}

/// Sends a watch with initial events.
///
/// The watch receives updates from its first byte, so updates must not start before the client has synced.
fn streamed_list(shared: &Shared, watcher: &Watcher) -> Option<()> {
    let versions = shared.store.versions().clone();
    shared.watchers.add(watcher.clone());
    let encoder = Encoder { encoding: watcher.encoding, resource: &shared.store.resource };
    let mut chunk = new_chunk();
    write_each(0..versions.of_objects.len(), watcher, &mut chunk, |index, chunk| {
        let object = &shared.store.objects()[index];
        encoder.event(
            EventType::Added,
            Revision { object, version: versions.of_objects[index], sent: 0 },
            chunk,
        );
    })?;
    encoder.initial_events_end(versions.newest, &mut chunk);
    send(watcher, chunk)
}

/// Sends the last state of each object that changed since a version, and adds the watch.
fn watch(shared: &Shared, version: u64, watcher: &Watcher) -> Option<()> {
    // The lock prevents changes until the watch is added.
    let versions = shared.store.versions();
    let mut chunk = Vec::new();
    if version > 0 && !versions.can_watch_from(version) {
        drop(versions);
        encoder::expired_event(watcher.encoding, &mut chunk);
        return send(watcher, chunk);
    }
    let encoder = Encoder { encoding: watcher.encoding, resource: &shared.store.resource };
    for (index, version) in if version > 0 { versions.since(version) } else { Vec::new() } {
        let object = &shared.store.objects()[index];
        encoder.event(EventType::Modified, Revision { object, version, sent: 0 }, &mut chunk);
        if chunk.len() >= CHUNK_BYTES {
            send(watcher, std::mem::take(&mut chunk))?;
        }
    }
    send(watcher, chunk)?;
    shared.watchers.add(watcher.clone());
    Some(())
}

/// Writes objects, and sends each full chunk.
fn write_each(
    range: Range<usize>,
    watcher: &Watcher,
    chunk: &mut Vec<u8>,
    mut write: impl FnMut(usize, &mut Vec<u8>),
) -> Option<()> {
    for index in range {
        write(index, chunk);
        if chunk.len() >= CHUNK_BYTES {
            send(watcher, std::mem::replace(chunk, new_chunk()))?;
        }
    }
    Some(())
}

fn new_chunk() -> Vec<u8> {
    Vec::with_capacity(CHUNK_BYTES + (64 << 10))
}

fn send(watcher: &Watcher, chunk: Vec<u8>) -> Option<()> {
    if chunk.is_empty() { Some(()) } else { watcher.chunks.blocking_send(Chunk::Complete(chunk.into())).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_parsed() {
        let query = Query::parse("limit=500&continue=1000");
        assert_eq!(query, Query { limit: 500, start: 1000, ..Query::default() });
        let query = Query::parse("watch=true&sendInitialEvents=true&resourceVersion=7");
        assert_eq!(query, Query { is_watch: true, is_streaming: true, version: 7, ..Query::default() });
    }
}
