//! The frames of a watch, whatever they are encoded in, and what each of them says.

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
    /// The frames of a watch in JSON.
    #[must_use]
    pub fn json() -> Self {
        Self::json_within(JsonLines::DEFAULT_LIMIT)
    }

    /// The frames of a watch in JSON, of up to `limit` bytes.
    #[must_use]
    pub fn json_within(limit: usize) -> Self {
        Self(Split::Json(JsonLines::with_limit(limit)))
    }

    /// The frames of a watch in protobuf.
    #[must_use]
    pub fn protobuf() -> Self {
        Self::protobuf_within(JsonLines::DEFAULT_LIMIT)
    }

    /// The frames of a watch in protobuf, of up to `limit` bytes.
    #[must_use]
    pub fn protobuf_within(limit: usize) -> Self {
        Self(Split::Protobuf(ProtobufFrames::with_limit(limit)))
    }

    /// Takes the next piece of the body.
    pub fn push(&mut self, piece: Bytes) {
        match &mut self.0 {
            Split::Json(lines) => lines.push(piece),
            Split::Protobuf(frames) => frames.push(piece),
        }
    }

    /// The next frame, or nothing until more is pushed.
    ///
    /// # Errors
    /// [`FrameError`] if the stream cannot be read on, and every further call says so again.
    #[expect(
        clippy::should_implement_trait,
        reason = "nothing now is not the end, as it would be for an iterator"
    )]
    pub fn next(&mut self) -> Result<Option<Frame>, FrameError> {
        Ok(match &mut self.0 {
            Split::Json(lines) => lines.next()?.map(|frame| Frame(Encoded::Json(frame))),
            Split::Protobuf(frames) => frames.next()?.map(|frame| Frame(Encoded::Protobuf(frame))),
        })
    }
}

impl Frame {
    /// Reads the event, and decodes its object.
    ///
    /// # Errors
    /// [`DecodeError`]; the watch can go on if it is [`DecodeError::Object`].
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

    /// Reads the event, and leaves its object as it came.
    ///
    /// # Errors
    /// [`DecodeError`]; the watch can go on if it is [`DecodeError::Object`].
    pub fn split(&self) -> Result<WatchEvent<Raw>, DecodeError> {
        match &self.0 {
            Encoded::Json(frame) => json::split(frame),
            Encoded::Protobuf(frame) => protobuf::split(frame),
        }
    }
}
