//! The savers of all sources of an informer.

use super::{
    interface::{ClusterCheck, RestoredObjects, SavedSource},
    open::{Opened, SaveConfig, open},
    saver::Saver,
};
use crate::informer::{start_error::StartError, status::SaveStatus};
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
#[derive(Clone, Copy, Debug)]
enum ClusterPolicy {
    /// The configuration names the cluster, which was compared when the folder was opened.
    Named,
    /// The state of another cluster is an error.
    Refuse,
    /// The state of another cluster is discarded.
    StartOver,
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

    /// Opens the folder of the next source, and returns its saved state.
    ///
    /// # Errors
    /// [`StartError`] if the folder is in use, or contains the cache of another resource.
    pub(in super::super) fn open(
        &mut self,
        config: &SaveConfig,
        source: SavedSource<'_, K>,
    ) -> Result<Option<RestoredObjects<K>>, StartError> {
        let Opened { saver, failure, discarded, state } = open(config, source)?;
        self.savers.push(saver);
        self.failures.extend(failure);
        self.discarded = self.discarded.take().or(discarded);
        Ok(state)
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
