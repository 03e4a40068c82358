//! The reasons for which an object is skipped.

use crate::{boxed::BoxError, object::ItemError};
use kube_informer_wire::{Key, KeyError};

/// The reason for which an object was skipped. The cache keeps its previous state; a deletion still deletes the object.
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
        /// The missing part of the key.
        #[source]
        cause: KeyError,
    },
}

impl RejectedError {
    /// Returns the key of the object. `None` if the object has no name, or is of another kind.
    #[must_use]
    pub fn key(&self) -> Option<&Key> {
        match self {
            Self::Transform { key, .. } => Some(key),
            Self::Undecodable { cause: ItemError::Object(error) } => error.key(),
            Self::Undecodable { cause: ItemError::Panicked { key, .. } } => key.as_ref(),
            Self::Undecodable { cause: ItemError::Kind(_) | ItemError::Namespace { .. } }
            | Self::NoKey { .. } => None,
        }
    }
}
