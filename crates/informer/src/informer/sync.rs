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
    collections::VecDeque,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    time::SystemTime,
};
use tokio::sync::{Notify, futures::Notified};

/// The sync state of every source. The informer has synced when all sources have.
pub(super) struct SyncState {
    resource: String,
    sources: Mutex<Vec<Source>>,
    metrics: Mutex<CacheStateMetrics>,
    changed: Notify,
    /// The error after which the informer cannot sync any more.
    fatal: OnceLock<SyncError>,
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
        let source = |namespace| Source { namespace, ..Source::default() };
        let sources = namespaces.into_iter().map(source).collect();
        Self {
            resource,
            sources: Mutex::new(sources),
            metrics: Mutex::new(CacheStateMetrics::new(metrics_name)),
            changed: Notify::new(),
            fatal: OnceLock::new(),
        }
    }

    fn sources(&self) -> MutexGuard<'_, Vec<Source>> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn metrics(&self) -> MutexGuard<'_, CacheStateMetrics> {
        self.metrics.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that a source failed, or skipped an object.
    pub(super) fn failed(&self, source: usize, report: &Report<'_>) {
        let mut sources = self.sources();
        let source = &mut sources[source];
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
        drop(sources);
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
        let mut sources = self.sources();
        if version.is_some() {
            sources[source].version = version;
        }
        let mut versions = sources.iter().map(|source| source.version.clone());
        let first = versions.next()??;
        versions.try_fold(first, |oldest, version| {
            let version = version?;
            Some(if version.partial_cmp(&oldest)?.is_lt() { version } else { oldest })
        })
    }

    /// Records that a full list of a source was applied, without the skipped objects. Returns true if all sources have synced
    /// for the first time.
    pub(super) fn listed(&self, source: usize, skipped: Vec<Key>) -> bool {
        let mut sources = self.sources();
        let before = lowest(&sources);
        let source = &mut sources[source];
        source.cache = CacheState::Confirmed;
        source.refusal = None;
        let mut errors: KeyMap<_> = source.errors.drain(..).collect();
        let with_error = |key: Key| {
            let error = errors.remove(&key);
            (key, error)
        };
        source.skipped = skipped.into_iter().map(with_error).collect();
        let state = lowest(&sources);
        drop(sources);
        if state != before {
            self.metrics().reached(state, SystemTime::now());
        }
        before != CacheState::Confirmed && state == CacheState::Confirmed
    }

    /// Records that the state of a source was restored.
    pub(super) fn restored(&self, source: usize) {
        let mut sources = self.sources();
        sources[source].cache = CacheState::Readable;
        let state = lowest(&sources);
        drop(sources);
        self.metrics().reached(state, SystemTime::now());
    }

    /// Returns the state of the cache, which is the lowest of its sources.
    pub(super) fn cache_state(&self) -> CacheState {
        lowest(&self.sources())
    }

    /// Returns the state of one source.
    pub(super) fn cache_state_of(&self, source: usize) -> CacheState {
        self.sources()[source].cache
    }

    /// Records that events of these objects were received, which replace the skipped ones of the last list.
    pub(super) fn received<'k>(&self, source: usize, keys: impl Iterator<Item = &'k Key>) {
        let skipped = &mut self.sources()[source].skipped;
        if !skipped.is_empty() {
            for key in keys {
                skipped.remove(key);
            }
        }
    }

    /// Returns true if the first list of every source was applied.
    pub(super) fn is_complete(&self) -> bool {
        self.cache_state() == CacheState::Confirmed
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
        let sources = self.sources();
        let resource = || self.resource.clone();
        if let Some(error) = self.fatal.get() {
            return SyncResult::Failed(error.clone());
        }
        if lowest(&sources) == CacheState::Confirmed {
            let mut skipped: Vec<_> = sources.iter().flat_map(|source| &source.skipped).collect();
            if skipped.is_empty() {
                return SyncResult::Synced;
            }
            skipped.sort_unstable_by(|(one, _), (other, _)| one.as_str().cmp(other.as_str()));
            let first = skipped.iter().find_map(|(_, error)| error.as_ref()).cloned();
            let first = first.unwrap_or_else(|| "too many errors; see the log".to_owned());
            let keys = skipped.into_iter().map(|(key, _)| key.clone()).collect();
            return SyncResult::Failed(SyncError::Skipped { resource: resource(), keys, first });
        }
        let mut unconfirmed = sources.iter().filter(|source| source.cache != CacheState::Confirmed);
        let refused = unconfirmed.find_map(|source| {
            let status = source.refusal.clone()?;
            Some(SyncError::Refused { resource: resource(), namespace: source.namespace.clone(), status })
        });
        refused.map_or(SyncResult::Pending, SyncResult::Failed)
    }
}

/// Returns the lowest state of all sources.
fn lowest(sources: &[Source]) -> CacheState {
    sources.iter().map(|source| source.cache).min().unwrap_or_default()
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
