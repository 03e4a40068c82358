//! Frames of protobuf, each after its length.

use super::{error::FrameError, lines::JsonLines};
use crate::pieces::Pieces;
use bytes::Bytes;

/// The frames of a watch in protobuf, from a body that arrives in pieces.
///
/// A frame within one piece is a slice of it; a frame that spans pieces is copied.
///
/// ```
/// use kube_informer_wire::ProtobufFrames;
///
/// let mut frames = ProtobufFrames::new();
/// frames.push(b"\0\0\0\x02ab\0\0"[..].into());
/// assert_eq!(frames.next()?.as_deref(), Some(&b"ab"[..]));
/// assert_eq!(frames.next()?, None);
/// assert_eq!(frames.finish().unwrap_err().to_string(), "stream ended unexpectedly, 2 bytes into a frame");
/// # Ok::<(), kube_informer_wire::FrameError>(())
/// ```
#[derive(Debug)]
pub struct ProtobufFrames {
    pieces: Pieces,
    limit: usize,
}

/// The number of bytes of a length.
const PREFIX: usize = 4;

impl ProtobufFrames {
    /// Creates a stream with frames of at most [`JsonLines::DEFAULT_LIMIT`] bytes.
    #[must_use]
    pub fn new() -> Self {
        Self::with_limit(JsonLines::DEFAULT_LIMIT)
    }

    /// Creates a stream with frames of at most `limit` bytes.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self { pieces: Pieces::default(), limit }
    }

    /// Adds the next piece of the body.
    pub fn push(&mut self, piece: Bytes) {
        self.pieces.push(piece);
    }

    /// Returns the next frame, without its length; `None` until more is pushed.
    ///
    /// # Errors
    /// [`FrameError::TooLong`], which every further call returns again.
    #[expect(clippy::should_implement_trait, reason = "unlike for an iterator, `None` is not the end")]
    pub fn next(&mut self) -> Result<Option<Bytes>, FrameError> {
        let mut prefix = [0; PREFIX];
        if self.pieces.copy(&mut prefix) < PREFIX {
            return Ok(None);
        }
        let length = u32::from_be_bytes(prefix) as usize;
        if length > self.limit {
            return Err(FrameError::TooLong { limit: self.limit });
        }
        let frame = self.pieces.peek(PREFIX, length);
        if frame.is_some() {
            self.pieces.consume(PREFIX + length);
        }
        Ok(frame)
    }

    /// Ends the stream, after [`ProtobufFrames::next`] has returned all complete frames.
    ///
    /// # Errors
    /// [`FrameError::UnexpectedEnd`] if the last frame is incomplete.
    pub fn finish(self) -> Result<(), FrameError> {
        match self.pieces.length() {
            0 => Ok(()),
            bytes => Err(FrameError::UnexpectedEnd { bytes }),
        }
    }
}

impl Default for ProtobufFrames {
    fn default() -> Self {
        Self::new()
    }
}
