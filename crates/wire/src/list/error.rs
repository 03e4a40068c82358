//! Why the body of a list cannot be read.

use super::scanner::MAX_DEPTH;
use crate::{protobuf::ProtobufError, version::VersionError};

/// Why a list cannot be read on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListError {
    /// Something in the items is no object.
    #[error("list holds something that is no object at byte {offset}")]
    Stray {
        /// Where.
        offset: usize,
    },
    /// Objects within objects without end.
    #[error("list is nested deeper than {} levels at byte {offset}", MAX_DEPTH)]
    Deep {
        /// Where.
        offset: usize,
    },
    /// An item, or all that is around the items, that does not end.
    #[error("list holds something longer than {limit} bytes at byte {offset}")]
    TooLong {
        /// Where.
        offset: usize,
        /// The most bytes that an item may have.
        limit: usize,
    },
    /// The list was ended although an item had not been taken out of it.
    #[error("list holds an item that was not read, up to byte {offset}")]
    Unread {
        /// Where the item ends.
        offset: usize,
    },
    /// The body ended before the list did.
    #[error("list ended early, after {bytes} bytes")]
    Unfinished {
        /// How many bytes had come.
        bytes: usize,
    },
    /// What is around the items is no list.
    #[error("body is no list")]
    Envelope(#[source] serde_json::Error),
    /// What is around the items is no protobuf.
    #[error("body is no list")]
    Protobuf(#[source] ProtobufError),
    /// The body is something else.
    #[error("body is a {kind} of {api_version}, which is no list")]
    Other {
        /// `v1` and so on; empty if the body does not say.
        api_version: String,
        /// `Status` and so on; empty if the body does not say.
        kind: String,
    },
    /// The list has a version that is none.
    #[error("version of the list cannot be read")]
    Version(#[source] VersionError),
}
