//! What a follower of differences keeps itself, over the lives of an informer.

use crate::truth::Versions;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What it was told, added up; what is told twice does no harm.
#[derive(Clone, Debug, Default)]
pub(crate) struct Diary(Arc<Mutex<Versions>>);

impl Diary {
    fn lock(&self) -> MutexGuard<'_, Versions> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The object is like this; nothing if it is gone.
    pub(crate) fn write(&self, key: &str, version: Option<u64>) {
        match version {
            Some(version) => drop(self.lock().insert(key.to_owned(), version)),
            None => drop(self.lock().remove(key)),
        }
    }

    /// What stands in it now, in a book of its own.
    pub(crate) fn copied(&self) -> Self {
        Self(Arc::new(Mutex::new(self.lock().clone())))
    }

    /// Only what is there stays.
    pub(crate) fn retain(&self, there: &Versions) {
        self.lock().retain(|key, _| there.contains_key(key));
    }

    pub(crate) fn versions(&self) -> Versions {
        self.lock().clone()
    }
}
