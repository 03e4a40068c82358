//! Fields with the same tag, one after the other: the elements of a list or the entries of a map.

use super::{
    error::{Cause, ProtobufError as Error},
    place::{Next, Place, Skip},
    reader::{Reader, Tag, Wire},
    table::Value,
};

/// So many elements of a list or map would not fit into an object that the API server takes.
const MAX_ELEMENTS: usize = 1 << 19;

/// Some fields with the same tag, up to where they have been read.
#[derive(Clone, Copy, Debug)]
struct Run {
    tag: Tag,
    /// How many there are.
    count: usize,
    /// How many have been come to.
    taken: usize,
}

impl Run {
    /// Passes over a run, of which the first tag has been read.
    #[inline]
    fn new(reader: &mut Reader<'_>, tag: Tag) -> Result<Self, Error> {
        let begin = reader.offset();
        let count = reader.skip_run(tag)?;
        if count > MAX_ELEMENTS {
            return Err(Error::at(begin, Cause::Many(MAX_ELEMENTS)));
        }
        Ok(Self { tag, count, taken: 0 })
    }

    /// Goes on to the next one, if there is one, and reads its tag.
    #[inline]
    fn advance(&mut self, reader: &mut Reader<'_>) -> Result<bool, Error> {
        if self.count == self.taken {
            return Ok(false);
        }
        self.taken += 1;
        if self.taken > 1 && reader.tag()? != Some(self.tag) {
            return Err(reader.error(Cause::Astray));
        }
        Ok(true)
    }
}

/// The elements of a list.
#[derive(Debug)]
pub(crate) struct Elements<'de> {
    run: Run,
    /// The next element, behind its tag if it is the first or has been come to.
    place: Place<'de>,
}

impl<'de> Elements<'de> {
    /// Takes a list, of which the first tag has been read, out of a message.
    #[inline]
    pub(crate) fn new(reader: &mut Reader<'de>, tag: Tag, value: Value, depth: u8) -> Result<Self, Error> {
        let place = Place { reader: *reader, next: Next::Element(value), skip: Skip::Nothing, depth };
        Ok(Self { run: Run::new(reader, tag)?, place })
    }

    /// Goes on to the next element.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<bool, Error> {
        self.run.advance(&mut self.place.reader)
    }

    /// The element that was come to last.
    #[inline]
    pub(crate) fn place(&mut self) -> &mut Place<'de> {
        &mut self.place
    }

    /// Which one that is.
    pub(crate) fn index(&self) -> usize {
        self.run.taken.saturating_sub(1)
    }

    /// How many are left.
    pub(crate) fn left(&self) -> usize {
        self.run.count - self.run.taken
    }
}

/// The tags of key and value in an entry of a map from text to text or messages.
const KEY: u8 = 1 << 3 | Wire::Length as u8;
const VALUE: u8 = 2 << 3 | Wire::Length as u8;

/// The entries of a map, each a message of key and value.
#[derive(Debug)]
pub(crate) struct Entries<'de> {
    run: Run,
    /// The next entry, behind its tag if it is the first.
    reader: Reader<'de>,
    wire: Wire,
    key: &'de str,
    /// The value of the entry that was come to last.
    place: Place<'de>,
}

impl<'de> Entries<'de> {
    /// Takes a map, of which the first tag has been read, out of a message.
    #[inline]
    pub(crate) fn new(reader: &mut Reader<'de>, tag: Tag, value: Value, depth: u8) -> Result<Self, Error> {
        let place = Place { depth, ..Place::of(Next::Element(value)) };
        let begin = *reader;
        Ok(Self { run: Run::new(reader, tag)?, reader: begin, wire: value.wire(), key: "", place })
    }

    /// Goes on to the next entry.
    pub(crate) fn advance(&mut self) -> Result<bool, Error> {
        if !self.run.advance(&mut self.reader)? {
            return Ok(false);
        }
        let mut entry = self.reader.message()?;
        if self.take_usual(entry) {
            return Ok(true);
        }
        // An entry without a value has that of which every byte is zero.
        (self.key, self.place.reader) = ("", Reader::new(&[0; 8]));
        while let Some(tag) = entry.tag()? {
            match tag {
                Tag { number: 1, wire: Wire::Length } => self.key = entry.text()?,
                Tag { number: 2, wire } if wire == self.wire => {
                    self.place.reader = entry;
                    entry.skip(wire)?;
                }
                Tag { wire, .. } => entry.skip(wire)?,
            }
        }
        Ok(true)
    }

    /// Takes an entry of key and value, as Go writes them. One that is otherwise, or wrong, is left to the long way.
    #[inline]
    fn take_usual(&mut self, mut entry: Reader<'de>) -> bool {
        if self.wire != Wire::Length || !entry.take(KEY) {
            return false;
        }
        let Some(key) = entry.take_text() else { return false };
        let is_value = entry.take(VALUE);
        let value = entry;
        let is_usual = is_value && entry.skip(Wire::Length).is_ok() && entry.is_empty();
        if is_usual {
            (self.key, self.place.reader) = (key, value);
        }
        is_usual
    }

    /// The value of the entry that was come to last.
    #[inline]
    pub(crate) fn place(&mut self) -> &mut Place<'de> {
        &mut self.place
    }

    /// The key of that entry.
    #[inline]
    pub(crate) fn key(&self) -> &'de str {
        self.key
    }

    /// How many are left.
    pub(crate) fn left(&self) -> usize {
        self.run.count - self.run.taken
    }
}
