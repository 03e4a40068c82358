//! What is done to every object once, before anyone sees it.

use kube_core::Resource;
use kube_informer_wire::{Key, KeyError};
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// An error of a user's own function.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

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
    transform: Option<Transform<K>>,
    report: Arc<dyn Fn(Rejected) + Send + Sync>,
    rejected: AtomicU64,
}

type Transform<K> = Arc<dyn Fn(K) -> Result<K, BoxError> + Send + Sync>;

impl<K: Resource> Gate<K> {
    /// Lets an object in, or tells the key of one that fails, if it has one.
    pub(super) fn admit(&self, object: K) -> Result<(Key, Arc<K>), Option<Key>> {
        let outcome = match &self.transform {
            None => Ok(object),
            Some(transform) => {
                let key = Key::of(&object).map_err(|cause| self.reject(None, Rejected::Keyless { cause }))?;
                transform(object).map_err(|cause| (key, cause))
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

    fn reject(&self, key: Option<Key>, rejected: Rejected) -> Option<Key> {
        self.rejected.fetch_add(1, Ordering::Relaxed);
        (self.report)(rejected);
        key
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
        Self { transform: None, report, rejected: AtomicU64::new(0) }
    }
}

impl<K> fmt::Debug for Gate<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("rejected", &self.rejected).finish_non_exhaustive()
    }
}
