//! Frames of JSON, one in each line.

use super::error::FrameError;
use crate::pieces::append;
use bytes::{Buf, Bytes};
use std::collections::VecDeque;

/// The frames of a watch in JSON, from a body that arrives in pieces.
///
/// A line within one piece is a slice of it, which keeps the piece in memory; a line that spans pieces is copied.
///
/// ```
/// use kube_informer_wire::JsonLines;
///
/// let mut lines = JsonLines::new();
/// lines.push("{\"type\":\"ADDED\"}\n{\"ty".into());
/// assert_eq!(lines.next()?.as_deref(), Some(&b"{\"type\":\"ADDED\"}"[..]));
/// assert_eq!(lines.next()?, None);
/// assert_eq!(lines.finish().unwrap_err().to_string(), "stream ended unexpectedly, 4 bytes into a frame");
/// # Ok::<(), kube_informer_wire::FrameError>(())
/// ```
#[derive(Debug)]
pub struct JsonLines {
    /// Pieces that have not been searched for a line end.
    pieces: VecDeque<Bytes>,
    /// The beginning of a line whose end has not arrived.
    partial: Vec<u8>,
    limit: usize,
}

impl JsonLines {
    /// The default maximum length of a frame: 64 MiB.
    ///
    /// The API server accepts objects of at most 3 MiB; as JSON, an object is a few times larger than it is stored.
    pub const DEFAULT_LIMIT: usize = 64 << 20;

    /// Creates a stream with frames of at most [`JsonLines::DEFAULT_LIMIT`] bytes.
    #[must_use]
    pub fn new() -> Self {
        Self::with_limit(Self::DEFAULT_LIMIT)
    }

    /// Creates a stream with frames of at most `limit` bytes.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self { pieces: VecDeque::new(), partial: Vec::new(), limit }
    }

    /// Adds the next piece of the body.
    pub fn push(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.pieces.push_back(piece);
        }
    }

    /// Returns the next frame, without its line end; `None` until more is pushed. Skips empty lines.
    ///
    /// # Errors
    /// [`FrameError::TooLong`], which every further call returns again.
    #[expect(clippy::should_implement_trait, reason = "unlike for an iterator, `None` is not the end")]
    pub fn next(&mut self) -> Result<Option<Bytes>, FrameError> {
        while let Some(piece) = self.pieces.front_mut() {
            let end = memchr::memchr(b'\n', piece);
            if self.partial.len() + end.unwrap_or(piece.len()) > self.limit {
                return Err(FrameError::TooLong { limit: self.limit });
            }
            let Some(end) = end else {
                append(&mut self.partial, piece, self.limit);
                self.pieces.pop_front();
                continue;
            };
            let mut line = piece.split_to(end);
            piece.advance(1);
            if piece.is_empty() {
                self.pieces.pop_front();
            }
            if !self.partial.is_empty() {
                append(&mut self.partial, &line, self.limit);
                line = std::mem::take(&mut self.partial).into();
            }
            if line.last() == Some(&b'\r') {
                line.truncate(line.len() - 1);
            }
            if !line.is_empty() {
                return Ok(Some(line));
            }
        }
        Ok(None)
    }

    /// Ends the stream, after [`JsonLines::next`] has returned all complete frames.
    ///
    /// # Errors
    /// [`FrameError::UnexpectedEnd`] if the last frame is incomplete.
    pub fn finish(self) -> Result<(), FrameError> {
        match self.partial.len() + self.pieces.iter().map(Bytes::len).sum::<usize>() {
            0 => Ok(()),
            bytes => Err(FrameError::UnexpectedEnd { bytes }),
        }
    }
}

impl Default for JsonLines {
    fn default() -> Self {
        Self::new()
    }
}
