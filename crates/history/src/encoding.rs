//! Numbers, text and versions in records, in as few bytes as possible.

use kube_informer_wire::{Key, ResourceVersion};

/// The bytes of a record are invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Writes a number as LEB128.
pub(crate) fn put_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

/// Writes a signed number, small if its absolute value is small.
pub(crate) fn put_signed(number: i64, out: &mut Vec<u8>) {
    put_number((number.wrapping_shl(1) ^ (number >> 63)).cast_unsigned(), out);
}

pub(crate) fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_number(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

const NO_VERSION: u64 = 0;
const TEXT_VERSION: u64 = 1;

/// Writes a version as the difference from `base`, if it is a number.
pub(crate) fn put_version(version: Option<&ResourceVersion>, base: u64, out: &mut Vec<u8>) {
    let Some(version) = version else { return put_number(NO_VERSION, out) };
    let difference = version.to_number().and_then(|number| {
        let difference = i64::try_from(i128::from(number) - i128::from(base)).ok()?;
        let zigzag = (difference.wrapping_shl(1) ^ (difference >> 63)).cast_unsigned();
        zigzag.checked_add(2)
    });
    match difference {
        Some(difference) => put_number(difference, out),
        None => {
            put_number(TEXT_VERSION, out);
            put_bytes(version.to_string().as_bytes(), out);
        }
    }
}

/// Reads values in the order in which they were written.
#[derive(Clone, Debug)]
pub(crate) struct Input<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Input<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    /// Creates an input that starts at `position`.
    pub(crate) fn at(bytes: &'a [u8], position: usize) -> Self {
        Self { bytes, position: position.min(bytes.len()) }
    }

    pub(crate) fn position(&self) -> usize {
        self.position
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.position == self.bytes.len()
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Malformed> {
        let byte = *self.bytes.get(self.position).ok_or(Malformed)?;
        self.position += 1;
        Ok(byte)
    }

    pub(crate) fn number(&mut self) -> Result<u64, Malformed> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(Malformed);
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Malformed)
    }

    pub(crate) fn number_u32(&mut self) -> Result<u32, Malformed> {
        u32::try_from(self.number()?).map_err(|_| Malformed)
    }

    pub(crate) fn signed(&mut self) -> Result<i64, Malformed> {
        let number = self.number()?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let end = self.position.checked_add(length).ok_or(Malformed)?;
        let taken = self.bytes.get(self.position..end).ok_or(Malformed)?;
        self.position = end;
        Ok(taken)
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = usize::try_from(self.number()?).map_err(|_| Malformed)?;
        self.take(length)
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, Malformed> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Malformed)
    }

    pub(crate) fn key(&mut self) -> Result<Key, Malformed> {
        self.text()?.parse().map_err(|_| Malformed)
    }

    pub(crate) fn version(&mut self, base: u64) -> Result<Option<ResourceVersion>, Malformed> {
        match self.number()? {
            NO_VERSION => Ok(None),
            TEXT_VERSION => self.text()?.parse().map(Some).map_err(|_| Malformed),
            number => {
                let zigzag = number - 2;
                let difference = (zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed();
                let version = u64::try_from(i128::from(base) + i128::from(difference));
                version.map(|number| Some(ResourceVersion::number(number))).map_err(|_| Malformed)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn values_are_read_as_they_were_written(number: u64, signed: i64, text in ".{0,20}", version: u64, base: u64) {
            let mut out = Vec::new();
            put_number(number, &mut out);
            put_signed(signed, &mut out);
            put_bytes(text.as_bytes(), &mut out);
            put_version(Some(&ResourceVersion::number(version)), base, &mut out);
            put_version(None, base, &mut out);
            put_version(Some(&"opaque".parse().unwrap()), base, &mut out);
            let mut input = Input::new(&out);
            prop_assert_eq!(input.number(), Ok(number));
            prop_assert_eq!(input.signed(), Ok(signed));
            prop_assert_eq!(input.text(), Ok(&*text));
            prop_assert_eq!(input.version(base), Ok(Some(ResourceVersion::number(version))));
            prop_assert_eq!(input.version(base), Ok(None));
            prop_assert_eq!(input.version(base).unwrap().unwrap().to_string(), "opaque");
            prop_assert!(input.is_empty());
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>, base: u64) {
            let mut input = Input::new(&bytes);
            while input.number().is_ok() && input.version(base).is_ok() && input.text().is_ok() {}
        }
    }
}
