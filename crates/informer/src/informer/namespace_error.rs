//! The error of adding or removing a namespace of an informer.

/// The error of adding or removing a namespace of an informer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NamespaceError {
    /// The informer watches all namespaces, or the objects of a custom source.
    #[error("informer of {resource} watches all namespaces; build it with `namespaces` to change them")]
    #[non_exhaustive]
    AllNamespaces {
        /// The kind.
        resource: String,
    },
    /// The name is invalid.
    #[error(
        "invalid namespace name {name:?}: use at most 63 lower case letters, digits and '-', with a letter or digit at both ends"
    )]
    #[non_exhaustive]
    InvalidName {
        /// The name.
        name: String,
    },
    /// The cache is saved, with one file for each of the initial namespaces.
    #[error("cache of {resource} is saved, so that its namespaces cannot change; omit `save_to`")]
    #[non_exhaustive]
    Saved {
        /// The kind.
        resource: String,
    },
    /// The informer was stopped.
    #[error("informer of {resource} was stopped")]
    #[non_exhaustive]
    Stopped {
        /// The kind.
        resource: String,
    },
    /// The informer runs, and the function was called outside of a tokio runtime.
    #[error("not within a tokio runtime")]
    NoRuntime,
}
