//! Frames: groups of records that are written and become visible together.
//!
//! The header of a frame has a checksum of its own, so that the next valid frame after a damaged part can be found by trying every
//! position. Both checksums include the position and the seed of the segment, so that a misplaced frame is invalid.

use std::{fs::File, io, ops::Range};
use twox_hash::XxHash3_64;

/// The size of length, header checksum and body checksum.
pub(crate) const HEAD: usize = 16;

/// The maximum size of a frame: one record with the largest object, and room for others.
pub(crate) const MAX_FRAME: usize = 80 << 20;

/// Reads the frames of a file in order.
#[derive(Debug)]
pub(crate) struct FrameScanner<'f> {
    file: &'f File,
    seed: u64,
    position: u64,
    end: u64,
}

/// A part of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Scanned {
    /// A valid frame.
    Frame { offset: u64, body: Vec<u8> },
    /// A damaged part before a valid frame.
    Damaged(Range<u64>),
    /// No further valid frame. The file may have further bytes, such as a partly written frame.
    End,
}

fn head_checksum(seed: u64, position: u64, length: u32) -> u32 {
    let hash = XxHash3_64::oneshot_with_seed(seed ^ position.rotate_left(24), &length.to_le_bytes());
    u32::try_from(hash & 0xffff_ffff).expect("it has 32 bits")
}

fn body_checksum(seed: u64, position: u64, body: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(seed ^ position.rotate_left(24), body)
}

/// Writes the header of a frame to the first [`HEAD`] bytes of `frame`.
pub(crate) fn seal(seed: u64, position: u64, frame: &mut [u8]) {
    let (head, body) = frame.split_at_mut(HEAD);
    let length = u32::try_from(body.len()).expect("frames are shorter than 4 GiB");
    head[..4].copy_from_slice(&length.to_le_bytes());
    head[4..8].copy_from_slice(&head_checksum(seed, position, length).to_le_bytes());
    head[8..].copy_from_slice(&body_checksum(seed, position, body).to_le_bytes());
}

/// Returns the length of the body that the header states; `None` if the header is invalid.
fn body_length(seed: u64, position: u64, head: &[u8]) -> Option<usize> {
    let length = u32::from_le_bytes(head.get(..4)?.try_into().ok()?);
    let check = u32::from_le_bytes(head.get(4..8)?.try_into().ok()?);
    let is_valid = length as usize <= MAX_FRAME && check == head_checksum(seed, position, length);
    is_valid.then_some(length as usize)
}

/// Reads the body of the frame at `position`; `None` if there is no valid frame before `end`.
pub(crate) fn read(file: &File, seed: u64, position: u64, end: u64) -> io::Result<Option<Vec<u8>>> {
    let available = end.saturating_sub(position);
    if available < HEAD as u64 {
        return Ok(None);
    }
    let mut head = [0; HEAD];
    read_exact_at(file, &mut head, position)?;
    let Some(length) = body_length(seed, position, &head) else { return Ok(None) };
    // Check the length against the file before allocating.
    if length as u64 > available - HEAD as u64 {
        return Ok(None);
    }
    let mut body = vec![0; length];
    read_exact_at(file, &mut body, position + HEAD as u64)?;
    let [.., c0, c1, c2, c3, c4, c5, c6, c7] = head;
    let checksum = u64::from_le_bytes([c0, c1, c2, c3, c4, c5, c6, c7]);
    Ok((body_checksum(seed, position, &body) == checksum).then_some(body))
}

impl<'f> FrameScanner<'f> {
    /// Creates a scanner for the frames between `position` and `end`.
    pub(crate) fn new(file: &'f File, seed: u64, position: u64, end: u64) -> Self {
        Self { file, seed, position, end }
    }

    /// Returns the position after the last valid frame.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    pub(crate) fn next(&mut self) -> io::Result<Scanned> {
        if let Some(body) = read(self.file, self.seed, self.position, self.end)? {
            let offset = self.position;
            self.position += (HEAD + body.len()) as u64;
            return Ok(Scanned::Frame { offset, body });
        }
        match self.find_next()? {
            None => Ok(Scanned::End),
            Some(next) => {
                let damaged = self.position..next;
                self.position = next;
                Ok(Scanned::Damaged(damaged))
            }
        }
    }

    /// Searches the next valid frame after the current position.
    fn find_next(&self) -> io::Result<Option<u64>> {
        const CHUNK: usize = 1 << 20;
        let mut start = self.position + 1;
        let mut chunk = vec![0; CHUNK + HEAD];
        while start + HEAD as u64 <= self.end {
            let length = usize::try_from(self.end - start).unwrap_or(usize::MAX).min(chunk.len());
            read_exact_at(self.file, &mut chunk[..length], start)?;
            for index in 0..=(length - HEAD).min(CHUNK - 1) {
                let position = start + index as u64;
                if body_length(self.seed, position, &chunk[index..length]).is_some()
                    && read(self.file, self.seed, position, self.end)?.is_some()
                {
                    return Ok(Some(position));
                }
            }
            start += CHUNK as u64;
        }
        Ok(None)
    }
}

#[cfg(unix)]
pub(crate) fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

#[cfg(windows)]
pub(crate) fn read_exact_at(file: &File, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, buffer, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                buffer = &mut buffer[read..];
                offset += read as u64;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const SEED: u64 = 7;

    fn frames(bodies: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for body in bodies {
            let mut frame = vec![0; HEAD];
            frame.extend_from_slice(body);
            seal(SEED, bytes.len() as u64, &mut frame);
            bytes.extend_from_slice(&frame);
        }
        bytes
    }

    /// Scans the bytes as a file; returns the bodies of the frames and the number of damaged parts.
    fn scan(bytes: &[u8]) -> (Vec<Vec<u8>>, usize) {
        let name = format!("history-frame-{}-{:?}", std::process::id(), std::thread::current().id());
        let path = std::env::temp_dir().join(name);
        File::create(&path).unwrap().write_all(bytes).unwrap();
        let file = File::open(&path).unwrap();
        let mut scanner = FrameScanner::new(&file, SEED, 0, bytes.len() as u64);
        let (mut bodies, mut damaged) = (Vec::new(), 0);
        loop {
            match scanner.next().unwrap() {
                Scanned::Frame { body, .. } => bodies.push(body),
                Scanned::Damaged(_) => damaged += 1,
                Scanned::End => break,
            }
        }
        std::fs::remove_file(path).unwrap();
        (bodies, damaged)
    }

    #[test]
    fn a_flipped_bit_loses_only_its_frame() {
        let bytes = frames(&[b"first", b"", b"second frame", b"third"]);
        let expected = [&b"first"[..], b"", b"second frame", b"third"].map(<[u8]>::to_vec);
        assert_eq!(scan(&bytes), (expected.to_vec(), 0));
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let (bodies, parts) = scan(&damaged);
            let is_last = bit / 8 >= bytes.len() - HEAD - 5;
            assert_eq!((bodies.len(), parts), (3, usize::from(!is_last)), "bit {bit}");
            assert!(bodies.iter().all(|body| expected.contains(body)));
        }
    }

    #[test]
    fn a_truncated_file_has_the_frames_before_the_end() {
        let bodies: [&[u8]; 3] = [b"first", b"second frame", b"third"];
        let bytes = frames(&bodies);
        for length in 0..bytes.len() {
            let (found, damaged) = scan(&bytes[..length]);
            let mut end = 0;
            let complete = bodies.iter().take_while(|body| {
                end += HEAD + body.len();
                end <= length
            });
            assert_eq!((found.len(), damaged), (complete.count(), 0), "length {length}");
        }
    }
}
