//! What a watch can tell.

use crate::version::ResourceVersion;
use kube_core::Status;
use std::fmt;

/// One event of a watch over objects of type `K`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum WatchEvent<K> {
    /// An object has appeared, or is among those that were there when the watch began.
    Added(K),
    /// An object has changed.
    Modified(K),
    /// An object is gone, or is no longer among those that were asked for; this was its last state.
    Deleted(K),
    /// Nothing has changed up to this version.
    Bookmark {
        /// The version up to which the watch has told everything.
        version: ResourceVersion,
        /// Whether this ends what was there when a streaming list began.
        initial_events_end: bool,
    },
    /// The watch has failed, and ends.
    Error(Box<Status>),
    /// An event of a type that did not exist when this was written.
    Unknown {
        /// The type, as the server calls it.
        kind: String,
        /// The version of the object in it, if it has one.
        version: Option<ResourceVersion>,
    },
}

/// The types of event that a watch can have.
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

/// The annotation, with the value `"true"`, of the bookmark that ends what was there when a streaming list began.
pub(super) const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

impl EventType {
    /// The type as it is written in a frame.
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

    pub(super) fn named(text: &str) -> Option<Self> {
        let types = [Self::Added, Self::Modified, Self::Deleted, Self::Bookmark, Self::Error];
        types.into_iter().find(|event| event.as_str() == text)
    }
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
