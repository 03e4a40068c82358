//! Updates objects and sends the events to all watches.

use super::{
    encoder::{Encoder, Revision},
    placeholders::{Chunk, UNSENT},
    response::{CHUNK_BYTES, Shared},
    watchers::Watcher,
};
use bytes::Bytes;
use kube_informer_bench_client::{options::Encoding, recorder::now};
use kube_informer_wire::EventType;
use std::{
    thread,
    time::{Duration, Instant},
};

/// The rate of events.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rate {
    /// As fast as the watches read.
    Unlimited,
    /// Events per second, sent one by one.
    PerSecond(f64),
}

/// Sends this number of events, and returns the duration in seconds.
pub(super) fn send_updates(shared: &Shared, events: u64, rate: Rate) -> f64 {
    let watchers = shared.watchers.open();
    let start = Instant::now();
    let mut chunks = Chunks::default();
    for turn in 0..events {
        match rate {
            Rate::Unlimited => {
                chunks.add(shared, Update { turn, sent: now() }, &watchers);
                if chunks.json.len().max(chunks.protobuf.len()) >= CHUNK_BYTES {
                    chunks.send(&watchers, Chunk::Complete);
                }
            }
            Rate::PerSecond(rate) => {
                let due = start + Duration::from_secs_f64(turn as f64 / rate);
                thread::sleep(due.saturating_duration_since(Instant::now()));
                chunks.add(shared, Update { turn, sent: UNSENT }, &watchers);
                chunks.send(&watchers, Chunk::Unsent);
            }
        }
    }
    chunks.send(&watchers, Chunk::Complete);
    start.elapsed().as_secs_f64()
}

/// The number of an update, and its time of sending.
#[derive(Clone, Copy, Debug)]
struct Update {
    turn: u64,
    sent: u64,
}

/// The bytes to send, for each encoding that a watch uses.
#[derive(Debug, Default)]
struct Chunks {
    json: Vec<u8>,
    protobuf: Vec<u8>,
}

impl Chunks {
    /// Updates the next object.
    fn add(&mut self, shared: &Shared, update: Update, watchers: &[Watcher]) {
        let index = (update.turn % shared.store.objects().len() as u64) as usize;
        let version = shared.store.versions().update(index);
        for encoding in [Encoding::Json, Encoding::Protobuf] {
            if watchers.iter().any(|watcher| watcher.encoding == encoding) {
                let revision =
                    Revision { object: &shared.store.objects()[index], version, sent: update.sent };
                let encoder = Encoder { encoding, resource: &shared.store.resource };
                encoder.event(EventType::Modified, revision, self.buffer(encoding));
            }
        }
    }

    fn buffer(&mut self, encoding: Encoding) -> &mut Vec<u8> {
        match encoding {
            Encoding::Json => &mut self.json,
            Encoding::Protobuf => &mut self.protobuf,
        }
    }

    fn send(&mut self, watchers: &[Watcher], into_chunk: fn(Bytes) -> Chunk) {
        for encoding in [Encoding::Json, Encoding::Protobuf] {
            let bytes: Bytes = std::mem::take(self.buffer(encoding)).into();
            let wanted = watchers.iter().filter(|watcher| watcher.encoding == encoding && !bytes.is_empty());
            for watcher in wanted {
                // An error means that the client has closed the watch.
                _ = watcher.chunks.blocking_send(into_chunk(bytes.clone()));
            }
        }
    }
}
