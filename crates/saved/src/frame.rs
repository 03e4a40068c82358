//! Frames: groups of records with a checksum, which detects partial writes and damage.

use bytes::Bytes;
use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
};
use twox_hash::XxHash3_64;

/// Reads the frames of a file in order.
#[derive(Debug)]
pub(crate) struct FrameReader {
    file: File,
    seed: u64,
    position: u64,
    end: u64,
}

/// A frame with a valid checksum.
#[derive(Debug)]
pub(crate) struct Frame {
    /// The position of the body in the file.
    pub(crate) offset: u64,
    pub(crate) body: Bytes,
}

/// The result of reading the next frame.
#[derive(Debug)]
pub(crate) enum NextFrame {
    Frame(Frame),
    /// The file ends after the previous frame.
    End,
    /// The rest of the file is not a valid frame: it was partly written or is damaged.
    Invalid,
}

/// Writes frames to a file.
#[derive(Debug)]
pub(crate) struct FrameWriter<'a> {
    file: &'a mut File,
    seed: u64,
    /// The position of the next frame.
    position: u64,
    buffer: Vec<u8>,
}

/// The position of a record in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) offset: u64,
    pub(crate) size: u32,
}

/// The size of the length and the checksum.
const HEAD: usize = 12;
/// A frame is written when it reaches this size.
const FULL: usize = 1 << 20;
/// The maximum size of a frame: a full one, plus a record with the largest payload.
const MAX_FRAME: usize = 66 << 20;

/// Includes the seed of the file and the position, so that a misplaced frame is invalid.
fn checksum(seed: u64, position: u64, body: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(seed ^ position.rotate_left(24) ^ body.len() as u64, body)
}

impl FrameReader {
    /// Creates a reader for the frames between `position` and `end`.
    pub(crate) fn new(mut file: File, seed: u64, position: u64, end: u64) -> io::Result<Self> {
        file.seek(SeekFrom::Start(position))?;
        Ok(Self { file, seed, position, end })
    }

    /// Returns the position of the next frame.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    pub(crate) fn next(&mut self) -> io::Result<NextFrame> {
        let remaining = self.end.saturating_sub(self.position);
        if remaining == 0 {
            return Ok(NextFrame::End);
        }
        if remaining < HEAD as u64 {
            return Ok(NextFrame::Invalid);
        }
        let mut head = [0; HEAD];
        self.file.read_exact(&mut head)?;
        let [l0, l1, l2, l3, hash @ ..] = head;
        let length = u32::from_le_bytes([l0, l1, l2, l3]);
        // Check the length against the file before allocating.
        if length as usize > MAX_FRAME || u64::from(length) > remaining - HEAD as u64 {
            return Ok(NextFrame::Invalid);
        }
        let mut body = Vec::with_capacity(length as usize);
        (&self.file).take(length.into()).read_to_end(&mut body)?;
        let is_complete = body.len() == length as usize;
        if !is_complete || checksum(self.seed, self.position, &body) != u64::from_le_bytes(hash) {
            return Ok(NextFrame::Invalid);
        }
        let offset = self.position + HEAD as u64;
        self.position = offset + u64::from(length);
        Ok(NextFrame::Frame(Frame { offset, body: body.into() }))
    }
}

impl<'a> FrameWriter<'a> {
    /// Creates a writer that overwrites the file from `position`.
    pub(crate) fn new(file: &'a mut File, seed: u64, position: u64) -> io::Result<Self> {
        file.seek(SeekFrom::Start(position))?;
        Ok(Self { file, seed, position, buffer: vec![0; HEAD] })
    }

    /// Adds the record that `encode` appends to the buffer, and returns its location.
    pub(crate) fn record(&mut self, encode: impl FnOnce(&mut Vec<u8>)) -> io::Result<Location> {
        if self.buffer.len() >= FULL {
            self.write()?;
        }
        let start = self.buffer.len();
        encode(&mut self.buffer);
        let length = self.buffer.len() - start;
        if length > MAX_FRAME - FULL {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the record is too long"));
        }
        let size = u32::try_from(length).map_err(io::Error::other)?;
        Ok(Location { offset: self.position + start as u64, size })
    }

    /// Writes the last frame and returns the position after it.
    pub(crate) fn finish(mut self) -> io::Result<u64> {
        self.write()?;
        Ok(self.position)
    }

    fn write(&mut self) -> io::Result<()> {
        let (head, body) = self.buffer.split_at_mut(HEAD);
        let length = u32::try_from(body.len()).map_err(io::Error::other)?;
        head[..4].copy_from_slice(&length.to_le_bytes());
        head[4..].copy_from_slice(&checksum(self.seed, self.position, body).to_le_bytes());
        self.file.write_all(&self.buffer)?;
        self.position += self.buffer.len() as u64;
        self.buffer.truncate(HEAD);
        Ok(())
    }
}
