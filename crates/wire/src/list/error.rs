//! Why the body of a list cannot be read.

use crate::{protobuf::ProtobufError, version::VersionError};

/// The maximum nesting outside of the items, which is that of serde_json.
pub(super) const MAX_DEPTH: usize = 128;

/// The body of a list that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListError {
    /// An item is not an object.
    #[error("list item is not an object at byte {offset}")]
    NotAnObject {
        /// The offset of the item.
        offset: usize,
    },
    /// The list is nested too deep.
    #[error("list is nested deeper than {} levels at byte {offset}", MAX_DEPTH)]
    TooDeep {
        /// The offset of the innermost value.
        offset: usize,
    },
    /// An item, or the list without its items, is too long.
    #[error("list item is longer than {limit} bytes at byte {offset}")]
    TooLong {
        /// The offset at which the limit was exceeded.
        offset: usize,
        /// The maximum number of bytes.
        limit: usize,
    },
    /// The list was finished before all items were read.
    #[error("list has an unread item before byte {offset}")]
    UnreadItem {
        /// The offset of the end of the item.
        offset: usize,
    },
    /// The body ended before the list did.
    #[error("list ended unexpectedly after {bytes} bytes")]
    UnexpectedEnd {
        /// The number of bytes received.
        bytes: usize,
    },
    /// The body is not a list in JSON.
    #[error("response is not a list")]
    Envelope(#[source] serde_json::Error),
    /// The body is not a list in protobuf.
    #[error("response is not a list")]
    Protobuf(#[source] ProtobufError),
    /// The body is of a kind that is not a list.
    #[error("response is not a list but {}", describe(api_version, kind))]
    NotAList {
        /// The apiVersion, such as `v1`; empty if the body has none.
        api_version: String,
        /// The kind, such as `Status`; empty if the body has none.
        kind: String,
    },
    /// The resourceVersion of the list is invalid.
    #[error("invalid resourceVersion of the list")]
    Version(#[source] VersionError),
}

fn describe(api_version: &str, kind: &str) -> String {
    if kind.is_empty() { "of unknown kind".to_owned() } else { format!("{api_version} {kind}") }
}
