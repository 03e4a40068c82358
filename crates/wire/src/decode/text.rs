//! Objects and arrays of JSON, and where one is in them.

use super::error::Error;
use crate::{
    json::{JsonError, JsonReader},
    protobuf::Skip,
};
use std::borrow::Cow;

/// So deep may JSON be nested before a stack is in danger.
const MAX_DEPTH: u8 = 128;

/// A value that is to be read in JSON, and what follows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'de> {
    pub(super) reader: JsonReader<'de>,
    /// What is passed over inside of the value.
    pub(super) skip: Skip,
    /// How many objects and arrays it is in.
    depth: u8,
}

impl<'de> Text<'de> {
    pub(super) fn new(text: &'de str, skip: Skip) -> Self {
        Self { reader: JsonReader::new(text), skip, depth: 1 }
    }

    /// What is in an object or array, whose bracket comes next and is this.
    #[inline]
    pub(super) fn enter(&self, bracket: u8) -> Result<Brackets<'de>, Error> {
        let mut inside = *self;
        inside.depth += 1;
        if inside.depth > MAX_DEPTH {
            return Err(Error::deep());
        }
        inside.reader.take(bracket);
        Ok(Brackets::new(inside, if bracket == b'{' { b'}' } else { b']' }))
    }
}

/// The members of an object or the elements of an array.
#[derive(Debug)]
pub(super) struct Brackets<'de> {
    /// The value that was come to last.
    text: Text<'de>,
    /// The name of that value; if it has escapes, which are not worth owning something, as it is written.
    name: &'de str,
    is_escaped: bool,
    /// The one that closes.
    bracket: u8,
    /// How many have been come to.
    count: usize,
    is_closed: bool,
    skip: Skip,
}

impl<'de> Brackets<'de> {
    /// What follows an opening bracket, up to the closing one.
    pub(super) fn new(text: Text<'de>, bracket: u8) -> Self {
        let inside = Text { skip: Skip::Nothing, ..text };
        Self {
            text: inside,
            name: "",
            is_escaped: false,
            bracket,
            count: 0,
            is_closed: false,
            skip: text.skip,
        }
    }

    /// The value that was come to last.
    #[inline]
    pub(super) fn text(&mut self) -> &mut Text<'de> {
        &mut self.text
    }

    /// The name of that value.
    #[inline]
    pub(super) fn name(&self) -> Cow<'de, str> {
        match self.is_escaped {
            false => Cow::Borrowed(self.name),
            true => Cow::Owned(self.unescaped_name()),
        }
    }

    #[cold]
    #[inline(never)]
    fn unescaped_name(&self) -> String {
        JsonReader::new(self.name).string().unwrap_or_default().into_owned()
    }

    /// Whether it is an array.
    #[inline]
    pub(super) fn is_list(&self) -> bool {
        self.bracket == b']'
    }

    /// Which element that is.
    pub(super) fn index(&self) -> usize {
        self.count.saturating_sub(1)
    }

    /// How many elements there are, if they are worth the counting: room for more of them would be wasted.
    pub(super) fn size_hint(&self) -> Option<usize> {
        (self.is_list() && self.count == 0).then(|| self.text.reader.count_objects()).flatten()
    }

    /// Goes on to the next member, if there is one.
    #[inline]
    pub(super) fn next_member(&mut self) -> Result<bool, JsonError> {
        loop {
            if !self.next_element()? {
                return Ok(false);
            }
            let reader = &mut self.text.reader;
            if reader.peek() != Some(b'"') {
                return Err(reader.error("a name is missing"));
            }
            (self.name, self.is_escaped) = match reader.take_plain() {
                Some(name) => (name, false),
                None => (reader.written()?, true),
            };
            if !reader.take(b':') {
                return Err(reader.error("a colon is missing"));
            }
            match self.skip {
                Skip::Nothing => return Ok(true),
                Skip::InMetadata if self.name() == "managedFields" => self.text.reader.skip()?,
                Skip::InObject if self.name() == "metadata" => {
                    self.text.skip = Skip::InMetadata;
                    return Ok(true);
                }
                Skip::InObject | Skip::InMetadata => {
                    self.text.skip = Skip::Nothing;
                    return Ok(true);
                }
            }
        }
    }

    /// Goes on to the next element, if there is one.
    #[inline]
    pub(super) fn next_element(&mut self) -> Result<bool, JsonError> {
        if self.is_closed {
            return Ok(false);
        }
        if self.text.reader.take(self.bracket) {
            self.is_closed = true;
            return Ok(false);
        }
        if self.count > 0 && !self.text.reader.take(b',') {
            return Err(self.text.reader.error("a comma or a bracket is missing"));
        }
        self.count += 1;
        Ok(true)
    }

    /// What follows the closing bracket, which comes next if it has not come yet.
    pub(super) fn close(&mut self) -> Result<JsonReader<'de>, JsonError> {
        let reader = &mut self.text.reader;
        if !self.is_closed && !reader.take(self.bracket) {
            return Err(reader.error("there is more than was expected"));
        }
        Ok(*reader)
    }
}
