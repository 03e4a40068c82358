//! Why an informer cannot be started.

use crate::{cache::IndexConflict, source::BoxError};

/// Why an informer cannot be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The label selector is none.
    #[error("label selector {text:?} is not valid")]
    #[non_exhaustive]
    Labels {
        /// What was given.
        text: String,
        /// What is wrong with it.
        #[source]
        cause: BoxError,
    },
    /// The field selector is none.
    #[error("field selector {text:?} is not valid")]
    #[non_exhaustive]
    Fields {
        /// What was given.
        text: String,
        /// What is wrong with it.
        #[source]
        cause: BoxError,
    },
    /// There is no such part.
    #[error("there is no part {index} of {of}: parts are counted from 0")]
    #[non_exhaustive]
    Shard {
        /// The part asked for.
        index: u32,
        /// How many there are.
        of: u32,
    },
    /// Two indexes have one name.
    #[error(transparent)]
    Index(#[from] IndexConflict),
    /// A list of namespaces was given that has none, which would be an informer of nothing.
    #[error("no namespace was given; leave `namespaces` out for all of them")]
    NoNamespace,
    /// A namespace cannot be one.
    #[error("{name:?} is not a name of a namespace")]
    #[non_exhaustive]
    Namespace {
        /// What was given.
        name: String,
    },
    /// The kind has no namespaces.
    #[error("{resource} is cluster-scoped, so it cannot be followed by namespace")]
    #[non_exhaustive]
    ClusterScoped {
        /// The kind.
        resource: String,
    },
    /// Namespaces or selectors were given for a source that is not a server of ours to ask.
    #[error("`{option}` does not apply to a source of your own; give it to the source")]
    #[non_exhaustive]
    NotForSource {
        /// What was given.
        option: &'static str,
    },
    /// `Secret`s were to be saved, and not by name.
    #[cfg(feature = "saved")]
    #[error("secrets are not saved unless that is asked for: say `Save::secrets`, or leave `save_to` out")]
    SecretsNotSaved,
    /// There is a transform, and nothing to tell it from another.
    #[cfg(feature = "saved")]
    #[error("a cache with a transform is saved under the name of that: give it one with `Save::transform`")]
    UnnamedTransform,
    /// What is saved is of something else, or the folder cannot be had.
    #[cfg(feature = "saved")]
    #[error(transparent)]
    Saved(#[from] kube_informer_saved::OpenError),
    /// There is no tokio runtime here in which the informer could run.
    #[error("this is not within a tokio runtime")]
    NoRuntime,
}
