//! Changes to one object after the other, sent to all who watch.

use super::{
    answer::{CHUNK, Shared},
    encode,
    slots::{Chunk, UNSENT},
    watchers::Watcher,
};
use bytes::Bytes;
use kube_informer_bench_client::{options::Encoding, seen::now};
use kube_informer_wire::EventType;
use std::{
    thread,
    time::{Duration, Instant},
};

/// How fast events are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rate {
    /// As fast as they are taken.
    Highest,
    /// So many a second, each on its own.
    PerSecond(f64),
}

/// Sends so many events, and says how many seconds that took.
pub(super) fn storm(shared: &Shared, events: u64, rate: Rate) -> f64 {
    let (watchers, began) = (shared.watchers.open(), Instant::now());
    match rate {
        Rate::Highest => at_once(shared, events, &watchers),
        Rate::PerSecond(rate) => {
            for turn in 0..events {
                let due = began + Duration::from_secs_f64(turn as f64 / rate);
                thread::sleep(due.saturating_duration_since(Instant::now()));
                let mut chunks = Chunks::default();
                chunks.add(shared, (turn, UNSENT), &watchers);
                chunks.send(&watchers, Chunk::Unsent);
            }
        }
    }
    began.elapsed().as_secs_f64()
}

fn at_once(shared: &Shared, events: u64, watchers: &[Watcher]) {
    let mut chunks = Chunks::default();
    for turn in 0..events {
        chunks.add(shared, (turn, now()), watchers);
        if chunks.json.len().max(chunks.protobuf.len()) >= CHUNK {
            chunks.send(watchers, Chunk::Ready);
        }
    }
    chunks.send(watchers, Chunk::Ready);
}

/// What is to be sent, in each encoding that somebody wants.
#[derive(Debug, Default)]
struct Chunks {
    json: Vec<u8>,
    protobuf: Vec<u8>,
}

impl Chunks {
    /// Changes the next object.
    fn add(&mut self, shared: &Shared, (turn, sent): (u64, u64), watchers: &[Watcher]) {
        let index = (turn % shared.world.objects().len() as u64) as usize;
        let version = shared.world.versions().touch(index);
        for encoding in [Encoding::Json, Encoding::Protobuf] {
            if watchers.iter().any(|watcher| watcher.encoding == encoding) {
                let object = (&shared.world.objects()[index], version, sent);
                let form = (encoding, &shared.world.form);
                encode::event(form, EventType::Modified, object, self.of(encoding));
            }
        }
    }

    fn of(&mut self, encoding: Encoding) -> &mut Vec<u8> {
        match encoding {
            Encoding::Json => &mut self.json,
            Encoding::Protobuf => &mut self.protobuf,
        }
    }

    fn send(&mut self, watchers: &[Watcher], chunk_of: fn(Bytes) -> Chunk) {
        for encoding in [Encoding::Json, Encoding::Protobuf] {
            let chunk: Bytes = std::mem::take(self.of(encoding)).into();
            let wanted = watchers.iter().filter(|watcher| watcher.encoding == encoding && !chunk.is_empty());
            for watcher in wanted {
                // Who has left hears nothing.
                _ = watcher.chunks.blocking_send(chunk_of(chunk.clone()));
            }
        }
    }
}
