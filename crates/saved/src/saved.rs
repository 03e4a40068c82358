//! The handle to a saved state.

use crate::{
    batch::{Batch, Snapshot},
    error::{OpenError, SaveError},
    header::Header,
    log::Log,
    options::Options,
    queue::{Queue, Taken},
    restored::Restored,
    writer::{Desk, Status},
};
use kube_informer_wire::chance;
use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
};

/// A folder that a state is saved to, by a thread of its own.
///
/// [`Saved::append`] and [`Saved::replace`] never wait for the disk. Dropping the handle does: what waits is written first, and a
/// failure is not tried again.
#[derive(Debug)]
pub struct Saved {
    desk: Arc<Desk>,
    writer: Writer,
}

/// Who writes.
#[derive(Debug)]
enum Writer {
    /// A thread, which is joined at the end.
    Thread(Option<JoinHandle<()>>),
    /// Whoever hands something over, now or later: where chance is fixed there is no other thread.
    Caller(Box<Mutex<Log>>),
}

impl Saved {
    /// Opens a folder, which is made if it is missing, and reads what was saved there.
    ///
    /// The folder belongs to this handle until it is dropped. It is closed to other users, and so are the files in it.
    ///
    /// # Errors
    /// [`OpenError`]: what is saved is of something else or cannot be read, another process has the folder, or the system
    /// refuses.
    pub fn open(
        folder: impl AsRef<Path>,
        header: &Header,
        options: Options,
    ) -> Result<(Self, Restored), OpenError> {
        let Options { config, limits, pauses, listener } = options;
        let path = folder.as_ref();
        let (log, restored) = Log::open(path, header, config)?;
        let desk = Arc::new(Desk::new(Queue::new(limits), log.size(), pauses, listener));
        if chance::is_fixed() {
            return Ok((Self { desk, writer: Writer::Caller(Box::new(Mutex::new(log))) }, restored));
        }
        let shared = Arc::clone(&desk);
        let thread = std::thread::Builder::new().name("saved-state".to_owned());
        let writer = thread.spawn(move || shared.run(log));
        let writer = writer.map_err(OpenError::io(path, "starting a thread"))?;
        Ok((Self { desk, writer: Writer::Thread(Some(writer)) }, restored))
    }

    /// Writes what waits, if nobody else does.
    fn write_here(&self) {
        if let Writer::Caller(log) = &self.writer {
            self.desk.work_off(&mut log.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// A writer on a thread of its own may have come round to it by now, or not.
    fn maybe_write_here(&self, taken: Taken) -> Taken {
        if !chance::strikes(3) {
            self.write_here();
        }
        taken
    }

    /// Saves a batch after those before it.
    ///
    /// It is written within the flush interval, together with others. Batches are read back in this order, each whole, up
    /// to some point; never one without those before it.
    pub fn append(&self, batch: Batch) -> Taken {
        self.maybe_write_here(self.desk.append(batch))
    }

    /// Saves a whole state in place of everything before it.
    ///
    /// Until it is written, what was saved before stays. After a failure it is not tried again, but asked for again.
    pub fn replace(&self, snapshot: Snapshot) -> Taken {
        self.maybe_write_here(self.desk.replace(snapshot))
    }

    /// Waits until everything before is in the file, without waiting for the interval. It blocks; do not call it on
    /// an async thread.
    ///
    /// # Errors
    /// [`SaveError`] if it is not, and will be only later or after a snapshot; see [`SaveError::needs_snapshot`].
    pub fn flush(&self) -> Result<(), SaveError> {
        self.write_here();
        self.desk.flush()
    }

    /// How saving goes.
    #[must_use]
    pub fn status(&self) -> Status {
        self.desk.status()
    }

    /// Writes what waits, and gives the folder back. It blocks, as dropping the handle does.
    ///
    /// # Errors
    /// [`SaveError`] if something could not be written.
    pub fn close(self) -> Result<(), SaveError> {
        self.flush()
    }
}

impl Drop for Saved {
    fn drop(&mut self) {
        self.desk.close();
        self.write_here();
        if let Writer::Thread(writer) = &mut self.writer
            && let Some(writer) = writer.take()
        {
            // It ends with a panic only if a listener or a snapshot's objects do.
            let _ = writer.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_may_have_it_in_common() {
        fn check<T: Send + std::marker::Sync>() {}
        check::<Saved>();
        check::<Restored>();
    }
}
