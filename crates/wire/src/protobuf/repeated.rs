//! Repeated fields: the elements of a list and the entries of a map.

use super::{
    error::{Cause, ProtobufError as Error},
    reader::{Reader, Tag, Wire},
    table::Value,
    value_ref::{Next, Skip, ValueRef},
};

/// The maximum number of elements of a list or map; more do not fit into an object that the API server accepts.
const MAX_ELEMENTS: usize = 1 << 19;

/// Consecutive fields with the same tag.
#[derive(Clone, Copy, Debug)]
struct Repeated {
    tag: Tag,
    /// The number of fields.
    count: usize,
    /// The number of fields up to the current one.
    taken: usize,
}

impl Repeated {
    /// Counts the fields, of which the first tag has been read, and skips them.
    #[inline]
    fn new(reader: &mut Reader<'_>, tag: Tag) -> Result<Self, Error> {
        let begin = reader.offset();
        let count = reader.skip_repeated(tag)?;
        if count > MAX_ELEMENTS {
            return Err(Error::at(begin, Cause::TooManyElements(MAX_ELEMENTS)));
        }
        Ok(Self { tag, count, taken: 0 })
    }

    /// Reads the tag of the next field; returns `false` after the last one.
    #[inline]
    fn advance(&mut self, reader: &mut Reader<'_>) -> Result<bool, Error> {
        if self.count == self.taken {
            return Ok(false);
        }
        self.taken += 1;
        if self.taken > 1 && reader.tag()? != Some(self.tag) {
            return Err(reader.error(Cause::Moved));
        }
        Ok(true)
    }
}

/// The elements of a list.
#[derive(Debug)]
pub(crate) struct Elements<'de> {
    fields: Repeated,
    /// The current element; before the first one, the first.
    current: ValueRef<'de>,
}

impl<'de> Elements<'de> {
    /// Creates the elements of the list whose first tag has been read, and moves `reader` after them.
    #[inline]
    pub(crate) fn new(reader: &mut Reader<'de>, tag: Tag, value: Value, depth: u8) -> Result<Self, Error> {
        let current = ValueRef { reader: *reader, next: Next::Element(value), skip: Skip::Nothing, depth };
        Ok(Self { fields: Repeated::new(reader, tag)?, current })
    }

    /// Moves to the next element; returns `false` after the last one.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<bool, Error> {
        self.fields.advance(&mut self.current.reader)
    }

    /// Returns the current element.
    #[inline]
    pub(crate) fn value(&mut self) -> &mut ValueRef<'de> {
        &mut self.current
    }

    /// Returns the index of the current element.
    pub(crate) fn index(&self) -> usize {
        self.fields.taken.saturating_sub(1)
    }

    /// Returns the number of elements after the current one.
    pub(crate) fn remaining(&self) -> usize {
        self.fields.count - self.fields.taken
    }
}

/// The tags of key and value in an entry of a map from text to text or messages.
const KEY: u8 = 1 << 3 | Wire::Length as u8;
const VALUE: u8 = 2 << 3 | Wire::Length as u8;

/// The entries of a map, each a message of key and value.
#[derive(Debug)]
pub(crate) struct Entries<'de> {
    fields: Repeated,
    /// The next entry; before the first one, after its tag.
    reader: Reader<'de>,
    wire: Wire,
    key: &'de str,
    /// The value of the current entry.
    current: ValueRef<'de>,
}

impl<'de> Entries<'de> {
    /// Creates the entries of the map whose first tag has been read, and moves `reader` after them.
    #[inline]
    pub(crate) fn new(reader: &mut Reader<'de>, tag: Tag, value: Value, depth: u8) -> Result<Self, Error> {
        let current = ValueRef { depth, ..ValueRef::of(Next::Element(value)) };
        let begin = *reader;
        Ok(Self { fields: Repeated::new(reader, tag)?, reader: begin, wire: value.wire(), key: "", current })
    }

    /// Moves to the next entry; returns `false` after the last one.
    pub(crate) fn advance(&mut self) -> Result<bool, Error> {
        if !self.fields.advance(&mut self.reader)? {
            return Ok(false);
        }
        let mut entry = self.reader.message()?;
        if self.take_simple(entry) {
            return Ok(true);
        }
        // A missing value is zero.
        (self.key, self.current.reader) = ("", Reader::new(&[0; 8]));
        while let Some(tag) = entry.tag()? {
            match tag {
                Tag { number: 1, wire: Wire::Length } => self.key = entry.text()?,
                Tag { number: 2, wire } if wire == self.wire => {
                    self.current.reader = entry;
                    entry.skip(wire)?;
                }
                Tag { wire, .. } => entry.skip(wire)?,
            }
        }
        Ok(true)
    }

    /// Reads an entry of a key and a value, as Go writes it; returns `false` for any other.
    #[inline]
    fn take_simple(&mut self, mut entry: Reader<'de>) -> bool {
        if self.wire != Wire::Length || !entry.take(KEY) {
            return false;
        }
        let Some(key) = entry.take_text() else { return false };
        let is_value = entry.take(VALUE);
        let value = entry;
        let is_simple = is_value && entry.skip(Wire::Length).is_ok() && entry.is_empty();
        if is_simple {
            (self.key, self.current.reader) = (key, value);
        }
        is_simple
    }

    /// Returns the value of the current entry.
    #[inline]
    pub(crate) fn value(&mut self) -> &mut ValueRef<'de> {
        &mut self.current
    }

    /// Returns the key of the current entry.
    #[inline]
    pub(crate) fn key(&self) -> &'de str {
        self.key
    }

    /// Returns the number of elements after the current one.
    pub(crate) fn remaining(&self) -> usize {
        self.fields.count - self.fields.taken
    }
}
