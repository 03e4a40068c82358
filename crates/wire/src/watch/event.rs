//! Watch events.

use crate::version::ResourceVersion;
use kube_core::Status;
use std::fmt;

/// An event of a watch on objects of type `K`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum WatchEvent<K> {
    /// An object was created, started to match the selectors, or existed when the watch started.
    Added(K),
    /// An object was modified.
    Modified(K),
    /// An object was deleted or no longer matches the selectors; this is its last state.
    Deleted(K),
    /// All changes up to this version have been sent.
    Bookmark {
        /// The version.
        version: ResourceVersion,
        /// Whether this ends the initial events of a streaming list.
        initial_events_end: bool,
    },
    /// The watch failed and ends.
    Error(Box<Status>),
    /// An event of an unknown type.
    Unknown {
        /// The type.
        kind: String,
        /// The version of its object, if it has one.
        version: Option<ResourceVersion>,
    },
}

/// The type of a watch event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventType {
    /// See [`WatchEvent::Added`].
    Added,
    /// See [`WatchEvent::Modified`].
    Modified,
    /// See [`WatchEvent::Deleted`].
    Deleted,
    /// See [`WatchEvent::Bookmark`].
    Bookmark,
    /// See [`WatchEvent::Error`].
    Error,
}

/// The annotation, with the value `"true"`, of the bookmark that ends the initial events.
pub(super) const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

impl EventType {
    /// Returns the type as it is in a frame.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
            Self::Bookmark => "BOOKMARK",
            Self::Error => "ERROR",
        }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let types = [Self::Added, Self::Modified, Self::Deleted, Self::Bookmark, Self::Error];
        types.into_iter().find(|event| event.as_str() == text)
    }
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
