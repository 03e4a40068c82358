//! What is done to every object once, before anyone sees it.

use crate::list_watch::BoxError;
use kube_core::Resource;
use kube_informer_wire::{Key, KeyError};
use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// An object that was not let into the queue, and why.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Rejected {
    /// The transform failed.
    #[error("transform of {key} failed")]
    Transform {
        /// The object, by its key before the transform.
        key: Key,
        /// What the transform said.
        #[source]
        cause: BoxError,
    },
    /// The object has no key, before or after the transform.
    #[error("object has no key")]
    Keyless {
        /// What is wrong with it.
        #[source]
        cause: KeyError,
    },
}

/// Runs the transform, works out the key, and reports what fails.
pub(super) struct Gate<K> {
    reuse: Option<Reuse<K>>,
    transform: Option<Transform<K>>,
    report: Arc<dyn Fn(Rejected) + Send + Sync>,
    rejected: AtomicU64,
}

/// Finds the known state of an object that is the very state given.
type Reuse<K> = Arc<dyn Fn(&Key, &K) -> Option<Arc<K>> + Send + Sync>;

type Transform<K> = Arc<dyn Fn(K) -> Result<K, BoxError> + Send + Sync>;

impl<K: Resource> Gate<K> {
    /// Lets an object in, or tells the key of one that fails, if it has one.
    pub(super) fn admit(&self, object: K) -> Result<(Key, Arc<K>), Option<Key>> {
        let outcome = match &self.transform {
            None => Ok(object),
            Some(transform) => {
                let key = Key::of(&object).map_err(|cause| self.reject(None, Rejected::Keyless { cause }))?;
                run(transform, object).map_err(|cause| (key, cause))
            }
        };
        match outcome {
            Ok(object) => match Key::of(&object) {
                Ok(key) => Ok((key, Arc::new(object))),
                Err(cause) => Err(self.reject(None, Rejected::Keyless { cause })),
            },
            Err((key, cause)) => Err(self.reject(Some(key.clone()), Rejected::Transform { key, cause })),
        }
    }

    /// Lets an object of a list in, as the known one where that is the same.
    pub(super) fn admit_listed(&self, object: K) -> Result<(Key, Arc<K>), Option<Key>> {
        if let Some(reuse) = &self.reuse
            && let Ok(key) = Key::of(&object)
            && let Some(known) = reuse(&key, &object)
        {
            return Ok((key, known));
        }
        self.admit(object)
    }

    fn reject(&self, key: Option<Key>, rejected: Rejected) -> Option<Key> {
        self.rejected.fetch_add(1, Ordering::Relaxed);
        (self.report)(rejected);
        key
    }
}

/// Calls the transform, and makes an error of a panic: one bad object must not stop the source.
fn run<K>(transform: &Transform<K>, object: K) -> Result<K, BoxError> {
    match catch_unwind(AssertUnwindSafe(|| transform(object))) {
        Ok(outcome) => outcome,
        Err(_) => Err("transform panicked".into()),
    }
}

impl<K> Gate<K> {
    pub(super) fn rejected(&self) -> u64 {
        self.rejected.load(Ordering::Relaxed)
    }

    /// Adds a transform behind those there are.
    pub(super) fn then(&mut self, next: impl Fn(K) -> Result<K, BoxError> + Send + Sync + 'static)
    where
        K: 'static,
    {
        self.transform = Some(match self.transform.take() {
            None => Arc::new(next),
            Some(first) => Arc::new(move |object| next(first(object)?)),
        });
    }

    pub(super) fn reuse(&mut self, known: impl Fn(&Key, &K) -> Option<Arc<K>> + Send + Sync + 'static) {
        self.reuse = Some(Arc::new(known));
    }

    pub(super) fn report_to(&mut self, report: impl Fn(Rejected) + Send + Sync + 'static) {
        self.report = Arc::new(report);
    }
}

impl<K> Default for Gate<K> {
    fn default() -> Self {
        let report = Arc::new(|rejected: Rejected| {
            let cause = std::error::Error::source(&rejected).map(ToString::to_string);
            tracing::warn!(%rejected, cause, "object left out");
        });
        Self { reuse: None, transform: None, report, rejected: AtomicU64::new(0) }
    }
}

/// Does the same, and has left nothing out yet.
impl<K> Clone for Gate<K> {
    fn clone(&self) -> Self {
        let (reuse, transform, report) =
            (self.reuse.clone(), self.transform.clone(), Arc::clone(&self.report));
        Self { reuse, transform, report, rejected: AtomicU64::new(0) }
    }
}

impl<K> fmt::Debug for Gate<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("rejected", &self.rejected).finish_non_exhaustive()
    }
}
