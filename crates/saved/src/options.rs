//! What can be said of how a state is saved.

use crate::{
    log::Config,
    queue::Limits,
    writer::{Event, Listener, Pauses},
};
use std::{fmt, sync::Arc, time::Duration};

/// How a state is saved.
///
/// ```
/// use kube_informer_saved::{Compression, Options};
/// use std::time::Duration;
///
/// let options = Options::default().flush_interval(Duration::from_secs(5)).compression(Compression::Level(1)).start_over();
/// # let _ = options;
/// ```
#[derive(Clone)]
#[must_use]
pub struct Options {
    pub(crate) config: Config,
    pub(crate) limits: Limits,
    pub(crate) pauses: Pauses,
    pub(crate) listener: Option<Listener>,
}

/// How plain payloads are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// As they are.
    Off,
    /// Each packed with zstd at this level, against a dictionary that is made of some of them, and made anew when that pays.
    Level(i32),
}

/// When the writer waits for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// When a new file takes the place of the old one. What is appended is handed to the system and survives the end of the
    /// process; a loss of power may cost the last batches, as many as the system had not yet written by itself.
    NewFiles,
    /// At every flush as well.
    Flushes,
}

/// As good as never, and no clock overflows with it.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

impl Default for Options {
    fn default() -> Self {
        Self {
            config: Config { level: Some(3), sync_appends: false, spare_garbage: 4 << 20, start_over: false },
            limits: Limits { interval: Duration::from_secs(1), size: 64 << 20 },
            pauses: Pauses { first: Duration::from_secs(1), longest: Duration::from_secs(60) },
            listener: None,
        }
    }
}

impl Options {
    /// How long a change may wait to be written; one second unless told. What waits is written together.
    pub fn flush_interval(mut self, interval: Duration) -> Self {
        self.limits.interval = interval.min(LONGEST);
        self
    }

    /// About how many bytes may wait to be written; 64 MiB unless told. When more would, a
    /// [`Snapshot`](crate::Snapshot) is asked for instead. A single batch may be larger.
    pub fn queue_bytes(mut self, bytes: usize) -> Self {
        self.limits.size = bytes;
        self
    }

    /// How plain payloads are stored; at level 3 unless told.
    pub fn compression(mut self, compression: Compression) -> Self {
        self.config.level = match compression {
            Compression::Off => None,
            Compression::Level(level) => Some(level),
        };
        self
    }

    /// When the writer waits for the disk; for new files alone unless told.
    pub fn sync(mut self, sync: Sync) -> Self {
        self.config.sync_appends = sync == Sync::Flushes;
        self
    }

    /// How many bytes of the file may be of no use in any case; 4 MiB unless told. Beyond that, the file is written anew when
    /// there is more of no use than of use.
    pub fn spare_garbage(mut self, bytes: u64) -> Self {
        self.config.spare_garbage = bytes;
        self
    }

    /// How long to wait after a failure, and at most after many; a second, doubled up to a minute, unless told.
    pub fn retry(mut self, first: Duration, longest: Duration) -> Self {
        self.pauses = Pauses { first, longest: longest.min(LONGEST) };
        self
    }

    /// Gives up a saved state that is of no use, because it is of something else, damaged or newer, rather than failing;
    /// [`Restored::refused`](crate::Restored::refused) says why. A file that was never ours is not touched.
    pub fn start_over(mut self) -> Self {
        self.config.start_over = true;
        self
    }

    /// Tells of failures and compactions, on the thread that writes. While it does not return, nothing is written, so it must
    /// not wait for [`Saved::flush`](crate::Saved::flush).
    pub fn on_event(mut self, listener: impl Fn(&Event) + Send + std::marker::Sync + 'static) -> Self {
        self.listener = Some(Arc::new(listener));
        self
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("config", &self.config)
            .field("limits", &self.limits)
            .field("pauses", &self.pauses)
            .finish_non_exhaustive()
    }
}
