//! Records in frames that are checked whole, so that what was written in part is known for it.

use bytes::Bytes;
use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
};
use twox_hash::XxHash3_64;

/// Reads the frames of a file, one after the other, from where the preamble ends.
#[derive(Debug)]
pub(crate) struct FrameReader {
    file: File,
    seed: u64,
    at: u64,
    end: u64,
}

/// One frame of a file.
#[derive(Debug)]
pub(crate) struct Frame {
    /// Where its body begins in the file.
    pub(crate) start: u64,
    pub(crate) body: Bytes,
}

/// What comes next in a file.
#[derive(Debug)]
pub(crate) enum Next {
    /// A frame that is as it was written.
    Frame(Frame),
    /// The file ends after a frame.
    End,
    /// Something that is no frame: the rest of one that was not written to its end, or damage.
    Torn,
}

/// Writes frames to a file, from a place where a frame may begin.
#[derive(Debug)]
pub(crate) struct FrameWriter<'a> {
    file: &'a mut File,
    seed: u64,
    /// Where the next frame begins.
    at: u64,
    buffer: Vec<u8>,
}

/// Length and checksum.
pub(crate) const HEAD: usize = 12;
/// A frame is written when it is this long.
const FULL: usize = 1 << 20;
/// The most bytes of a frame: a full one, and one record of the longest payload.
const MAX_FRAME: usize = 66 << 20;

/// The checksum of a frame tells where it stands and in which file, so that one out of place does not pass.
fn checksum(seed: u64, at: u64, body: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(seed ^ at.rotate_left(24) ^ body.len() as u64, body)
}

impl FrameReader {
    /// Reads a file of this length from `at`, where a frame begins.
    pub(crate) fn new(mut file: File, seed: u64, at: u64, end: u64) -> io::Result<Self> {
        file.seek(SeekFrom::Start(at))?;
        Ok(Self { file, seed, at, end })
    }

    /// Where the next frame begins.
    pub(crate) fn position(&self) -> u64 {
        self.at
    }

    pub(crate) fn next(&mut self) -> io::Result<Next> {
        let left = self.end.saturating_sub(self.at);
        if left == 0 {
            return Ok(Next::End);
        }
        if left < HEAD as u64 {
            return Ok(Next::Torn);
        }
        let mut head = [0; HEAD];
        self.file.read_exact(&mut head)?;
        let [length, hash_low, hash_high] = [&head[..4], &head[4..8], &head[8..]].map(le_u32);
        // The length is bounded by the file before anything is set aside for it.
        if length as usize > MAX_FRAME || u64::from(length) > left - HEAD as u64 {
            return Ok(Next::Torn);
        }
        let mut body = Vec::with_capacity(length as usize);
        (&self.file).take(length.into()).read_to_end(&mut body)?;
        let hash = u64::from(hash_low) | u64::from(hash_high) << 32;
        if body.len() != length as usize || checksum(self.seed, self.at, &body) != hash {
            return Ok(Next::Torn);
        }
        let start = self.at + HEAD as u64;
        self.at = start + u64::from(length);
        Ok(Next::Frame(Frame { start, body: body.into() }))
    }
}

fn le_u32(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u32::from(byte))
}

impl<'a> FrameWriter<'a> {
    /// Writes to a file from `at`, over whatever is there.
    pub(crate) fn new(file: &'a mut File, seed: u64, at: u64) -> io::Result<Self> {
        file.seek(SeekFrom::Start(at))?;
        Ok(Self { file, seed, at, buffer: vec![0; HEAD] })
    }

    /// Adds a record to the frame, and tells where in the file it begins and how long it is.
    pub(crate) fn record(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<(u64, u32)> {
        if self.buffer.len() >= FULL {
            self.write()?;
        }
        let before = self.buffer.len();
        write(&mut self.buffer);
        let length = self.buffer.len() - before;
        let short = u32::try_from(length).ok().filter(|_| length <= MAX_FRAME - FULL);
        let short =
            short.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the record is too long"))?;
        Ok((self.at + before as u64, short))
    }

    /// Writes the last frame, and tells where the next would begin.
    pub(crate) fn finish(mut self) -> io::Result<u64> {
        self.write()?;
        Ok(self.at)
    }

    fn write(&mut self) -> io::Result<()> {
        let (head, body) = self.buffer.split_at_mut(HEAD);
        let length = u32::try_from(body.len()).map_err(io::Error::other)?;
        head[..4].copy_from_slice(&length.to_le_bytes());
        head[4..].copy_from_slice(&checksum(self.seed, self.at, body).to_le_bytes());
        self.file.write_all(&self.buffer)?;
        self.at += self.buffer.len() as u64;
        self.buffer.truncate(HEAD);
        Ok(())
    }
}
