//! An object that was not let into the queue, and why.

use crate::source::{BoxError, ItemError};
use kube_informer_wire::{Key, KeyError};

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
    /// It cannot be decoded.
    #[error("object cannot be decoded")]
    Undecodable {
        /// What is wrong with it.
        #[source]
        cause: ItemError,
    },
    /// The object has no key, before or after the transform.
    #[error("object has no key")]
    Keyless {
        /// What is wrong with it.
        #[source]
        cause: KeyError,
    },
}
