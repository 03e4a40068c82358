//! How far each source of an informer has come, and what that makes of the whole.

use super::sync_error::SyncError;
use crate::reflector::{Cause, Report, Retry};
use kube_core::Status;
use kube_informer_wire::{Key, KeyMap, ResourceVersion, StatusExt};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::Notify;

/// What is known of every source, and who waits for it to change.
pub(super) struct Progress {
    resource: String,
    sources: Mutex<Vec<Source>>,
    changed: Notify,
    /// What there is no way on from.
    end: OnceLock<SyncError>,
}

/// One source.
#[derive(Default)]
struct Source {
    namespace: Option<String>,
    version: Option<ResourceVersion>,
    has_listed: bool,
    refusal: Option<Box<Status>>,
    unreadable: KeyMap<()>,
    /// What was wrong with the first object that could not be read since the last list.
    first: Option<String>,
    /// What was wrong with the first that the last list left out.
    left_out: Option<String>,
}

/// Whether all are complete.
pub(super) enum Verdict {
    Pending,
    Synced,
    Failed(SyncError),
}

impl Progress {
    pub(super) fn new(resource: String, namespaces: impl IntoIterator<Item = Option<String>>) -> Self {
        let source = |namespace| Source { namespace, ..Source::default() };
        let sources = namespaces.into_iter().map(source).collect();
        Self { resource, sources: Mutex::new(sources), changed: Notify::new(), end: OnceLock::new() }
    }

    fn sources(&self) -> MutexGuard<'_, Vec<Source>> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A source failed.
    pub(super) fn failed(&self, source: usize, report: &Report<'_>) {
        let mut sources = self.sources();
        let source = &mut sources[source];
        match &report.cause {
            Cause::Source(error) if matches!(report.retry, Retry::Relist(_)) => {
                source.refusal = error.as_status().filter(|status| is_final(status)).cloned().map(Box::new);
            }
            Cause::Object(_) | Cause::Kind(_) => {
                source.first.get_or_insert_with(|| report.cause.to_string());
            }
            _ => return,
        }
        drop(sources);
        self.changed.notify_waiters();
    }

    /// It cannot go on.
    #[cfg(feature = "saved")]
    pub(super) fn ended(&self, why: impl FnOnce(String) -> SyncError) {
        self.end.get_or_init(|| why(self.resource.clone()));
        self.changed.notify_waiters();
    }

    /// The transform of a source left an object out.
    pub(super) fn rejected(&self, source: usize, why: String) {
        self.sources()[source].first.get_or_insert(why);
    }

    /// A source has come this far; says up to which version all of them have.
    pub(super) fn moved(&self, source: usize, version: Option<ResourceVersion>) -> Option<ResourceVersion> {
        let mut sources = self.sources();
        if version.is_some() {
            sources[source].version = version;
        }
        let mut versions = sources.iter().map(|source| source.version.clone());
        let first = versions.next()??;
        versions.try_fold(first, |least, version| {
            let version = version?;
            Some(if version.partial_cmp(&least)?.is_lt() { version } else { least })
        })
    }

    /// A list of a source has been applied, without these objects; says whether it was the one that completes the whole.
    pub(super) fn listed(&self, source: usize, unreadable: Vec<Key>) -> bool {
        let mut sources = self.sources();
        let was_complete = sources.iter().all(|source| source.has_listed);
        let source = &mut sources[source];
        source.has_listed = true;
        source.refusal = None;
        source.left_out = std::mem::take(&mut source.first);
        source.unreadable = unreadable.into_iter().map(|key| (key, ())).collect();
        !was_complete && sources.iter().all(|source| source.has_listed)
    }

    /// Something was heard of this object since, so it is known as it is.
    pub(super) fn heard_of<'k>(&self, source: usize, keys: impl Iterator<Item = &'k Key>) {
        let unreadable = &mut self.sources()[source].unreadable;
        if !unreadable.is_empty() {
            keys.for_each(|key| _ = unreadable.remove(key));
        }
    }

    /// Whether the first list of every source has been applied.
    pub(super) fn is_complete(&self) -> bool {
        self.sources().iter().all(|source| source.has_listed)
    }

    /// Lets those who wait look again.
    pub(super) fn nudge(&self) {
        self.changed.notify_waiters();
    }

    /// Resolves at the next change, from the moment it is enabled or polled.
    pub(super) fn changed(&self) -> tokio::sync::futures::Notified<'_> {
        self.changed.notified()
    }

    pub(super) fn verdict(&self) -> Verdict {
        let sources = self.sources();
        let resource = || self.resource.clone();
        if let Some(end) = self.end.get() {
            return Verdict::Failed(end.clone());
        }
        if sources.iter().all(|source| source.has_listed) {
            let mut keys: Vec<_> =
                sources.iter().flat_map(|source| source.unreadable.keys().cloned()).collect();
            if keys.is_empty() {
                return Verdict::Synced;
            }
            keys.sort_unstable_by(|one, other| one.as_str().cmp(other.as_str()));
            let first = sources.iter().find_map(|source| source.left_out.clone()).unwrap_or_default();
            return Verdict::Failed(SyncError::Unreadable { resource: resource(), keys, first });
        }
        let refused = sources.iter().filter(|source| !source.has_listed).find_map(|source| {
            let (namespace, status) = (source.namespace.clone(), source.refusal.clone()?);
            Some(SyncError::Refused { resource: resource(), namespace, status })
        });
        refused.map_or(Verdict::Pending, Verdict::Failed)
    }
}

/// Whether asking again is unlikely to help until somebody changes something.
fn is_final(status: &Status) -> bool {
    status.says_unauthorized()
        || status.says_forbidden()
        || status.says_not_found()
        || matches!(status.code, 400 | 405 | 406 | 422)
}
