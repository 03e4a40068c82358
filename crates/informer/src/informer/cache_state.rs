//! Whether the cache of an informer is readable, and whether the server has confirmed it.

use crate::subscription::metrics::{CONFIRMED, READABLE};
use metrics::gauge;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The contents of the cache of an informer, or of the part of one source.
///
/// The states are ordered: `status.cache >= CacheState::Readable` is true if the cache can be used at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum CacheState {
    /// The initial list is not complete.
    #[default]
    Incomplete,
    /// A state that an earlier process saved. It is readable, but may be outdated: the server has not confirmed it.
    Readable,
    /// The state of the server: the initial list is complete, or a restored state has reached the version that the server had
    /// when the informer was started. It stays confirmed, unless a namespace or a shard is added: that part is incomplete until
    /// its list is complete.
    Confirmed,
}

/// Records in metrics when the cache became readable, and when it was confirmed.
#[derive(Debug)]
pub(super) struct CacheStateMetrics {
    name: String,
    readable: Option<Duration>,
    confirmed: Option<Duration>,
    /// The address of the recorder that has the current values; `None` if they have changed since.
    recorder: Option<usize>,
}

impl CacheStateMetrics {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), readable: None, confirmed: None, recorder: None }
    }

    /// Records a new state of the cache.
    pub(super) fn reached(&mut self, state: CacheState, now: SystemTime) {
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let before = (self.readable, self.confirmed);
        if state >= CacheState::Readable {
            self.readable.get_or_insert(now);
        }
        if state >= CacheState::Confirmed {
            self.confirmed.get_or_insert(now);
        }
        if before != (self.readable, self.confirmed) {
            self.recorder = None;
        }
        self.publish();
    }

    /// Sets the gauges, unless the current recorder has these values already. It may have been installed since.
    pub(super) fn publish(&mut self) {
        let recorder = metrics::with_recorder(|recorder| std::ptr::from_ref(recorder).addr());
        if self.recorder == Some(recorder) {
            return;
        }
        self.recorder = Some(recorder);
        for (metric, time) in [(READABLE, self.readable), (CONFIRMED, self.confirmed)] {
            gauge!(metric, "name" => self.name.clone()).set(time.unwrap_or_default().as_secs_f64());
        }
    }
}
