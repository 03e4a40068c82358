//! The handle to a saved state.

use crate::{
    batch::{Batch, Snapshot},
    error::{OpenError, SaveError},
    header::Header,
    log::Log,
    options::Options,
    queue::{Enqueue, Queue},
    restored::Restored,
    writer::{WriterShared, WriterStatus},
};
use kube_informer_wire::rng;
use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
};

/// A folder with a saved state and the background thread that writes it.
///
/// [`append`](Self::append) and [`replace`](Self::replace) never wait for the disk. Dropping the handle does: it writes the queued
/// changes once, without retries.
#[derive(Debug)]
pub struct SavedState {
    shared: Arc<WriterShared>,
    writer: Writer,
}

#[derive(Debug)]
enum Writer {
    /// A background thread, which is joined when the handle is dropped.
    Thread(Option<JoinHandle<()>>),
    /// The calling thread, in a deterministic simulation.
    Caller(Box<Mutex<Log>>),
}

impl SavedState {
    /// Opens a folder, which is created if it is missing, and restores the state that was saved there.
    ///
    /// The folder is locked until the handle is dropped. Only its owner can access the folder and its files.
    ///
    /// # Errors
    /// Returns an [`OpenError`] if the saved state is for something else or unreadable, if another process uses the folder, or if an
    /// I/O operation fails.
    pub fn open(
        folder: impl AsRef<Path>,
        header: &Header,
        options: Options,
    ) -> Result<(Self, Restored), OpenError> {
        let Options { config, limits, backoff, listener } = options;
        let path = folder.as_ref();
        let (log, restored) = Log::open(path, header, config)?;
        let shared = Arc::new(WriterShared::new(Queue::new(limits), log.size(), backoff, listener));
        let writer = if rng::is_seeded() {
            Writer::Caller(Box::new(Mutex::new(log)))
        } else {
            let thread = std::thread::Builder::new().name("saved-state".to_owned()).spawn({
                let shared = Arc::clone(&shared);
                move || shared.run(log)
            });
            Writer::Thread(Some(thread.map_err(OpenError::io(path, "start the writer thread"))?))
        };
        Ok((Self { shared, writer }, restored))
    }

    /// Writes the queued data if there is no writer thread.
    fn write_in_caller(&self) {
        if let Writer::Caller(log) = &self.writer {
            self.shared.drain(&mut log.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Simulates a writer thread, which may or may not have written the data by now.
    fn simulate_thread(&self) {
        if !rng::buggify(3) {
            self.write_in_caller();
        }
    }

    /// Queues a batch to be saved after those before it.
    ///
    /// The write happens within the flush interval. Batches are restored in this order, each completely, up to some point.
    pub fn append(&self, batch: Batch) -> Enqueue {
        let result = self.shared.append(batch);
        self.simulate_thread();
        result
    }

    /// Queues a complete state that replaces everything before it.
    ///
    /// The previous state stays on disk until the snapshot is written. If that fails, a new snapshot is needed.
    pub fn replace(&self, snapshot: Snapshot) -> Enqueue {
        let result = self.shared.replace(snapshot);
        self.simulate_thread();
        result
    }

    /// Waits until everything queued so far is written, without waiting for the flush interval.
    ///
    /// It blocks, so do not call it on an async thread.
    ///
    /// # Errors
    /// Returns a [`SaveError`] if the data could not be written; see [`SaveError::needs_snapshot`] for how saving continues.
    pub fn flush(&self) -> Result<(), SaveError> {
        self.write_in_caller();
        self.shared.flush()
    }

    /// Returns the status of the writer.
    #[must_use]
    pub fn status(&self) -> WriterStatus {
        self.shared.status()
    }

    /// Writes the queued data and releases the folder. It blocks, as dropping the handle does.
    ///
    /// # Errors
    /// Returns a [`SaveError`] if the data could not be written.
    pub fn close(self) -> Result<(), SaveError> {
        self.flush()
    }
}

impl Drop for SavedState {
    fn drop(&mut self) {
        self.shared.close();
        self.write_in_caller();
        if let Writer::Thread(thread) = &mut self.writer
            && let Some(thread) = thread.take()
        {
            // It only panics if the listener or the iterator of a snapshot does.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_send_and_sync() {
        fn check<T: Send + Sync>() {}
        check::<SavedState>();
        check::<Restored>();
    }
}
