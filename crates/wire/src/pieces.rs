//! A buffer of bytes that arrive in pieces.

use bytes::{Buf, Bytes, BytesMut};
use std::collections::VecDeque;

/// Appends bytes to a buffer of at most `limit` bytes, whose capacity never exceeds the limit.
///
/// A `Vec` doubles its capacity, so that a buffer just above half of its limit would need twice as much memory.
pub(crate) fn append(buffer: &mut Vec<u8>, bytes: &[u8], limit: usize) {
    let length = buffer.len() + bytes.len();
    if length > buffer.capacity() {
        let capacity = (2 * buffer.capacity()).min(limit).max(length);
        buffer.reserve_exact(capacity - buffer.len());
    }
    buffer.extend_from_slice(bytes);
}

/// Bytes that have arrived and have not been consumed.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    pieces: VecDeque<Bytes>,
    /// The last chunks, joined because they are small.
    last: BytesMut,
    /// The number of bytes.
    length: usize,
    /// The number of bytes that have been consumed.
    consumed: usize,
}

/// Pieces below this length are joined, since each would keep more memory than it holds.
const SMALL: usize = 1024;

impl Pieces {
    pub(crate) fn push(&mut self, piece: Bytes) {
        if piece.is_empty() {
            return;
        }
        if piece.len() < SMALL && self.length > 0 {
            self.last.extend_from_slice(&piece);
            self.length += piece.len();
            return;
        }
        self.flush();
        self.length += piece.len();
        self.pieces.push_back(piece);
    }

    /// Joins chunks that are small.
    fn flush(&mut self) {
        if !self.last.is_empty() {
            self.pieces.push_back(self.last.split().freeze());
        }
    }

    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Returns the offset of the next byte from the beginning of the stream.
    pub(crate) fn offset(&self) -> usize {
        self.consumed
    }

    /// Copies the next bytes without consuming them, and returns how many.
    pub(crate) fn copy(&self, room: &mut [u8]) -> usize {
        let mut copied = 0;
        for piece in self.pieces.iter().map(|piece| &piece[..]).chain([&self.last[..]]) {
            let count = piece.len().min(room.len() - copied);
            room[copied..copied + count].copy_from_slice(&piece[..count]);
            copied += count;
            if copied == room.len() {
                break;
            }
        }
        copied
    }

    /// Returns a range of the next bytes without consuming it; `None` until the range has arrived. Copies only across pieces.
    pub(crate) fn peek(&mut self, from: usize, count: usize) -> Option<Bytes> {
        let end = from.checked_add(count).filter(|end| *end <= self.length)?;
        self.flush();
        if self.pieces.front().is_some_and(|first| first.len() < end) {
            let mut whole = BytesMut::with_capacity(end);
            while whole.len() < end {
                let piece = self.pieces.front_mut()?;
                whole.extend_from_slice(&piece.split_to(piece.len().min(end - whole.len())));
                if piece.is_empty() {
                    self.pieces.pop_front();
                }
            }
            self.pieces.push_front(whole.freeze());
        }
        Some(self.pieces.front().map_or_else(Bytes::new, |first| first.slice(from..end)))
    }

    /// Consumes bytes, all of which must have arrived.
    pub(crate) fn consume(&mut self, mut count: usize) {
        self.length -= count;
        self.consumed += count;
        self.flush();
        while let Some(piece) = self.pieces.front_mut() {
            let part = piece.len().min(count);
            piece.advance(part);
            count -= part;
            if !piece.is_empty() {
                break;
            }
            self.pieces.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_capacity_of_a_buffer_stays_within_its_limit() {
        let mut buffer = Vec::new();
        let mut capacities = std::collections::BTreeSet::new();
        for _ in 0..1000 {
            append(&mut buffer, &[7; 100], 100_000);
            capacities.insert(buffer.capacity());
        }
        assert_eq!((buffer.len(), buffer.capacity()), (100_000, 100_000));
        assert!(capacities.len() < 20, "it grows in few steps: {capacities:?}");
    }

    #[test]
    fn small_pieces_do_not_keep_large_buffers() {
        let mut pieces = Pieces::default();
        let body: Vec<u8> = (0..100_000_u32).map(|number| number.to_le_bytes()[0]).collect();
        let buffer = Bytes::from(vec![7; 1 << 20]);
        for byte in &body {
            pieces.push(Bytes::copy_from_slice(&[*byte]));
        }
        pieces.push(buffer.slice(..1));
        assert!(pieces.pieces.len() <= 2 && buffer.is_unique());
        assert_eq!(pieces.peek(0, body.len()).unwrap(), body);
        pieces.consume(body.len());
        assert_eq!((pieces.offset(), pieces.length()), (body.len(), 1));
        assert_eq!((pieces.peek(0, 1).unwrap(), pieces.peek(1, 1)), (Bytes::from_static(&[7]), None));
    }
}
