//! The options of a saved state.

use crate::{
    log::Config,
    queue::Limits,
    writer::{Backoff, Listener, WriterEvent},
};
use std::{fmt, sync::Arc, time::Duration};

/// Configures how a state is saved.
///
/// ```
/// use kube_informer_saved::Options;
/// use std::time::Duration;
///
/// let options = Options::default().flush_interval(Duration::from_secs(5)).start_over();
/// # let _ = options;
/// ```
#[derive(Clone)]
#[must_use]
pub struct Options {
    pub(crate) config: Config,
    pub(crate) limits: Limits,
    pub(crate) backoff: Backoff,
    pub(crate) listener: Option<Listener>,
}

/// When the writer syncs data to disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncPolicy {
    /// When a new file replaces the old one. Appended batches survive the end of the process, but a power failure may lose the
    /// last ones.
    NewFiles,
    /// Also after every flush.
    EveryFlush,
}

/// The maximum of all durations, which prevents overflow.
const MAX_DURATION: Duration = Duration::from_secs(365 * 24 * 3600);

impl Default for Options {
    fn default() -> Self {
        Self {
            config: Config { sync_appends: false, compaction_threshold: 4 << 20, start_over: false },
            limits: Limits { interval: Duration::from_secs(1), size: 64 << 20 },
            backoff: Backoff { initial: Duration::from_secs(1), max: Duration::from_secs(60) },
            listener: None,
        }
    }
}

impl Options {
    /// Sets how long changes are collected before they are written together. The default is one second.
    pub fn flush_interval(mut self, interval: Duration) -> Self {
        self.limits.interval = interval.min(MAX_DURATION);
        self
    }

    /// Sets the approximate maximum size of the write queue. The default is 64 MiB.
    ///
    /// When the queue is full, batches are rejected until there is a [`Snapshot`](crate::Snapshot). A single batch may be larger.
    pub fn max_queue_bytes(mut self, bytes: usize) -> Self {
        self.limits.size = bytes;
        self
    }

    /// Sets when data is synced to disk. The default is [`SyncPolicy::NewFiles`].
    pub fn sync(mut self, policy: SyncPolicy) -> Self {
        self.config.sync_appends = policy == SyncPolicy::EveryFlush;
        self
    }

    /// Sets the minimum amount of garbage before a compaction. The default is 4 MiB.
    ///
    /// The file is compacted when the garbage exceeds the live data by this number of bytes.
    pub fn compaction_threshold(mut self, bytes: u64) -> Self {
        self.config.compaction_threshold = bytes;
        self
    }

    /// Sets the delay before a failed write is retried. It doubles with each failure up to `max`. The default is one second, up to
    /// one minute.
    pub fn backoff(mut self, initial: Duration, max: Duration) -> Self {
        self.backoff = Backoff { initial, max: max.min(MAX_DURATION) };
        self
    }

    /// Discards a saved state that is unusable ([`OpenError::is_unusable`](crate::OpenError::is_unusable)) instead of returning the
    /// error.
    ///
    /// [`Restored::discarded`](crate::Restored::discarded) returns the reason. A file of another program is never overwritten.
    pub fn start_over(mut self) -> Self {
        self.config.start_over = true;
        self
    }

    /// Sets a function that is called for each failure and compaction.
    ///
    /// It runs on the writer thread and blocks it, so it must not call [`SavedState::flush`](crate::SavedState::flush).
    pub fn on_event(mut self, listener: impl Fn(&WriterEvent) + Send + Sync + 'static) -> Self {
        self.listener = Some(Arc::new(listener));
        self
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("config", &self.config)
            .field("limits", &self.limits)
            .field("backoff", &self.backoff)
            .finish_non_exhaustive()
    }
}
