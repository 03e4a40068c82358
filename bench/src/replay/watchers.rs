//! The open watches.

use super::placeholders::Chunk;
use kube_informer_bench_client::options::Encoding;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc;

/// The number of chunks that can be queued for one watch before the server waits for it.
pub(super) const CHUNKS: usize = 64;

/// One open watch.
#[derive(Clone, Debug)]
pub(super) struct Watcher {
    pub(super) encoding: Encoding,
    pub(super) chunks: mpsc::Sender<Chunk>,
}

/// All open watches.
#[derive(Debug, Default)]
pub(super) struct Watchers(Mutex<Vec<Watcher>>);

impl Watchers {
    pub(super) fn add(&self, watcher: Watcher) {
        self.lock().push(watcher);
    }

    /// Returns the watches that the client has not closed.
    pub(super) fn open(&self) -> Vec<Watcher> {
        let mut watchers = self.lock();
        watchers.retain(|watcher| !watcher.chunks.is_closed());
        watchers.clone()
    }

    /// Removes all watches; each ends when it is dropped.
    pub(super) fn take(&self) -> Vec<Watcher> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Watcher>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
