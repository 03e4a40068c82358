//! The status of an informer.

use crate::reflector::{Counts, ReflectorStatus};
use futures_util::{FutureExt, future::select_all};
use kube_informer_wire::ResourceVersion;
use std::{fmt, sync::Arc, time::Duration};
use tokio::{sync::watch, time::Instant};

/// The status of an informer at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InformerStatus {
    /// What the informer is doing.
    pub phase: InformerPhase,
    /// The number of objects in the cache.
    pub objects: usize,
    /// The version of the cache.
    pub version: Option<ResourceVersion>,
    /// The last error, if it has not recovered from it.
    pub last_error: Option<String>,
    /// The counters of all sources.
    pub counts: Counts,
    /// When it was started, synced and last received something.
    pub times: Times,
    /// The status of each source: one for each namespace, or one for all.
    pub sources: Vec<SourceStatus>,
    /// The status of each subscriber.
    pub subscribers: Vec<SubscriberStatus>,
    /// The state that was restored, if there was one.
    pub restored: Option<RestoredState>,
    /// The state of saving, if the cache is saved.
    pub saving: Option<SaveStatus>,
}

/// A state that an earlier process saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RestoredState {
    /// The number of objects restored.
    pub objects: usize,
    /// The time between the last save and the restore. With several namespaces, the longest.
    pub age: Duration,
    /// Whether the cache has caught up with the server since. Until then it is a state that the server once had.
    pub is_confirmed: bool,
}

/// The state of saving, over all sources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SaveStatus {
    /// The error of the last attempt, if it failed. What was saved before is kept.
    pub error: Option<String>,
    /// The number of failed attempts.
    pub failures: u64,
    /// The number of changes saved.
    pub changes: u64,
    /// The size of the files in bytes.
    pub file_bytes: u64,
}

/// What an informer is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum InformerPhase {
    /// It has not been started.
    #[default]
    Idle,
    /// The initial list is not complete.
    Syncing,
    /// The cache is complete and follows changes.
    Synced,
    /// It was stopped.
    Stopped,
}

/// Milestones of an informer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Times {
    /// When it was started.
    pub started: Option<Instant>,
    /// When the cache was first complete.
    pub synced: Option<Instant>,
    /// When it last received a list, a change or a bookmark.
    pub received: Option<Instant>,
}

/// The status of one source of an informer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SourceStatus {
    /// The namespace; `None` for all namespaces.
    pub namespace: Option<String>,
    /// The status of its reflector.
    pub status: ReflectorStatus,
    /// Whether it continues from a restored state.
    pub is_restored: bool,
}

/// The status of one subscriber of an informer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SubscriberStatus {
    /// The name.
    pub name: String,
    /// The number of events that it has not received.
    pub depth: u64,
    /// Whether it has handled all objects that existed when the informer had synced.
    pub has_synced: bool,
    /// How often its handler panicked.
    pub panics: u64,
}

/// Watches the [`InformerStatus`] of an informer.
pub struct StatusWatch {
    pub(super) read: Arc<dyn Fn() -> InformerStatus + Send + Sync>,
    pub(super) times: watch::Receiver<Times>,
    pub(super) sources: Vec<watch::Receiver<ReflectorStatus>>,
}

impl StatusWatch {
    /// Returns the current status.
    #[must_use]
    pub fn now(&self) -> InformerStatus {
        (self.read)()
    }

    /// Waits for a change since the last call. Progress of subscribers does not count.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, no change is lost.
    pub async fn changed(&mut self) {
        loop {
            let sources = self.sources.iter_mut().map(|source| source.changed().boxed());
            let all = sources.chain([self.times.changed().boxed()]);
            let (changed, index, _) = select_all(all).await;
            match changed {
                Ok(()) => return,
                // A reflector that has ended does not change any more.
                Err(_) if index < self.sources.len() => drop(self.sources.swap_remove(index)),
                Err(_) => std::future::pending().await,
            }
        }
    }

    /// Waits until the predicate holds; `None` if the informer is stopped before that.
    pub async fn wait_for(&mut self, predicate: impl Fn(&InformerStatus) -> bool) -> Option<InformerStatus> {
        loop {
            let status = self.now();
            if predicate(&status) {
                return Some(status);
            }
            if status.phase == InformerPhase::Stopped {
                return None;
            }
            self.changed().await;
        }
    }
}

/// Adds up the counters of all sources.
pub(super) fn sum(sources: &[SourceStatus]) -> Counts {
    sources.iter().fold(Counts::default(), |mut sum, source| {
        let counts = source.status.counts;
        sum.lists += counts.lists;
        sum.streams += counts.streams;
        sum.watches += counts.watches;
        sum.replaces += counts.replaces;
        sum.streamed += counts.streamed;
        sum.events += counts.events;
        sum.errors += counts.errors;
        sum
    })
}

impl fmt::Debug for StatusWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatusWatch").field("now", &self.now()).finish_non_exhaustive()
    }
}
