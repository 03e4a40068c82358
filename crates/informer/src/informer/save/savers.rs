//! The savers of all sources of an informer.

use super::{open::SaveConfig, saver::Saver};
use crate::informer::status::SaveStatus;
use std::{error::Error, sync::Arc};

/// The savers of all sources of an informer.
pub(in super::super) struct Savers<K> {
    /// By the number of the source; `None` if its folder could not be opened.
    savers: Vec<Option<Arc<Saver<K>>>>,
    /// The errors of folders that could not be opened.
    failures: Vec<String>,
    /// The first reason why a saved state was not restored.
    discarded: Option<String>,
    cluster: ClusterPolicy,
}

/// The reaction to a restored state of another cluster.
#[derive(Clone, Copy, Debug, Default)]
enum ClusterPolicy {
    /// The configuration names the cluster, which was compared when the folder was opened.
    #[default]
    Named,
    /// The state of another cluster is an error.
    Refuse,
    /// The state of another cluster is discarded.
    StartOver,
}

/// The result of comparing the cluster of a source with that of its restored state.
pub(in super::super) enum ClusterCheck {
    Same,
    /// The restored state is discarded.
    StartOver,
    Other {
        saved: String,
        found: String,
    },
}

impl<K: Send + Sync + 'static> Savers<K> {
    pub(in super::super) fn new(config: &SaveConfig) -> Self {
        let cluster = if config.names_cluster() {
            ClusterPolicy::Named
        } else if config.starts_over() {
            ClusterPolicy::StartOver
        } else {
            ClusterPolicy::Refuse
        };
        Self { savers: Vec::new(), failures: Vec::new(), discarded: None, cluster }
    }

    /// Adds the saver of the next source, or the reason why it has none.
    pub(in super::super) fn add(&mut self, saver: Option<Arc<Saver<K>>>, failure: Option<String>) {
        self.savers.push(saver);
        self.failures.extend(failure);
    }

    /// Records why a saved state was not restored.
    pub(in super::super) fn note_discarded(&mut self, reason: Option<String>) {
        self.discarded = self.discarded.take().or(reason);
    }

    /// Waits until the request for the uid of the cluster of a source fails again.
    pub(in super::super) async fn cluster_failed(&self, source: usize) {
        match self.get(source) {
            Some(saver) => saver.cluster_failed().await,
            None => std::future::pending().await,
        }
    }

    /// Returns the error of the last request for the uid of the cluster; `None` once it has succeeded.
    pub(in super::super) fn cluster_error(&self) -> Option<String> {
        self.savers.iter().flatten().find_map(|saver| saver.cluster_error())
    }

    /// Returns the saver of a source.
    pub(in super::super) fn get(&self, source: usize) -> Option<&Arc<Saver<K>>> {
        self.savers.get(source)?.as_ref()
    }

    /// Compares the cluster of a restored state with the one that the source watches.
    pub(in super::super) async fn check_cluster(&self, source: usize) -> ClusterCheck {
        let Some(saver) = self.get(source) else { return ClusterCheck::Same };
        if matches!(self.cluster, ClusterPolicy::Named) {
            return ClusterCheck::Same;
        }
        match (saver.identify().await, self.cluster) {
            (Ok(()), _) => ClusterCheck::Same,
            (Err(other), ClusterPolicy::StartOver) => {
                tracing::warn!(
                    saved = other.saved,
                    found = other.found,
                    "saved state of another cluster discarded"
                );
                saver.start_over(other.found);
                ClusterCheck::StartOver
            }
            (Err(other), _) => ClusterCheck::Other { saved: other.saved, found: other.found },
        }
    }

    /// Returns the status of saving; `None` if saving is not configured.
    pub(in super::super) fn status(&self) -> Option<SaveStatus> {
        if self.savers.is_empty() {
            return None;
        }
        let mut saving = SaveStatus {
            error: self.failures.first().cloned(),
            discarded: self.discarded.clone(),
            ..SaveStatus::default()
        };
        for saver in self.savers.iter().flatten() {
            let status = saver.status();
            let folder = saver.folder().display();
            let describe = |error: kube_informer_saved::SaveError| match error.source() {
                Some(cause) => format!("{folder}: {error}: {cause}"),
                None => format!("{folder}: {error}"),
            };
            saving.error = saving.error.or(status.last_error.map(describe));
            saving.failures += status.failures;
            saving.changes += status.saved;
            saving.file_bytes += status.file_bytes;
        }
        Some(saving)
    }
}

impl<K> Default for Savers<K> {
    fn default() -> Self {
        let cluster = ClusterPolicy::default();
        Self { savers: Vec::new(), failures: Vec::new(), discarded: None, cluster }
    }
}
