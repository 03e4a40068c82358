//! The error of building or starting an informer.

use crate::cache::IndexConflictError;
use kube_informer_wire::{FieldPathError, SelectorError};

/// The error of building or starting an informer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The label selector is invalid.
    #[error(transparent)]
    InvalidLabels(SelectorError),
    /// The field selector is invalid.
    #[error(transparent)]
    InvalidFields(SelectorError),
    /// The shard does not exist.
    #[error("invalid shard {index} of {of}: shards are counted from 0")]
    #[non_exhaustive]
    InvalidShard {
        /// The shard.
        index: u32,
        /// The number of shards.
        of: u32,
    },
    /// Two indexes have the same name.
    #[error(transparent)]
    Index(#[from] IndexConflictError),
    /// The JSON pointer of an index is invalid.
    #[error("invalid path of the index {index:?}")]
    #[non_exhaustive]
    InvalidIndexPath {
        /// The name of the index.
        index: String,
        /// The error, with the pointer and the fix.
        #[source]
        cause: FieldPathError,
    },
    /// The registry has an informer of the same objects with other settings.
    #[error(
        "shared informer of {resource} exists with {setting} {existing}, but {requested} was requested; use the same settings, or an informer of its own"
    )]
    #[non_exhaustive]
    SettingsConflict {
        /// The kind.
        resource: String,
        /// The setting.
        setting: &'static str,
        /// The value of the existing informer.
        existing: String,
        /// The value of the second caller.
        requested: String,
    },
    /// `namespaces` was called with an empty list.
    #[error("no namespace was given; omit `namespaces` to watch all of them")]
    NoNamespace,
    /// The name of a namespace is invalid.
    #[error(
        "invalid namespace name {name:?}: use at most 63 lower case letters, digits and '-', with a letter or digit at both ends"
    )]
    #[non_exhaustive]
    InvalidNamespace {
        /// The name.
        name: String,
    },
    /// The kind has no namespaces.
    #[error("{resource} is cluster-scoped; omit `namespaces`")]
    #[non_exhaustive]
    ClusterScoped {
        /// The kind.
        resource: String,
    },
    /// An option was set that only applies to an API server.
    #[error("`{option}` does not apply to a custom source; configure the source instead")]
    #[non_exhaustive]
    NotForSource {
        /// The option.
        option: &'static str,
    },
    /// An option was set that cannot be combined with `shards` and `owned_by`.
    #[error(
        "`{option}` cannot be combined with `shards` or `owned_by`, because shards change while the informer runs"
    )]
    #[non_exhaustive]
    NotWithShards {
        /// The option.
        option: &'static str,
    },
    /// An option was set before `lazy`, which changes the type of the objects.
    #[error("`{option}` was called before `lazy`; call `lazy` first")]
    #[non_exhaustive]
    BeforeLazy {
        /// The option.
        option: &'static str,
    },
    /// Secrets are saved only on request.
    #[error("secrets are not saved by default: call `Save::secrets`, or omit `save_to`")]
    SecretsNotSaved,
    /// A cache with a transform is saved under the name of the transform.
    #[error("a transform needs a name to be saved: call `Save::transform`")]
    UnnamedTransform,
    /// The folder is in use, or contains the cache of another resource.
    #[cfg(feature = "saved")]
    #[cfg_attr(docsrs, doc(cfg(feature = "saved")))]
    #[error(transparent)]
    Saved(#[from] kube_informer_saved::OpenError),
    /// `start` was called outside of a tokio runtime.
    #[error("not within a tokio runtime")]
    NoRuntime,
}
