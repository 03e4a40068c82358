//! The parts of an encoded object that are overwritten when it is sent: version and time.

use bytes::{Bytes, BytesMut};
use kube_informer_bench_client::recorder::now;
use memchr::memmem;

/// The version of an encoded object; all versions have the same length.
pub(super) const VERSION: &str = "9182736450";
/// The time of an encoded object.
pub(super) const SENT: &str = "00000000055555000000";
/// The same as a number, for objects whose time is set when they are written to the socket.
pub(super) const UNSENT: u64 = 55_555_000_000;

/// A part of a response.
#[derive(Clone, Debug)]
pub(super) enum Chunk {
    Complete(Bytes),
    /// One event, whose time is set when it is written to the socket, so that the latency excludes the threads of the server.
    Unsent(Bytes),
}

impl Chunk {
    /// Returns the bytes to write now.
    pub(super) fn into_bytes(self) -> Bytes {
        match self {
            Self::Complete(bytes) => bytes,
            Self::Unsent(bytes) => {
                let mut bytes = bytes.try_into_mut().unwrap_or_else(|shared| BytesMut::from(&shared[..]));
                if let Some(at) = memmem::find(&bytes, SENT.as_bytes()) {
                    write_digits(&mut bytes[at..][..SENT.len()], now());
                }
                bytes.freeze()
            }
        }
    }
}

/// The positions of version and time in an encoded object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placeholders {
    version: u32,
    sent: u32,
}

impl Placeholders {
    /// Returns `None` unless each placeholder occurs exactly once.
    pub(super) fn find(bytes: &[u8]) -> Option<Self> {
        Some(Self { version: find_once(bytes, VERSION)?, sent: find_once(bytes, SENT)? })
    }

    /// Writes version and time into a copy of the object.
    pub(super) fn fill(self, object: &mut [u8], version: u64, sent: u64) {
        write_digits(&mut object[self.version as usize..][..VERSION.len()], version);
        write_digits(&mut object[self.sent as usize..][..SENT.len()], sent);
    }
}

fn find_once(bytes: &[u8], wanted: &str) -> Option<u32> {
    let mut found = memmem::find_iter(bytes, wanted);
    let first = found.next()?;
    found.next().is_none().then_some(u32::try_from(first).ok()?)
}

fn write_digits(target: &mut [u8], mut number: u64) {
    for digit in target.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_overwritten() {
        let mut object = format!("a{VERSION}b{SENT}c").into_bytes();
        let placeholders = Placeholders::find(&object).unwrap();
        placeholders.fill(&mut object, 7, 12);
        assert_eq!(object, b"a0000000007b00000000000000000012c");
    }

    #[test]
    fn the_time_is_set_when_an_event_is_sent() {
        let object: Bytes = format!("a{SENT}b").into();
        assert_eq!(Chunk::Complete(object.clone()).into_bytes(), object);
        let before = now();
        // Two watches share the bytes, and each gets its own time.
        for chunk in [Chunk::Unsent(object.clone()), Chunk::Unsent(object)] {
            let bytes = chunk.into_bytes();
            let sent: u64 = str::from_utf8(&bytes[1..21]).unwrap().parse().unwrap();
            assert!((before..=now()).contains(&sent) && bytes.starts_with(b"a") && bytes.ends_with(b"b"));
        }
        let mut unsent = vec![b'-'; SENT.len()];
        write_digits(&mut unsent, UNSENT);
        assert_eq!(unsent, SENT.as_bytes());
    }

    #[test]
    fn an_ambiguous_placeholder_is_rejected() {
        assert!(Placeholders::find(format!("{VERSION}{SENT}{VERSION}").as_bytes()).is_none());
    }
}
