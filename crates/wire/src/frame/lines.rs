//! Frames that are lines, with one JSON text in each.

use super::error::FrameError;
use bytes::{Buf, Bytes};
use std::collections::VecDeque;

/// The frames of a watch: lines of JSON, whatever pieces they come in.
///
/// Each byte is looked at once. A line that lies within one piece is a slice of it; a line that spans several is put
/// together. A slice keeps its whole piece in memory, and the last line of a piece is as expensive to keep as all of
/// them: decode a frame and let it go, or copy what is to stay.
///
/// ```
/// use kube_informer_wire::JsonLines;
///
/// let mut lines = JsonLines::new();
/// lines.push("{\"type\":\"ADDED\"}\n{\"ty".into());
/// assert_eq!(lines.next()?.as_deref(), Some(&b"{\"type\":\"ADDED\"}"[..]));
/// assert_eq!(lines.next()?, None);
/// assert_eq!(lines.finish().unwrap_err().to_string(), "stream ended within a frame, 4 bytes into it");
/// # Ok::<(), kube_informer_wire::FrameError>(())
/// ```
#[derive(Debug)]
pub struct JsonLines {
    /// Pieces that have not been looked at, but for the first, whose looked-at part is cut off.
    pieces: VecDeque<Bytes>,
    /// The beginning of a line whose end has not come.
    begun: Vec<u8>,
    limit: usize,
}

impl JsonLines {
    /// The longest frame unless told otherwise.
    ///
    /// The API server takes objects of 3 MiB at most, and etcd half of that by default; as JSON, with managed fields and
    /// base64, an object is a few times larger than it is stored. Past 64 MiB it is no object.
    pub const DEFAULT_LIMIT: usize = 64 << 20;

    /// Frames of up to [`JsonLines::DEFAULT_LIMIT`] bytes.
    #[must_use]
    pub fn new() -> Self {
        Self::with_limit(Self::DEFAULT_LIMIT)
    }

    /// Frames of up to `limit` bytes.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self { pieces: VecDeque::new(), begun: Vec::new(), limit }
    }

    /// Takes the next piece of the body.
    pub fn push(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.pieces.push_back(piece);
        }
    }

    /// The next frame, without its line end, or nothing until more is pushed. Empty lines are skipped.
    ///
    /// # Errors
    /// [`FrameError::TooLong`]; the stream cannot be read on then, and every further call says so again.
    #[expect(
        clippy::should_implement_trait,
        reason = "nothing now is not the end, as it would be for an iterator"
    )]
    pub fn next(&mut self) -> Result<Option<Bytes>, FrameError> {
        while let Some(piece) = self.pieces.front_mut() {
            let end = memchr::memchr(b'\n', piece);
            if self.begun.len() + end.unwrap_or(piece.len()) > self.limit {
                return Err(FrameError::TooLong { limit: self.limit });
            }
            let Some(end) = end else {
                self.begun.extend_from_slice(piece);
                self.pieces.pop_front();
                continue;
            };
            let mut line = piece.split_to(end);
            piece.advance(1);
            if piece.is_empty() {
                self.pieces.pop_front();
            }
            if !self.begun.is_empty() {
                self.begun.extend_from_slice(&line);
                line = std::mem::take(&mut self.begun).into();
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

    /// Ends the stream, after [`JsonLines::next`] has given all that was whole.
    ///
    /// # Errors
    /// [`FrameError::Unfinished`] if a frame has begun and not ended.
    pub fn finish(self) -> Result<(), FrameError> {
        match self.begun.len() + self.pieces.iter().map(Bytes::len).sum::<usize>() {
            0 => Ok(()),
            bytes => Err(FrameError::Unfinished { bytes }),
        }
    }
}

impl Default for JsonLines {
    fn default() -> Self {
        Self::new()
    }
}
