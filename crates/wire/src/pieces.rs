//! Bytes that arrive in pieces, and are taken out in other ones.

use bytes::{Buf, Bytes, BytesMut};
use std::collections::VecDeque;

/// What has arrived and has not been taken.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    pieces: VecDeque<Bytes>,
    /// Small pieces that came last, put together: each by itself would cost more than it holds.
    last: BytesMut,
    /// How many bytes there are.
    length: usize,
    /// How many have been taken.
    taken: usize,
}

/// Pieces below this are put together if more than one of them waits.
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
        self.settle();
        self.length += piece.len();
        self.pieces.push_back(piece);
    }

    /// Makes one piece of the small ones.
    fn settle(&mut self) {
        if !self.last.is_empty() {
            self.pieces.push_back(self.last.split().freeze());
        }
    }

    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Where the next byte stands in all that has arrived.
    pub(crate) fn offset(&self) -> usize {
        self.taken
    }

    /// Copies the next bytes, as many as there are room for, and says how many.
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

    /// Shows some of the next bytes; nothing until they have arrived. Only bytes of several pieces are copied.
    pub(crate) fn show(&mut self, from: usize, count: usize) -> Option<Bytes> {
        let end = from.checked_add(count).filter(|end| *end <= self.length)?;
        self.settle();
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

    /// Takes away some of the next bytes, all of which have arrived.
    pub(crate) fn take(&mut self, mut count: usize) {
        (self.length, self.taken) = (self.length - count, self.taken + count);
        self.settle();
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
    fn small_pieces_cost_no_more_than_they_hold() {
        let mut pieces = Pieces::default();
        let body: Vec<u8> = (0..100_000_u32).map(|number| number.to_le_bytes()[0]).collect();
        // Each lies in a large buffer, which must not be kept for it.
        let buffer = Bytes::from(vec![7; 1 << 20]);
        for byte in &body {
            pieces.push(Bytes::copy_from_slice(&[*byte]));
        }
        pieces.push(buffer.slice(..1));
        assert!(pieces.pieces.len() <= 2 && buffer.is_unique());
        assert_eq!(pieces.show(0, body.len()).unwrap(), body);
        pieces.take(body.len());
        assert_eq!((pieces.offset(), pieces.length()), (body.len(), 1));
        assert_eq!((pieces.show(0, 1).unwrap(), pieces.show(1, 1)), (Bytes::from_static(&[7]), None));
    }
}
