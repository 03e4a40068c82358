//! Measures the memory of the compressed objects of a kind.

use crate::args::StorageArg;
use crate::informers::WatchedResource;
use futures_util::FutureExt;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// Measures the memory of compressed objects. That of decoded objects is not known.
#[derive(Debug)]
pub(super) struct MemoryMeter {
    storage: StorageArg,
    /// The last size of each kind.
    known: Vec<Option<u64>>,
    /// The kind that is being measured.
    weighing: Option<(usize, JoinHandle<u64>)>,
    begun: Option<Instant>,
}

/// The interval between measurements, each of which visits every object.
const EVERY: Duration = Duration::from_secs(1);

impl MemoryMeter {
    pub(super) fn new(storage: StorageArg) -> Self {
        Self { storage, known: Vec::new(), weighing: None, begun: None }
    }

    /// Returns the last size of a kind. It is measured by another thread, so that drawing never waits for it.
    pub(super) fn memory_of(&mut self, at: usize, watched: &WatchedResource) -> Option<u64> {
        self.known.resize(self.known.len().max(at + 1), None);
        if let Some((weighed, task)) = &mut self.weighing
            && let Some(weight) = task.now_or_never()
        {
            self.known[*weighed] = weight.ok();
            self.weighing = None;
        }
        let is_due = self.begun.is_none_or(|begun| begun.elapsed() >= EVERY);
        if self.storage == StorageArg::Compressed && self.weighing.is_none() && is_due {
            let snapshot = watched.informer.snapshot();
            let task = tokio::task::spawn_blocking(move || snapshot.compact_bytes() as u64);
            (self.weighing, self.begun) = (Some((at, task)), Some(Instant::now()));
        }
        self.known[at]
    }
}
