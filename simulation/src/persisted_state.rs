//! The state that a subscriber of differences persists over several informers.

use crate::write_log::Versions;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The sum of the events; repeated events have no effect.
#[derive(Clone, Debug, Default)]
pub(crate) struct PersistedState(Arc<Mutex<Contents>>);

#[derive(Clone, Debug, Default)]
struct Contents {
    versions: Versions,
    uncertainty: Uncertainty,
}

/// Whether the state may contain objects whose deletion could not be delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Uncertainty {
    #[default]
    None,
    /// The saved cache is older than this state. A watch delivers the changes again.
    AheadOfSaved,
    /// The cache was relisted since. The deletion of an object that is not in the saved cache could not be delivered.
    Listed,
}

impl PersistedState {
    fn lock(&self) -> MutexGuard<'_, Contents> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the version of an object; `None` for a deletion.
    pub(crate) fn write(&self, key: &str, version: Option<u64>) {
        let versions = &mut self.lock().versions;
        match version {
            Some(version) => drop(versions.insert(key.to_owned(), version)),
            None => drop(versions.remove(key)),
        }
    }

    /// Returns an independent copy.
    pub(crate) fn copied(&self) -> Self {
        Self(Arc::new(Mutex::new(self.lock().clone())))
    }

    /// Removes all objects.
    pub(crate) fn clear(&self) {
        *self.lock() = Contents::default();
    }

    /// Records that an older cache was restored.
    pub(crate) fn older_cache_restored(&self) {
        let uncertainty = &mut self.lock().uncertainty;
        if *uncertainty == Uncertainty::None {
            *uncertainty = Uncertainty::AheadOfSaved;
        }
    }

    /// Records a relist.
    pub(crate) fn listed(&self) {
        let uncertainty = &mut self.lock().uncertainty;
        if *uncertainty == Uncertainty::AheadOfSaved {
            *uncertainty = Uncertainty::Listed;
        }
    }

    /// Returns the state, without objects whose deletion could not be delivered. `current` is the state of the server.
    pub(crate) fn settled(&self, current: &Versions) -> Versions {
        let Contents { versions, uncertainty } = &mut *self.lock();
        if std::mem::take(uncertainty) == Uncertainty::Listed {
            versions.retain(|key, _| current.contains_key(key));
        }
        versions.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_dropped_only_after_an_older_cache_and_a_relist() {
        let (persisted, current) = (PersistedState::default(), Versions::from([("a".to_owned(), 2)]));
        persisted.write("a", Some(1));
        persisted.write("a", Some(2));
        persisted.write("b", Some(3));
        let both = Versions::from([("a".to_owned(), 2), ("b".to_owned(), 3)]);
        persisted.listed();
        assert_eq!(persisted.settled(&current), both);
        persisted.older_cache_restored();
        assert_eq!(persisted.settled(&current), both);
        persisted.listed();
        assert_eq!(persisted.settled(&current), both, "the watch has delivered all changes since");
        persisted.older_cache_restored();
        persisted.listed();
        persisted.older_cache_restored();
        assert_eq!(persisted.settled(&current), current);
    }
}
