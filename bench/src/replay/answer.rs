//! What a request is answered with: a list, or a watch, written by a thread of its own.

use super::{
    encode::{self, Page},
    slots::Chunk,
    watchers::{CHUNKS, Watcher, Watchers},
    world::World,
};
use kube_informer_bench_client::{options::Encoding, seen::now};
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

/// Chunks are about as large as this.
pub(super) const CHUNK: usize = 256 << 10;

/// What all requests share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) world: World,
    pub(super) watchers: Watchers,
    /// When somebody last began to ask for everything, in nanoseconds since 1970; zero if nobody did since this was read.
    pub(super) asked_at: AtomicU64,
}

/// The parameters of a request, as far as they matter here.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Query {
    is_watch: bool,
    is_streaming: bool,
    version: u64,
    limit: usize,
    /// How many objects were sent before.
    begin: usize,
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
            begin: number("continue") as usize,
        }
    }

    pub(super) fn is_watch(&self) -> bool {
        self.is_watch
    }
}

/// Begins to answer; what is to be written comes out of the channel.
pub(super) fn answer(shared: &Arc<Shared>, query: Query, encoding: Encoding) -> mpsc::Receiver<Chunk> {
    let (chunks, receiver) = mpsc::channel(CHUNKS);
    let watcher = Watcher { encoding, chunks };
    if query.is_streaming || !query.is_watch && query.begin == 0 {
        _ = shared.asked_at.compare_exchange(0, now(), Ordering::Relaxed, Ordering::Relaxed);
    }
    let shared = Arc::clone(shared);
    thread::spawn(move || {
        // Who fails to write to someone who has left has nothing more to do.
        _ = match (query.is_watch, query.is_streaming) {
            (false, _) => list(&shared, &query, &watcher),
            (true, true) => stream(&shared, &watcher),
            (true, false) => watch(&shared, query.version, &watcher),
        };
    });
    receiver
}

/// A list, or a page of it.
fn list(shared: &Shared, query: &Query, watcher: &Watcher) -> Option<()> {
    let (versions, encoding) = (shared.world.versions().clone(), watcher.encoding);
    let total = shared.world.objects().len();
    let end = if query.limit == 0 { total } else { total.min(query.begin + query.limit) };
    let range = query.begin.min(end)..end;
    let mut metadata = json!({ "resourceVersion": versions.newest.to_string() });
    if end < total {
        metadata["continue"] = end.to_string().into();
        metadata["remainingItemCount"] = (total - end).into();
    }
    let items = shared.world.objects()[range.clone()].iter().map(|object| encode::item_len(encoding, object));
    let page = Page { metadata, items: items.sum() };
    let mut chunk = Vec::with_capacity(CHUNK + (64 << 10));
    let form = (encoding, &shared.world.form);
    encode::list_begin(form, &page, &mut chunk);
    each(shared, range, watcher, &mut chunk, |index, chunk| {
        encode::item(form, (&shared.world.objects()[index], versions.each[index], 0), chunk);
    })?;
    encode::list_end(encoding, &mut chunk);
    send(watcher, chunk)
}

/// A watch that begins with everything there is.
///
/// It is open for events from its first byte, and so nothing may be changed before it has synced.
fn stream(shared: &Shared, watcher: &Watcher) -> Option<()> {
    let versions = shared.world.versions().clone();
    shared.watchers.add(watcher.clone());
    let form = (watcher.encoding, &shared.world.form);
    let mut chunk = Vec::with_capacity(CHUNK + (64 << 10));
    each(shared, 0..versions.each.len(), watcher, &mut chunk, |index, chunk| {
        let object = (&shared.world.objects()[index], versions.each[index], 0);
        encode::event(form, EventType::Added, object, chunk);
    })?;
    encode::initial_events_end(form, versions.newest, &mut chunk);
    send(watcher, chunk)
}

/// A watch from a version: what changed since then, in its last state, and then whatever comes.
fn watch(shared: &Shared, version: u64, watcher: &Watcher) -> Option<()> {
    // Nothing changes before this watch is among those that are told.
    let versions = shared.world.versions();
    let mut chunk = Vec::new();
    if version > 0 && !versions.can_watch_from(version) {
        drop(versions);
        encode::expired(watcher.encoding, &mut chunk);
        return send(watcher, chunk);
    }
    let form = (watcher.encoding, &shared.world.form);
    for (index, changed) in if version > 0 { versions.since(version) } else { Vec::new() } {
        let object = (&shared.world.objects()[index], changed, 0);
        encode::event(form, EventType::Modified, object, &mut chunk);
        if chunk.len() >= CHUNK {
            send(watcher, std::mem::take(&mut chunk))?;
        }
    }
    send(watcher, chunk)?;
    shared.watchers.add(watcher.clone());
    Some(())
}

/// Writes objects one by one, and sends a chunk whenever it is full.
fn each(
    shared: &Shared,
    range: Range<usize>,
    watcher: &Watcher,
    chunk: &mut Vec<u8>,
    mut write: impl FnMut(usize, &mut Vec<u8>),
) -> Option<()> {
    debug_assert!(range.end <= shared.world.objects().len(), "the range is of objects");
    for index in range {
        write(index, chunk);
        if chunk.len() >= CHUNK {
            let full = std::mem::replace(chunk, Vec::with_capacity(CHUNK + (64 << 10)));
            send(watcher, full)?;
        }
    }
    Some(())
}

fn send(watcher: &Watcher, chunk: Vec<u8>) -> Option<()> {
    if chunk.is_empty() { Some(()) } else { watcher.chunks.blocking_send(Chunk::Ready(chunk.into())).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_read() {
        let query = Query::parse("limit=500&continue=1000");
        assert_eq!(query, Query { limit: 500, begin: 1000, ..Query::default() });
        let query = Query::parse("watch=true&sendInitialEvents=true&resourceVersion=7");
        assert_eq!(query, Query { is_watch: true, is_streaming: true, version: 7, ..Query::default() });
    }
}
