//! The items of a list in either encoding.

use super::{error::ListError, json::JsonList, meta::ListMeta, protobuf::ProtobufList};
use crate::{
    frame::JsonLines,
    object::{Format, Raw},
};
use bytes::Bytes;

/// The items of a list as they arrive, in JSON or in protobuf.
///
/// See [`JsonList`] and [`ProtobufList`].
#[derive(Debug)]
pub struct Items(Split);

#[derive(Debug)]
enum Split {
    Json(JsonList),
    Protobuf(ProtobufList),
}

impl Items {
    /// Creates the items of a list in JSON.
    #[must_use]
    pub fn json() -> Self {
        Self::json_with_limit(JsonLines::DEFAULT_LIMIT)
    }

    /// Creates the items of a list in JSON, of at most `limit` bytes each.
    #[must_use]
    pub fn json_with_limit(limit: usize) -> Self {
        Self(Split::Json(JsonList::with_limit(limit)))
    }

    /// Creates the items of a list in protobuf.
    #[must_use]
    pub fn protobuf() -> Self {
        Self::protobuf_with_limit(JsonLines::DEFAULT_LIMIT)
    }

    /// Creates the items of a list in protobuf, of at most `limit` bytes each.
    #[must_use]
    pub fn protobuf_with_limit(limit: usize) -> Self {
        Self(Split::Protobuf(ProtobufList::with_limit(limit)))
    }

    /// Adds the next piece of the body.
    pub fn push(&mut self, piece: Bytes) {
        match &mut self.0 {
            Split::Json(list) => list.push(piece),
            Split::Protobuf(list) => list.push(piece),
        }
    }

    /// Returns the next item; `None` until more is pushed.
    ///
    /// # Errors
    /// [`ListError`], which every further call returns again.
    #[expect(clippy::should_implement_trait, reason = "unlike for an iterator, `None` is not the end")]
    pub fn next(&mut self) -> Result<Option<Raw>, ListError> {
        match &mut self.0 {
            Split::Json(list) => Ok(list.next()?.map(|json| Raw::new(Format::Json, json))),
            Split::Protobuf(list) => list.next(),
        }
    }

    /// Ends the list, after [`Items::next`] has returned all items.
    ///
    /// # Errors
    /// [`ListError`] if the body is not a list, or incomplete.
    pub fn finish(self) -> Result<ListMeta, ListError> {
        match self.0 {
            Split::Json(list) => list.finish(),
            Split::Protobuf(list) => list.finish(),
        }
    }
}
