//! Reads the fields of a protobuf message.

use super::error::{Cause, ProtobufError};

/// A message, and the current position in it. It is cheap to copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    /// The bytes up to the end of the message.
    whole: &'a [u8],
    /// The offset of the next byte.
    position: usize,
}

/// The wire type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    Varint = 0,
    Fixed64 = 1,
    Length = 2,
    Fixed32 = 5,
}

/// The tag of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) number: u32,
    pub(crate) wire: Wire,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(whole: &'a [u8]) -> Self {
        Self { whole, position: 0 }
    }

    /// Returns the offset of the next byte.
    #[inline]
    pub(crate) fn offset(&self) -> usize {
        self.position
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.whole.get(self.position..).unwrap_or_default()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.position >= self.whole.len()
    }

    #[cold]
    pub(crate) fn error(&self, cause: Cause) -> ProtobufError {
        ProtobufError::at(self.position, cause)
    }

    /// Reads the next tag; `None` at the end of the message.
    #[inline]
    pub(crate) fn tag(&mut self) -> Result<Option<Tag>, ProtobufError> {
        if self.is_empty() {
            return Ok(None);
        }
        let begin = self.position;
        Tag::new(self.varint()?, begin).map(Some)
    }

    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, ProtobufError> {
        if let Some(&byte @ 0..0x80) = self.whole.get(self.position) {
            self.position += 1;
            return Ok(u64::from(byte));
        }
        let (number, position) = long_varint(self.whole, self.position)?;
        self.position = position;
        Ok(number)
    }

    /// Reads bytes with their length.
    #[inline]
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], ProtobufError> {
        if let Some(&length @ 0..0x80) = self.whole.get(self.position) {
            let begin = self.position + 1;
            let end = begin + usize::from(length);
            if let Some(bytes) = self.whole.get(begin..end) {
                self.position = end;
                return Ok(bytes);
            }
        }
        let (bytes, position) = many_bytes(self.whole, self.position)?;
        self.position = position;
        Ok(bytes)
    }

    #[inline]
    pub(crate) fn text(&mut self) -> Result<&'a str, ProtobufError> {
        let bytes = self.bytes()?;
        std::str::from_utf8(bytes).map_err(|error| {
            ProtobufError::at(self.offset() - bytes.len() + error.valid_up_to(), Cause::Utf8)
        })
    }

    /// Reads text if it is valid.
    #[inline]
    pub(crate) fn take_text(&mut self) -> Option<&'a str> {
        let mut ahead = *self;
        let text = std::str::from_utf8(ahead.bytes().ok()?).ok()?;
        self.position = ahead.position;
        Some(text)
    }

    /// Reads a message if it starts with valid text in field 1, and returns that.
    #[inline]
    pub(crate) fn take_text_inside(&mut self) -> Option<&'a str> {
        let mut ahead = *self;
        let mut inside = ahead.message().ok()?;
        let text = inside.take(1 << 3 | Wire::Length as u8).then(|| inside.take_text()).flatten()?;
        self.position = ahead.position;
        Some(text)
    }

    /// Reads a message with its length.
    #[inline]
    pub(crate) fn message(&mut self) -> Result<Self, ProtobufError> {
        let length = self.bytes()?.len();
        let position = self.position - length;
        Ok(Self { whole: &self.whole[..self.position], position })
    }

    pub(crate) fn fixed64(&mut self) -> Result<u64, ProtobufError> {
        let (bytes, _) = self.rest().split_first_chunk().ok_or_else(|| self.error(Cause::UnexpectedEnd))?;
        self.position += 8;
        Ok(u64::from_le_bytes(*bytes))
    }

    #[inline]
    pub(crate) fn skip(&mut self, wire: Wire) -> Result<(), ProtobufError> {
        match wire {
            Wire::Varint => self.varint().map(drop),
            Wire::Length => self.bytes().map(drop),
            Wire::Fixed64 => self.skip_bytes(8),
            Wire::Fixed32 => self.skip_bytes(4),
        }
    }

    fn skip_bytes(&mut self, count: usize) -> Result<(), ProtobufError> {
        if self.rest().len() < count {
            return Err(self.error(Cause::UnexpectedEnd));
        }
        self.position += count;
        Ok(())
    }

    /// Skips consecutive fields with the same tag, of which the first tag has been read, and returns their number.
    #[inline]
    pub(crate) fn skip_repeated(&mut self, tag: Tag) -> Result<usize, ProtobufError> {
        let mut count = 0;
        loop {
            self.skip(tag.wire)?;
            count += 1;
            let before = self.position;
            if self.tag()? != Some(tag) {
                self.position = before;
                return Ok(count);
            }
        }
    }

    /// Skips a field, whose tag has been read, if it is zero. No known field has 32 bits.
    #[inline]
    pub(crate) fn take_zero(&mut self, wire: Wire) -> bool {
        let (is_zero, length) = match wire {
            Wire::Fixed64 => (self.rest().starts_with(&[0; 8]), 8),
            _ => (self.whole.get(self.position) == Some(&0), 1),
        };
        self.position += if is_zero { length } else { 0 };
        is_zero
    }

    /// Skips the next byte if it is this one.
    #[inline]
    pub(crate) fn take(&mut self, byte: u8) -> bool {
        let is_next = self.whole.get(self.position) == Some(&byte);
        self.position += usize::from(is_next);
        is_next
    }

    /// Skips the next bytes if they are these.
    pub(crate) fn take_all(&mut self, bytes: &[u8]) -> bool {
        let are_next = self.rest().starts_with(bytes);
        self.position += if are_next { bytes.len() } else { 0 };
        are_next
    }

    /// Finds the first field with this number and wire type, and returns a reader after its tag.
    pub(crate) fn find(mut self, number: u32, wire: Wire) -> Result<Option<Self>, ProtobufError> {
        while let Some(tag) = self.tag()? {
            if tag == (Tag { number, wire }) {
                return Ok(Some(self));
            }
            self.skip(tag.wire)?;
        }
        Ok(None)
    }
}

impl Tag {
    /// Parses a tag.
    #[inline]
    pub(super) fn new(tag: u64, position: usize) -> Result<Self, ProtobufError> {
        let wire = match tag & 7 {
            0 => Wire::Varint,
            1 => Wire::Fixed64,
            2 => Wire::Length,
            5 => Wire::Fixed32,
            other => return Err(ProtobufError::at(position, Cause::WireType(other as u8))),
        };
        match tag >> 3 {
            number @ 1..=0x1fff_ffff => Ok(Self { number: number as u32, wire }),
            number => Err(ProtobufError::at(position, Cause::FieldNumber(number))),
        }
    }
}

/// Reads a number of several bytes, and returns the position after it. The reader is not borrowed, so that it stays in
/// registers.
#[inline(never)]
fn long_varint(whole: &[u8], position: usize) -> Result<(u64, usize), ProtobufError> {
    let rest = whole.get(position..).unwrap_or_default();
    let mut number = 0;
    for (index, byte) in rest.iter().enumerate().take(10) {
        // The tenth byte has one bit.
        if index == 9 && *byte > 1 {
            break;
        }
        number |= u64::from(byte & 0x7f) << (7 * index);
        if *byte < 0x80 {
            return Ok((number, position + index + 1));
        }
    }
    let cause = if rest.len() < 10 { Cause::UnexpectedEnd } else { Cause::VarintTooLong };
    Err(ProtobufError::at(position, cause))
}

/// Reads bytes with a length of several bytes, and returns the position after them.
#[inline(never)]
fn many_bytes(whole: &[u8], position: usize) -> Result<(&[u8], usize), ProtobufError> {
    let (length, begin) = long_varint(whole, position)?;
    let end = usize::try_from(length).ok().and_then(|length| begin.checked_add(length));
    let found = end.and_then(|end| Some((whole.get(begin..end)?, end)));
    found.ok_or_else(|| ProtobufError::at(position, Cause::UnexpectedEnd))
}
