//! The items of a list, whatever it is encoded in.

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
    /// The items of a list in JSON.
    #[must_use]
    pub fn json() -> Self {
        Self::json_within(JsonLines::DEFAULT_LIMIT)
    }

    /// The items of a list in JSON, of up to `limit` bytes each.
    #[must_use]
    pub fn json_within(limit: usize) -> Self {
        Self(Split::Json(JsonList::with_limit(limit)))
    }

    /// The items of a list in protobuf.
    #[must_use]
    pub fn protobuf() -> Self {
        Self::protobuf_within(JsonLines::DEFAULT_LIMIT)
    }

    /// The items of a list in protobuf, of up to `limit` bytes each.
    #[must_use]
    pub fn protobuf_within(limit: usize) -> Self {
        Self(Split::Protobuf(ProtobufList::with_limit(limit)))
    }

    /// Takes the next piece of the body.
    pub fn push(&mut self, piece: Bytes) {
        match &mut self.0 {
            Split::Json(list) => list.push(piece),
            Split::Protobuf(list) => list.push(piece),
        }
    }

    /// The next item, or nothing until more is pushed.
    ///
    /// # Errors
    /// [`ListError`] if the list cannot be read on, and every further call says so again.
    #[expect(
        clippy::should_implement_trait,
        reason = "nothing now is not the end, as it would be for an iterator"
    )]
    pub fn next(&mut self) -> Result<Option<Raw>, ListError> {
        match &mut self.0 {
            Split::Json(list) => Ok(list.next()?.map(|json| Raw::new(Format::Json, json))),
            Split::Protobuf(list) => list.next(),
        }
    }

    /// Ends the list, after [`Items::next`] has given all items.
    ///
    /// # Errors
    /// [`ListError`] if the body was no list, or not all of one.
    pub fn finish(self) -> Result<ListMeta, ListError> {
        match self.0 {
            Split::Json(list) => list.finish(),
            Split::Protobuf(list) => list.finish(),
        }
    }
}
