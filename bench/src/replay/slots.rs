//! The places in an encoded object that are written anew each time it is sent.

use memchr::memmem;

/// A version as it stands in an object before it is sent: all are of the same length.
pub(super) const VERSION: &str = "9182736450";
/// A time as it stands in an object before it is sent.
pub(super) const SENT: &str = "00000000055555000000";

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
    fn what_stands_twice_is_no_slot() {
        assert!(Slots::find(format!("{VERSION}{SENT}{VERSION}").as_bytes()).is_none());
    }
}
