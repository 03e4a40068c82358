//! The status of an informer.

use super::cache_state::CacheState;
use crate::reflector::{Counts, ReflectorStatus};
use futures_util::{FutureExt, future::select_all};
use kube_informer_wire::ResourceVersion;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
    time::Duration,
};
use tokio::{sync::watch, time::Instant};

/// The status of an informer at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InformerStatus {
    /// The phase of the informer.
    pub phase: InformerPhase,
    /// Whether the cache is readable, and whether the server has confirmed it.
    pub cache: CacheState,
    /// The number of objects in the cache.
    pub objects: usize,
    /// The version of the cache.
    pub version: Option<ResourceVersion>,
    /// The last error; `None` after the informer has recovered.
    pub last_error: Option<String>,
    /// The counters of all sources.
    pub counts: Counts,
    /// The times at which the informer was started, became readable and synced, and of the last response.
    pub times: Times,
    /// The status of each source: one for each namespace, or one for all.
    pub sources: Vec<SourceStatus>,
    /// The status of each subscriber.
    pub subscribers: Vec<SubscriberStatus>,
    /// The restored state, if there was one.
    pub restored: Option<RestoredState>,
    /// The status of saving, if the cache is saved.
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
    /// True if the cache has caught up with the server since. Until then the cache is outdated.
    pub is_confirmed: bool,
}

/// The status of saving, for all sources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SaveStatus {
    /// The error of the last attempt, if it failed. The state that was saved before is still valid.
    pub error: Option<String>,
    /// The reason why the state of an earlier process was not restored, or not completely. `None` if it was restored, or if no state was saved.
    pub discarded: Option<String>,
    /// The number of failed attempts.
    pub failures: u64,
    /// The number of changes saved.
    pub changes: u64,
    /// The size of the files in bytes.
    pub file_bytes: u64,
}

/// The phase of an informer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum InformerPhase {
    /// It has not been started.
    #[default]
    Idle,
    /// The initial list is not complete, or a restored state is not confirmed yet; [`InformerStatus::cache`] distinguishes them.
    Syncing,
    /// The cache is confirmed and updated by a watch.
    Synced,
    /// It was stopped.
    Stopped,
}

/// The times at which an informer was started, became readable and synced, and of the last response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Times {
    /// The time of the start.
    pub started: Option<Instant>,
    /// The time when the cache became readable: it was restored, or the initial list was complete.
    pub readable: Option<Instant>,
    /// The time when the server confirmed the cache: the initial list was complete, or the restored state had reached the version of
    /// the server.
    pub synced: Option<Instant>,
    /// The time of the last list, change or bookmark.
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
    /// True if the source resumes from a restored state.
    pub is_restored: bool,
    /// The state of its part of the cache.
    pub cache: CacheState,
}

/// The status of one subscriber of an informer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SubscriberStatus {
    /// The name.
    pub name: String,
    /// The number of events that are waiting for the subscriber.
    pub depth: u64,
    /// True if the subscriber has handled the initial list.
    pub has_synced: bool,
    /// The number of panics of the handler.
    pub panics: u64,
}

/// Watches the [`InformerStatus`] of an informer; see [`Informer::watch_status`](super::Informer::watch_status).
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_devserver::DevServer;
/// use kube_informer::{Informer, informer::InformerPhase};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = DevServer::start();
/// let pods = Informer::<Pod>::builder(server.client()).start()?;
/// let mut status = pods.watch_status();
/// let synced = status.wait_for(|status| status.phase == InformerPhase::Synced).await;
/// println!("{} pods", synced.expect("the informer was not stopped").objects);
/// # Ok(()) }
/// ```
pub struct StatusWatch {
    pub(super) read: Arc<dyn Fn() -> InformerStatus + Send + Sync>,
    pub(super) times: watch::Receiver<Times>,
    pub(super) read_sources: Arc<ReadSources>,
    pub(super) sources: BTreeMap<usize, watch::Receiver<ReflectorStatus>>,
    /// Sources whose reflectors have ended.
    pub(super) ended: BTreeSet<usize>,
}

/// Returns the watches of the status of all sources, by number.
pub(super) type ReadSources = dyn Fn() -> BTreeMap<usize, watch::Receiver<ReflectorStatus>> + Send + Sync;

impl StatusWatch {
    /// Returns the current status.
    #[must_use]
    pub fn now(&self) -> InformerStatus {
        (self.read)()
    }

    /// Waits until the status has changed since the last call. Progress of subscribers is not a change.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, no change is lost.
    pub async fn changed(&mut self) {
        loop {
            self.follow_sources();
            let sources = self.sources.values_mut().map(|source| source.changed().boxed());
            let (changed, index, _) =
                select_all([self.times.changed().boxed()].into_iter().chain(sources)).await;
            match changed {
                Ok(()) => return,
                Err(_) if index == 0 => std::future::pending().await,
                // A reflector that has ended does not change any more.
                Err(_) => self.ended.extend(self.sources.keys().nth(index - 1)),
            }
        }
    }

    /// Adds and removes sources, without those that have ended.
    fn follow_sources(&mut self) {
        let mut current = (self.read_sources)();
        current.retain(|number, _| !self.ended.contains(number));
        self.sources.retain(|number, _| current.contains_key(number));
        for (number, status) in current {
            self.sources.entry(number).or_insert(status);
        }
    }

    /// Waits until the predicate returns true; `None` if the informer is stopped before that.
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
