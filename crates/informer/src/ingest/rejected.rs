//! Objects that are not ingested, and why.

use crate::{boxed::BoxError, object::ItemError};
use kube_informer_wire::{Key, KeyError};

/// Why an object was skipped. What the cache has of it stays as it is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RejectedError {
    /// The transform returned an error, or panicked.
    #[error("transform of {key} failed")]
    Transform {
        /// The key of the object before the transform.
        key: Key,
        /// The error of the transform.
        #[source]
        cause: BoxError,
    },
    /// The object cannot be decoded.
    #[error("object cannot be decoded")]
    Undecodable {
        /// The decoding error.
        #[source]
        cause: ItemError,
    },
    /// The object has no name, before or after the transform.
    #[error("object has no key")]
    NoKey {
        /// What is missing.
        #[source]
        cause: KeyError,
    },
}

impl RejectedError {
    /// The key of the object. `None` if it has none, or is of another kind.
    #[must_use]
    pub fn key(&self) -> Option<&Key> {
        match self {
            Self::Transform { key, .. } => Some(key),
            Self::Undecodable { cause: ItemError::Object(error) } => error.key(),
            Self::Undecodable { cause: ItemError::Kind(_) } | Self::NoKey { .. } => None,
        }
    }
}
