//! Frames of protobuf, each after its length.

use super::{error::FrameError, lines::JsonLines};
use crate::pieces::Pieces;
use bytes::Bytes;

/// The frames of a watch in protobuf, whatever pieces they come in.
///
/// A frame that lies within one piece is a slice of it; one that spans several is put together.
///
/// ```
/// use kube_informer_wire::ProtobufFrames;
///
/// let mut frames = ProtobufFrames::new();
/// frames.push(b"\0\0\0\x02ab\0\0"[..].into());
/// assert_eq!(frames.next()?.as_deref(), Some(&b"ab"[..]));
/// assert_eq!(frames.next()?, None);
/// assert_eq!(frames.finish().unwrap_err().to_string(), "stream ended within a frame, 2 bytes into it");
/// # Ok::<(), kube_informer_wire::FrameError>(())
/// ```
#[derive(Debug)]
pub struct ProtobufFrames {
    pieces: Pieces,
    limit: usize,
}

/// How many bytes a length takes.
const PREFIX: usize = 4;

impl ProtobufFrames {
    /// Frames of up to [`JsonLines::DEFAULT_LIMIT`] bytes.
    #[must_use]
    pub fn new() -> Self {
        Self::with_limit(JsonLines::DEFAULT_LIMIT)
    }

    /// Frames of up to `limit` bytes.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self { pieces: Pieces::default(), limit }
    }

    /// Takes the next piece of the body.
    pub fn push(&mut self, piece: Bytes) {
        self.pieces.push(piece);
    }

    /// The next frame, without its length, or nothing until more is pushed.
    ///
    /// # Errors
    /// [`FrameError::TooLong`]; the stream cannot be read on then, and every further call says so again.
    #[expect(
        clippy::should_implement_trait,
        reason = "nothing now is not the end, as it would be for an iterator"
    )]
    pub fn next(&mut self) -> Result<Option<Bytes>, FrameError> {
        let mut prefix = [0; PREFIX];
        if self.pieces.copy(&mut prefix) < PREFIX {
            return Ok(None);
        }
        let length = u32::from_be_bytes(prefix) as usize;
        if length > self.limit {
            return Err(FrameError::TooLong { limit: self.limit });
        }
        let frame = self.pieces.show(PREFIX, length);
        if frame.is_some() {
            self.pieces.take(PREFIX + length);
        }
        Ok(frame)
    }

    /// Ends the stream, after [`ProtobufFrames::next`] has given all that was whole.
    ///
    /// # Errors
    /// [`FrameError::Unfinished`] if a frame has begun and not ended.
    pub fn finish(self) -> Result<(), FrameError> {
        match self.pieces.length() {
            0 => Ok(()),
            bytes => Err(FrameError::Unfinished { bytes }),
        }
    }
}

impl Default for ProtobufFrames {
    fn default() -> Self {
        Self::new()
    }
}
