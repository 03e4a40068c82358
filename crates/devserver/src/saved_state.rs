//! Loads the objects that an earlier server has saved in a directory.

use crate::storage::{CollectionId, DataError, Journal, SavedChange};
use crate::verb::{Cluster, encode};
use kube_informer_wire::Key;
use std::collections::BTreeMap;
use std::path::Path;

/// The objects of a directory, and the log to which changes are appended.
#[derive(Debug)]
pub(crate) struct SavedState {
    journal: Journal,
    objects: Vec<SavedChange>,
    version: u64,
}

impl SavedState {
    /// Reads the objects of a directory, and locks it.
    pub(crate) fn open(directory: &Path) -> Result<Self, DataError> {
        let (journal, changes) = Journal::open(directory)?;
        let version = changes.iter().map(|change| change.version).max().unwrap_or_default();
        let mut last = BTreeMap::new();
        for change in changes {
            last.insert((change.group.clone(), change.plural.clone(), change.key.clone()), change);
        }
        let mut objects: Vec<_> = last.into_values().filter(|change| change.object.is_some()).collect();
        // Definitions are loaded first, because their custom resources need them.
        objects.sort_by_key(|change| (change.plural != "customresourcedefinitions", change.version));
        Ok(Self { journal, objects, version })
    }

    /// Adds the objects to a server before its first request. Versions continue, and versions from before the
    /// restart are expired.
    pub(crate) fn fill(self, cluster: &Cluster) {
        for change in self.objects {
            let Some(object) = change.object else { continue };
            if change.group == "apiextensions.k8s.io" && change.plural == "customresourcedefinitions" {
                let added = cluster.change_registry(|registry| registry.add_crd(&object));
                if let Err(error) = added {
                    tracing::warn!(definition = change.key, %error, "saved definition cannot be served");
                }
            }
            let resource = cluster.registry().preferred(&change.group, &change.plural).cloned();
            let (Some(resource), Ok(key)) = (resource, change.key.parse::<Key>()) else {
                tracing::warn!(
                    group = change.group,
                    resource = change.plural,
                    key = change.key,
                    "saved object has no resource"
                );
                continue;
            };
            let content = encode(&resource, key, object);
            cluster.store.load(&CollectionId::from(resource.storage()), *content, Some(change.version));
        }
        cluster.store.raise(self.version);
        cluster.store.forget_history();
        cluster.store.keep(self.journal);
    }
}
