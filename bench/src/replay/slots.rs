//! The places in an encoded object that are written anew each time it is sent.

use bytes::{Bytes, BytesMut};
use kube_informer_bench_client::seen::now;
use memchr::memmem;

/// A version as it stands in an object before it is sent: all are of the same length.
pub(super) const VERSION: &str = "9182736450";
/// A time as it stands in an object before it is sent.
pub(super) const SENT: &str = "00000000055555000000";
/// The same as a number: an object with this is not sent yet.
pub(super) const UNSENT: u64 = 55_555_000_000;

/// What is written to somebody at once.
#[derive(Clone, Debug)]
pub(super) enum Chunk {
    /// All of it stands.
    Ready(Bytes),
    /// One event, which says when it is written: the way from who makes it to who writes it is none of the client's.
    Unsent(Bytes),
}

impl Chunk {
    /// The bytes, as they are to be written now.
    pub(super) fn into_bytes(self) -> Bytes {
        match self {
            Self::Ready(bytes) => bytes,
            Self::Unsent(bytes) => {
                let mut bytes = bytes.try_into_mut().unwrap_or_else(|shared| BytesMut::from(&shared[..]));
                if let Some(at) = memmem::find(&bytes, SENT.as_bytes()) {
                    digits(&mut bytes[at..][..SENT.len()], now());
                }
                bytes.freeze()
            }
        }
    }
}

/// Where version and time stand in the bytes of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slots {
    version: u32,
    sent: u32,
}

impl Slots {
    /// Finds them; nothing unless each is there exactly once.
    pub(super) fn find(bytes: &[u8]) -> Option<Self> {
        Some(Self { version: only(bytes, VERSION)?, sent: only(bytes, SENT)? })
    }

    /// Writes version and time into a copy of the object.
    pub(super) fn fill(self, object: &mut [u8], version: u64, sent: u64) {
        digits(&mut object[self.version as usize..][..VERSION.len()], version);
        digits(&mut object[self.sent as usize..][..SENT.len()], sent);
    }
}

fn only(bytes: &[u8], wanted: &str) -> Option<u32> {
    let mut found = memmem::find_iter(bytes, wanted);
    let first = found.next()?;
    found.next().is_none().then_some(u32::try_from(first).ok()?)
}

fn digits(place: &mut [u8], mut number: u64) {
    for digit in place.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_filled_in_place() {
        let mut object = format!("a{VERSION}b{SENT}c").into_bytes();
        let slots = Slots::find(&object).unwrap();
        slots.fill(&mut object, 7, 12);
        assert_eq!(object, b"a0000000007b00000000000000000012c");
    }

    #[test]
    fn what_is_not_sent_yet_is_stamped_when_it_is() {
        let object: Bytes = format!("a{SENT}b").into();
        assert_eq!(Chunk::Ready(object.clone()).into_bytes(), object);
        let before = now();
        // Others have the same one, and their own time.
        for chunk in [Chunk::Unsent(object.clone()), Chunk::Unsent(object)] {
            let bytes = chunk.into_bytes();
            let sent: u64 = str::from_utf8(&bytes[1..21]).unwrap().parse().unwrap();
            assert!((before..=now()).contains(&sent) && bytes.starts_with(b"a") && bytes.ends_with(b"b"));
        }
        let mut unsent = vec![b'-'; SENT.len()];
        digits(&mut unsent, UNSENT);
        assert_eq!(unsent, SENT.as_bytes());
    }

    #[test]
    fn what_stands_twice_is_no_slot() {
        assert!(Slots::find(format!("{VERSION}{SENT}{VERSION}").as_bytes()).is_none());
    }
}
