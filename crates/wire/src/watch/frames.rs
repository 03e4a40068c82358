//! The frames of a watch in either encoding.

use super::{decode::DecodeError, event::WatchEvent, json, protobuf};
use crate::{
    frame::{FrameError, JsonLines, ProtobufFrames},
    object::{ManagedFields, Raw},
};
use bytes::Bytes;
use serde::de::DeserializeOwned;

/// The frames of a watch as they arrive, in JSON or in protobuf.
///
/// See [`JsonLines`] and [`ProtobufFrames`].
#[derive(Debug)]
pub struct Frames(Split);

#[derive(Debug)]
enum Split {
    Json(JsonLines),
    Protobuf(ProtobufFrames),
}

/// One frame of a watch: one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame(Encoded);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Encoded {
    Json(Bytes),
    Protobuf(Bytes),
}

impl Frames {
    /// Creates the frames of a watch in JSON.
    #[must_use]
    pub fn json() -> Self {
        Self::json_with_limit(JsonLines::DEFAULT_LIMIT)
    }

    /// Creates the frames of a watch in JSON, of at most `limit` bytes.
    #[must_use]
    pub fn json_with_limit(limit: usize) -> Self {
        Self(Split::Json(JsonLines::with_limit(limit)))
    }

    /// Creates the frames of a watch in protobuf.
    #[must_use]
    pub fn protobuf() -> Self {
        Self::protobuf_with_limit(JsonLines::DEFAULT_LIMIT)
    }

    /// Creates the frames of a watch in protobuf, of at most `limit` bytes.
    #[must_use]
    pub fn protobuf_with_limit(limit: usize) -> Self {
        Self(Split::Protobuf(ProtobufFrames::with_limit(limit)))
    }

    /// Adds the next piece of the body.
    pub fn push(&mut self, piece: Bytes) {
        match &mut self.0 {
            Split::Json(lines) => lines.push(piece),
            Split::Protobuf(frames) => frames.push(piece),
        }
    }

    /// Returns the next frame; `None` until more is pushed.
    ///
    /// # Errors
    /// [`FrameError`], which every further call returns again.
    #[expect(clippy::should_implement_trait, reason = "unlike for an iterator, `None` is not the end")]
    pub fn next(&mut self) -> Result<Option<Frame>, FrameError> {
        Ok(match &mut self.0 {
            Split::Json(lines) => lines.next()?.map(|frame| Frame(Encoded::Json(frame))),
            Split::Protobuf(frames) => frames.next()?.map(|frame| Frame(Encoded::Protobuf(frame))),
        })
    }
}

impl Frame {
    /// Decodes the event and its object.
    ///
    /// # Errors
    /// [`DecodeError`]; the watch can continue after [`DecodeError::Object`].
    pub fn decode<K: DeserializeOwned>(
        &self,
        managed_fields: ManagedFields,
    ) -> Result<WatchEvent<K>, DecodeError> {
        match &self.0 {
            Encoded::Json(frame) => json::decode(frame, managed_fields),
            Encoded::Protobuf(frame) => {
                protobuf::split(frame)?.try_map(|raw| raw.decode::<K>(managed_fields))
            }
        }
    }

    /// Decodes the event without its object.
    ///
    /// # Errors
    /// [`DecodeError`]; the watch can continue after [`DecodeError::Object`].
    pub fn split(&self) -> Result<WatchEvent<Raw>, DecodeError> {
        match &self.0 {
            Encoded::Json(frame) => json::split(frame),
            Encoded::Protobuf(frame) => protobuf::split(frame),
        }
    }
}
