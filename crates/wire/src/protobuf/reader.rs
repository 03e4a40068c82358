//! Reads the fields of a protobuf message, one after the other.

use super::error::{Cause, ProtobufError};

/// The rest of a message, and where that is in the whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    /// The offset, in the whole, of the byte after the rest.
    end: usize,
}

/// How a field is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    Varint,
    Fixed64,
    Length,
    Fixed32,
}

/// What stands before a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) number: u64,
    pub(crate) wire: Wire,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(whole: &'a [u8]) -> Self {
        Self { rest: whole, end: whole.len() }
    }

    /// Where the next byte is.
    pub(crate) fn offset(&self) -> usize {
        self.end - self.rest.len()
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    #[cold]
    pub(crate) fn error(&self, cause: Cause) -> ProtobufError {
        ProtobufError::at(self.offset(), cause)
    }

    /// An error at the byte before which so many were left. To remember their number is cheaper than the reader.
    #[cold]
    fn error_before(&self, left: usize, cause: Cause) -> ProtobufError {
        ProtobufError::at(self.end - left, cause)
    }

    /// The next tag; nothing at the end of the message.
    #[inline]
    pub(crate) fn tag(&mut self) -> Result<Option<Tag>, ProtobufError> {
        let left = self.rest.len();
        if left == 0 {
            return Ok(None);
        }
        let tag = self.varint()?;
        let wire = match tag & 7 {
            0 => Wire::Varint,
            1 => Wire::Fixed64,
            2 => Wire::Length,
            5 => Wire::Fixed32,
            other => return Err(self.error_before(left, Cause::Wire(other as u8))),
        };
        match tag >> 3 {
            number @ 1..=0x1fff_ffff => Ok(Some(Tag { number, wire })),
            number => Err(self.error_before(left, Cause::Field(number))),
        }
    }

    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, ProtobufError> {
        match self.rest {
            [byte, rest @ ..] if *byte < 0x80 => {
                self.rest = rest;
                Ok(u64::from(*byte))
            }
            [low, high, rest @ ..] if *high < 0x80 => {
                self.rest = rest;
                Ok(u64::from(low & 0x7f) | u64::from(*high) << 7)
            }
            _ => self.long_varint(),
        }
    }

    #[inline(never)]
    fn long_varint(&mut self) -> Result<u64, ProtobufError> {
        let mut number = 0;
        for (place, byte) in self.rest.iter().enumerate().take(10) {
            // The tenth byte has room for one bit.
            if place == 9 && *byte > 1 {
                break;
            }
            number |= u64::from(byte & 0x7f) << (7 * place);
            if *byte < 0x80 {
                self.rest = &self.rest[place + 1..];
                return Ok(number);
            }
        }
        let cause = if self.rest.len() < 10 { Cause::Early } else { Cause::Number };
        Err(self.error(cause))
    }

    /// Bytes after their length.
    #[inline]
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], ProtobufError> {
        let left = self.rest.len();
        let length = self.varint()?;
        let split = usize::try_from(length).ok().and_then(|length| self.rest.split_at_checked(length));
        let Some((bytes, rest)) = split else { return Err(self.error_before(left, Cause::Early)) };
        self.rest = rest;
        Ok(bytes)
    }

    #[inline]
    pub(crate) fn text(&mut self) -> Result<&'a str, ProtobufError> {
        let bytes = self.bytes()?;
        std::str::from_utf8(bytes).map_err(|error| {
            ProtobufError::at(self.offset() - bytes.len() + error.valid_up_to(), Cause::Text)
        })
    }

    /// A message after its length.
    #[inline]
    pub(crate) fn message(&mut self) -> Result<Self, ProtobufError> {
        let bytes = self.bytes()?;
        Ok(Self { rest: bytes, end: self.offset() })
    }

    pub(crate) fn fixed64(&mut self) -> Result<u64, ProtobufError> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or_else(|| self.error(Cause::Early))?;
        self.rest = rest;
        Ok(u64::from_le_bytes(*bytes))
    }

    #[inline]
    pub(crate) fn skip(&mut self, wire: Wire) -> Result<(), ProtobufError> {
        let fixed = |count| self.rest.get(count..).ok_or_else(|| self.error(Cause::Early));
        match wire {
            Wire::Varint => _ = self.varint()?,
            Wire::Length => _ = self.bytes()?,
            Wire::Fixed64 => self.rest = fixed(8)?,
            Wire::Fixed32 => self.rest = fixed(4)?,
        }
        Ok(())
    }

    /// Skips a field, whose tag has been read, and every further one with the same tag right after it. Says how many.
    #[inline]
    pub(crate) fn skip_run(&mut self, tag: Tag) -> Result<usize, ProtobufError> {
        let mut count = 0;
        loop {
            self.skip(tag.wire)?;
            count += 1;
            let before = self.rest;
            if self.tag()? != Some(tag) {
                self.rest = before;
                return Ok(count);
            }
        }
    }

    /// Takes these bytes if they come next.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> bool {
        let rest = self.rest.strip_prefix(bytes);
        rest.map(|rest| self.rest = rest).is_some()
    }

    /// The first field with this number that is written so; the reader is left behind its tag.
    pub(crate) fn find(mut self, number: u64, wire: Wire) -> Result<Option<Self>, ProtobufError> {
        while let Some(tag) = self.tag()? {
            if tag == (Tag { number, wire }) {
                return Ok(Some(self));
            }
            self.skip(tag.wire)?;
        }
        Ok(None)
    }
}
