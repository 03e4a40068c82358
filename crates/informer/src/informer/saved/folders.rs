//! The folders that an informer saves to.

use super::{open::Place, saver::Saver};
use crate::informer::status::Saving;
use std::{error::Error, sync::Arc};

/// The folders of all sources of an informer.
pub(in super::super) struct Folders<K> {
    /// One for each source that has one, by its number.
    savers: Vec<Option<Arc<Saver<K>>>>,
    /// Why others have none.
    failures: Vec<String>,
    manner: Manner,
}

/// What is done about the cluster.
#[derive(Clone, Copy, Debug, Default)]
struct Manner {
    /// It was named, and what is saved was held against that.
    is_known: bool,
    /// What is of another is given up.
    starts_over: bool,
}

/// What is to become of a source that is about to begin.
pub(in super::super) enum Verdict {
    GoesOn,
    /// What was restored is given up.
    StartsOver,
    /// What was restored is of another cluster.
    Refused {
        saved: String,
        found: String,
    },
}

impl<K: Send + Sync + 'static> Folders<K> {
    pub(in super::super) fn new(place: &Place) -> Self {
        let manner = Manner { is_known: place.knows_cluster(), starts_over: place.starts_over() };
        Self { savers: Vec::new(), failures: Vec::new(), manner }
    }

    /// Adds the folder of the next source, or why there is none.
    pub(in super::super) fn add(&mut self, saver: Option<Arc<Saver<K>>>, failure: Option<String>) {
        self.savers.push(saver);
        self.failures.extend(failure);
    }

    /// The folder of a source.
    pub(in super::super) fn of(&self, number: usize) -> Option<&Arc<Saver<K>>> {
        self.savers.get(number)?.as_ref()
    }

    /// Finds out whether what was restored for a source is of the cluster that it asks.
    pub(in super::super) async fn verdict(&self, number: usize) -> Verdict {
        let Some(saver) = self.of(number).filter(|_| !self.manner.is_known) else { return Verdict::GoesOn };
        match saver.identify().await {
            Ok(()) => Verdict::GoesOn,
            Err((saved, found)) if self.manner.starts_over => {
                tracing::warn!(saved, found, "saved state is of another cluster, and given up");
                saver.start_over(found);
                Verdict::StartsOver
            }
            Err((saved, found)) => Verdict::Refused { saved, found },
        }
    }

    /// How saving goes; nothing where nothing is saved.
    pub(in super::super) fn saving(&self) -> Option<Saving> {
        let mut saving = Saving { failing: self.failures.first().cloned(), ..Saving::default() };
        for saver in self.savers.iter().flatten() {
            let (status, folder) = (saver.status(), saver.folder().display());
            let words = |error: kube_informer_saved::SaveError| match error.source() {
                Some(cause) => format!("{folder}: {error}: {cause}"),
                None => format!("{folder}: {error}"),
            };
            saving.failing = saving.failing.or(status.last_error.map(words));
            saving.failures += status.failures;
            saving.changes += status.saved;
            saving.file_bytes += status.file_bytes;
        }
        (!self.savers.is_empty()).then_some(saving)
    }
}

impl<K> Default for Folders<K> {
    fn default() -> Self {
        Self { savers: Vec::new(), failures: Vec::new(), manner: Manner::default() }
    }
}
