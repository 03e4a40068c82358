//! The sync state of an informer.

use super::{
    cache_state::{CacheState, CacheStateMetrics},
    sync_error::SyncError,
};
use crate::{
    ingest::RejectedError,
    reflector::{Cause, Report, Retry},
};
use kube_core::Status;
use kube_informer_wire::{Key, KeyMap, ResourceVersion, StatusExt};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    time::SystemTime,
};
use tokio::sync::{Notify, futures::Notified};

/// The sync state of every source. The informer has synced when all sources have.
pub(super) struct SyncState {
    resource: String,
    state: Mutex<State>,
    metrics: Mutex<CacheStateMetrics>,
    changed: Notify,
    /// The error after which the informer cannot sync any more.
    fatal: OnceLock<SyncError>,
}

#[derive(Default)]
struct State {
    /// By the number of the source. A source that was removed has none.
    sources: BTreeMap<usize, Source>,
    /// True after all sources have synced for the first time.
    was_complete: bool,
}

#[derive(Default)]
struct Source {
    namespace: Option<String>,
    version: Option<ResourceVersion>,
    cache: CacheState,
    refusal: Option<Box<Status>>,
    /// Objects that the last list skipped and that no event has replaced since, with their errors.
    skipped: KeyMap<Option<String>>,
    /// The last errors of objects since the last list, at most [`MAX_ERRORS`].
    errors: VecDeque<(Key, String)>,
}

/// The maximum number of objects whose errors are recorded.
const MAX_ERRORS: usize = 256;

/// The result of a sync.
pub(super) enum SyncResult {
    Pending,
    Synced,
    Failed(SyncError),
}

impl SyncState {
    pub(super) fn new(
        resource: String,
        metrics_name: &str,
        namespaces: impl IntoIterator<Item = Option<String>>,
    ) -> Self {
        let source = |(number, namespace)| (number, Source { namespace, ..Source::default() });
        let sources = namespaces.into_iter().enumerate().map(source).collect();
        let state = Mutex::new(State { sources, was_complete: false });
        let metrics = Mutex::new(CacheStateMetrics::new(metrics_name));
        Self { resource, state, metrics, changed: Notify::new(), fatal: OnceLock::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn metrics(&self) -> MutexGuard<'_, CacheStateMetrics> {
        self.metrics.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a source while the informer runs.
    pub(super) fn add(&self, source: usize, namespace: Option<String>) {
        self.state().sources.insert(source, Source { namespace, ..Source::default() });
    }

    /// Removes a source.
    pub(super) fn remove(&self, source: usize) {
        self.state().sources.remove(&source);
    }

    /// Records that the informer has started. Returns true if it has no sources, so that it has synced.
    pub(super) fn started(&self) -> bool {
        let has_synced = self.state().complete();
        if has_synced {
            self.metrics().reached(CacheState::Confirmed, SystemTime::now());
        }
        has_synced
    }

    /// Returns true if the first list of this source was applied.
    #[cfg(feature = "leases")]
    pub(super) fn has_listed(&self, source: usize) -> bool {
        self.cache_state_of(source) == CacheState::Confirmed
    }

    /// Records that the state of a source was restored.
    pub(super) fn restored(&self, source: usize) {
        let mut state = self.state();
        let Some(source) = state.sources.get_mut(&source) else { return };
        source.cache = CacheState::Readable;
        let cache = state.cache();
        drop(state);
        self.metrics().reached(cache, SystemTime::now());
    }

    /// Returns the state of the cache, which is the lowest of its sources.
    pub(super) fn cache_state(&self) -> CacheState {
        self.state().cache()
    }

    /// Returns the state of one source.
    pub(super) fn cache_state_of(&self, source: usize) -> CacheState {
        self.state().sources.get(&source).map(|source| source.cache).unwrap_or_default()
    }

    /// Records that a source failed, or skipped an object.
    pub(super) fn failed(&self, source: usize, report: &Report<'_>) {
        let mut state = self.state();
        let Some(source) = state.sources.get_mut(&source) else { return };
        match &report.cause {
            Cause::Source(error) if matches!(report.retry, Retry::Relist(_)) => {
                source.refusal = error.as_status().filter(|status| is_final(status)).cloned().map(Box::new);
            }
            cause => {
                let Some(key) = key_of(cause) else { return };
                if source.errors.len() == MAX_ERRORS {
                    source.errors.pop_front();
                }
                source.errors.push_back((key.clone(), cause.to_string()));
            }
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Records that the informer cannot sync any more.
    pub(super) fn failed_for_good(&self, error: impl FnOnce(String) -> SyncError) {
        self.fatal.get_or_init(|| error(self.resource.clone()));
        self.changed.notify_waiters();
    }

    /// Records the version of a source, and returns the version that all sources have reached.
    pub(super) fn version_reached(
        &self,
        source: usize,
        version: Option<ResourceVersion>,
    ) -> Option<ResourceVersion> {
        self.metrics().publish();
        let mut state = self.state();
        if let Some(source) = state.sources.get_mut(&source).filter(|_| version.is_some()) {
            source.version = version;
        }
        drop(state);
        self.version()
    }

    /// Returns the version that all sources have reached.
    pub(super) fn version(&self) -> Option<ResourceVersion> {
        let state = self.state();
        let mut versions = state.sources.values().map(|source| source.version.clone());
        let first = versions.next()??;
        versions.try_fold(first, |oldest, version| {
            let version = version?;
            Some(if version.partial_cmp(&oldest)?.is_lt() { version } else { oldest })
        })
    }

    /// Records that a full list of a source was applied, without the skipped objects. Returns true if all sources have synced
    /// for the first time.
    pub(super) fn listed(&self, source: usize, skipped: Vec<Key>) -> bool {
        let mut state = self.state();
        let Some(source) = state.sources.get_mut(&source) else { return false };
        source.cache = CacheState::Confirmed;
        source.refusal = None;
        let mut errors: KeyMap<_> = source.errors.drain(..).collect();
        let with_error = |key: Key| {
            let error = errors.remove(&key);
            (key, error)
        };
        source.skipped = skipped.into_iter().map(with_error).collect();
        let (cache, has_synced) = (state.cache(), state.complete());
        drop(state);
        self.metrics().reached(cache, SystemTime::now());
        has_synced
    }

    /// Records that events of these objects were received, which replace the skipped ones of the last list.
    pub(super) fn received<'k>(&self, source: usize, keys: impl Iterator<Item = &'k Key>) {
        let mut state = self.state();
        let Some(Source { skipped, .. }) = state.sources.get_mut(&source) else { return };
        if !skipped.is_empty() {
            for key in keys {
                skipped.remove(key);
            }
        }
    }

    /// Returns true if the first list of every source was applied.
    pub(super) fn is_complete(&self) -> bool {
        self.state().is_complete()
    }

    /// Wakes all tasks that wait for a change.
    pub(super) fn notify(&self) {
        self.changed.notify_waiters();
    }

    /// Returns a future that completes at the next change after it is enabled or polled.
    pub(super) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    pub(super) fn result(&self) -> SyncResult {
        let state = self.state();
        let sources = &state.sources;
        let resource = || self.resource.clone();
        if let Some(error) = self.fatal.get() {
            return SyncResult::Failed(error.clone());
        }
        if state.is_complete() {
            let mut skipped: Vec<_> = sources.values().flat_map(|source| &source.skipped).collect();
            if skipped.is_empty() {
                return SyncResult::Synced;
            }
            skipped.sort_unstable_by(|(one, _), (other, _)| one.as_str().cmp(other.as_str()));
            let first = skipped.iter().find_map(|(_, error)| error.as_ref()).cloned();
            let first = first.unwrap_or_else(|| "too many errors; see the log".to_owned());
            let keys = skipped.into_iter().map(|(key, _)| key.clone()).collect();
            return SyncResult::Failed(SyncError::Skipped { resource: resource(), keys, first });
        }
        let refused =
            sources.values().filter(|source| source.cache != CacheState::Confirmed).find_map(|source| {
                let status = source.refusal.clone()?;
                Some(SyncError::Refused { resource: resource(), namespace: source.namespace.clone(), status })
            });
        refused.map_or(SyncResult::Pending, SyncResult::Failed)
    }
}

impl State {
    fn is_complete(&self) -> bool {
        self.sources.values().all(|source| source.cache == CacheState::Confirmed)
    }

    /// Returns the lowest state of all sources. Without sources, the cache is confirmed when the informer is started.
    fn cache(&self) -> CacheState {
        let empty = if self.was_complete { CacheState::Confirmed } else { CacheState::Incomplete };
        self.sources.values().map(|source| source.cache).min().unwrap_or(empty)
    }

    /// Returns true if all sources have synced for the first time.
    fn complete(&mut self) -> bool {
        self.is_complete() && !std::mem::replace(&mut self.was_complete, true)
    }
}

/// Returns the key of an object that was skipped.
fn key_of<'c>(cause: &'c Cause<'_>) -> Option<&'c Key> {
    match cause {
        Cause::Object(error) => error.key(),
        Cause::Kind(error) => error.key.as_ref(),
        Cause::Rejected(error) => error.downcast_ref::<RejectedError>()?.key(),
        _ => None,
    }
}

/// Returns true if retries will fail until the request, the permissions or the server change.
fn is_final(status: &Status) -> bool {
    status.is_unauthorized_status()
        || status.is_forbidden_status()
        || status.is_not_found_status()
        || matches!(status.code, 400 | 405 | 406 | 422)
}
