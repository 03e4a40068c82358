//! The sync state of an informer.

use super::sync_error::SyncError;
use crate::reflector::{Cause, Report, Retry};
use kube_core::Status;
use kube_informer_wire::{Key, KeyMap, ResourceVersion, StatusExt};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::{Notify, futures::Notified};

/// The sync state of every source. The informer has synced when all sources have.
pub(super) struct SyncState {
    resource: String,
    sources: Mutex<Vec<Source>>,
    changed: Notify,
    /// The error after which the informer cannot sync any more.
    fatal: OnceLock<SyncError>,
}

#[derive(Default)]
struct Source {
    namespace: Option<String>,
    version: Option<ResourceVersion>,
    has_listed: bool,
    refusal: Option<Box<Status>>,
    /// Objects that the last list skipped and that no event has replaced since.
    skipped: KeyMap<()>,
    /// The error of the first object that was skipped since the last list.
    first_skipped: Option<String>,
    /// The error of the first object that the last list skipped.
    first_skipped_in_list: Option<String>,
}

/// The result of a sync.
pub(super) enum SyncResult {
    Pending,
    Synced,
    Failed(SyncError),
}

impl SyncState {
    pub(super) fn new(resource: String, namespaces: impl IntoIterator<Item = Option<String>>) -> Self {
        let source = |namespace| Source { namespace, ..Source::default() };
        let sources = namespaces.into_iter().map(source).collect();
        Self { resource, sources: Mutex::new(sources), changed: Notify::new(), fatal: OnceLock::new() }
    }

    fn sources(&self) -> MutexGuard<'_, Vec<Source>> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that a source failed, or skipped an object.
    pub(super) fn failed(&self, source: usize, report: &Report<'_>) {
        let mut sources = self.sources();
        let source = &mut sources[source];
        match &report.cause {
            Cause::Source(error) if matches!(report.retry, Retry::Relist(_)) => {
                source.refusal = error.as_status().filter(|status| is_final(status)).cloned().map(Box::new);
            }
            Cause::Object(_) | Cause::Kind(_) | Cause::Rejected(_) => {
                source.first_skipped.get_or_insert_with(|| report.cause.to_string());
            }
            _ => return,
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
        let was_complete = sources.iter().all(|source| source.has_listed);
        let source = &mut sources[source];
        source.has_listed = true;
        source.refusal = None;
        source.first_skipped_in_list = source.first_skipped.take();
        source.skipped = skipped.into_iter().map(|key| (key, ())).collect();
        !was_complete && sources.iter().all(|source| source.has_listed)
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
        self.sources().iter().all(|source| source.has_listed)
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
        if sources.iter().all(|source| source.has_listed) {
            let mut keys: Vec<_> = sources.iter().flat_map(|source| source.skipped.keys().cloned()).collect();
            if keys.is_empty() {
                return SyncResult::Synced;
            }
            keys.sort_unstable_by(|one, other| one.as_str().cmp(other.as_str()));
            let first = sources.iter().find_map(|source| source.first_skipped_in_list.clone());
            let first = first.unwrap_or_default();
            return SyncResult::Failed(SyncError::Skipped { resource: resource(), keys, first });
        }
        let refused = sources.iter().filter(|source| !source.has_listed).find_map(|source| {
            let status = source.refusal.clone()?;
            Some(SyncError::Refused { resource: resource(), namespace: source.namespace.clone(), status })
        });
        refused.map_or(SyncResult::Pending, SyncResult::Failed)
    }
}

/// Returns true if retries will fail until the request, the permissions or the server change.
fn is_final(status: &Status) -> bool {
    status.is_unauthorized_status()
        || status.is_forbidden_status()
        || status.is_not_found_status()
        || matches!(status.code, 400 | 405 | 406 | 422)
}
