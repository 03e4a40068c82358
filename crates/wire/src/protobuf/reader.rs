//! Reads the fields of a protobuf message, one after the other.

use super::error::{Cause, ProtobufError};

/// A message up to where it has been read. What changes is one number, so that a reader is cheap to copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    /// The message, and all that stands before it.
    whole: &'a [u8],
    /// Where the next byte is.
    place: usize,
}

/// How a field is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    Varint = 0,
    Fixed64 = 1,
    Length = 2,
    Fixed32 = 5,
}

/// What stands before a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) number: u32,
    pub(crate) wire: Wire,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(whole: &'a [u8]) -> Self {
        Self { whole, place: 0 }
    }

    /// Where the next byte is.
    #[inline]
    pub(crate) fn offset(&self) -> usize {
        self.place
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.whole.get(self.place..).unwrap_or_default()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.place >= self.whole.len()
    }

    #[cold]
    pub(crate) fn error(&self, cause: Cause) -> ProtobufError {
        ProtobufError::at(self.place, cause)
    }

    /// The next tag; nothing at the end of the message.
    #[inline]
    pub(crate) fn tag(&mut self) -> Result<Option<Tag>, ProtobufError> {
        if self.is_empty() {
            return Ok(None);
        }
        let begin = self.place;
        Tag::new(self.varint()?, begin).map(Some)
    }

    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, ProtobufError> {
        if let Some(&byte @ 0..0x80) = self.whole.get(self.place) {
            self.place += 1;
            return Ok(u64::from(byte));
        }
        let (number, place) = long_varint(self.whole, self.place)?;
        self.place = place;
        Ok(number)
    }

    /// Bytes after their length.
    #[inline]
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], ProtobufError> {
        if let Some(&length @ 0..0x80) = self.whole.get(self.place) {
            let begin = self.place + 1;
            let end = begin + usize::from(length);
            if let Some(bytes) = self.whole.get(begin..end) {
                self.place = end;
                return Ok(bytes);
            }
        }
        let (bytes, place) = many_bytes(self.whole, self.place)?;
        self.place = place;
        Ok(bytes)
    }

    #[inline]
    pub(crate) fn text(&mut self) -> Result<&'a str, ProtobufError> {
        let bytes = self.bytes()?;
        std::str::from_utf8(bytes).map_err(|error| {
            ProtobufError::at(self.offset() - bytes.len() + error.valid_up_to(), Cause::Text)
        })
    }

    /// Takes a text; one that is wrong is left where it is.
    #[inline]
    pub(crate) fn take_text(&mut self) -> Option<&'a str> {
        let mut ahead = *self;
        let text = std::str::from_utf8(ahead.bytes().ok()?).ok()?;
        self.place = ahead.place;
        Some(text)
    }

    /// Takes a message that begins with a text of number 1; another one, or one that is wrong, is left where it is.
    #[inline]
    pub(crate) fn take_text_inside(&mut self) -> Option<&'a str> {
        let mut ahead = *self;
        let mut inside = ahead.message().ok()?;
        let text = inside.take(1 << 3 | Wire::Length as u8).then(|| inside.take_text()).flatten()?;
        self.place = ahead.place;
        Some(text)
    }

    /// A message after its length.
    #[inline]
    pub(crate) fn message(&mut self) -> Result<Self, ProtobufError> {
        let length = self.bytes()?.len();
        let place = self.place - length;
        Ok(Self { whole: &self.whole[..self.place], place })
    }

    pub(crate) fn fixed64(&mut self) -> Result<u64, ProtobufError> {
        let (bytes, _) = self.rest().split_first_chunk().ok_or_else(|| self.error(Cause::Early))?;
        self.place += 8;
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
            return Err(self.error(Cause::Early));
        }
        self.place += count;
        Ok(())
    }

    /// Skips a field, whose tag has been read, and every further one with the same tag right after it. Says how many.
    #[inline]
    pub(crate) fn skip_run(&mut self, tag: Tag) -> Result<usize, ProtobufError> {
        let mut count = 0;
        loop {
            self.skip(tag.wire)?;
            count += 1;
            let before = self.place;
            if self.tag()? != Some(tag) {
                self.place = before;
                return Ok(count);
            }
        }
    }

    /// Takes a field, whose tag has been read, if it is zero. No field that is known is of 32 bits.
    #[inline]
    pub(crate) fn take_zero(&mut self, wire: Wire) -> bool {
        let (is_zero, length) = match wire {
            Wire::Fixed64 => (self.rest().starts_with(&[0; 8]), 8),
            _ => (self.whole.get(self.place) == Some(&0), 1),
        };
        self.place += if is_zero { length } else { 0 };
        is_zero
    }

    /// Takes this byte if it comes next.
    #[inline]
    pub(crate) fn take(&mut self, byte: u8) -> bool {
        let is_next = self.whole.get(self.place) == Some(&byte);
        self.place += usize::from(is_next);
        is_next
    }

    /// Takes these bytes if they come next.
    pub(crate) fn take_all(&mut self, bytes: &[u8]) -> bool {
        let are_next = self.rest().starts_with(bytes);
        self.place += if are_next { bytes.len() } else { 0 };
        are_next
    }

    /// The first field with this number that is written so; the reader is left behind its tag.
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
    /// What a number at this place says as a tag.
    #[inline]
    pub(super) fn new(tag: u64, place: usize) -> Result<Self, ProtobufError> {
        let wire = match tag & 7 {
            0 => Wire::Varint,
            1 => Wire::Fixed64,
            2 => Wire::Length,
            5 => Wire::Fixed32,
            other => return Err(ProtobufError::at(place, Cause::Wire(other as u8))),
        };
        match tag >> 3 {
            number @ 1..=0x1fff_ffff => Ok(Self { number: number as u32, wire }),
            number => Err(ProtobufError::at(place, Cause::Field(number))),
        }
    }
}

/// A number of several bytes at this place, and the place behind it. The reader is not lent, so that it can stay in registers.
#[inline(never)]
fn long_varint(whole: &[u8], place: usize) -> Result<(u64, usize), ProtobufError> {
    let rest = whole.get(place..).unwrap_or_default();
    let mut number = 0;
    for (index, byte) in rest.iter().enumerate().take(10) {
        // The tenth byte has room for one bit.
        if index == 9 && *byte > 1 {
            break;
        }
        number |= u64::from(byte & 0x7f) << (7 * index);
        if *byte < 0x80 {
            return Ok((number, place + index + 1));
        }
    }
    let cause = if rest.len() < 10 { Cause::Early } else { Cause::Number };
    Err(ProtobufError::at(place, cause))
}

/// Bytes after their length of several bytes, and the place behind them.
#[inline(never)]
fn many_bytes(whole: &[u8], place: usize) -> Result<(&[u8], usize), ProtobufError> {
    let (length, begin) = long_varint(whole, place)?;
    let end = usize::try_from(length).ok().and_then(|length| begin.checked_add(length));
    let found = end.and_then(|end| Some((whole.get(begin..end)?, end)));
    found.ok_or_else(|| ProtobufError::at(place, Cause::Early))
}
