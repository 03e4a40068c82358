//! Finds the metadata in the JSON of an object without decoding the rest.

use crate::json::{skip, string_end};
use std::{borrow::Cow, ops::Range};

/// JSON up to where it has been read. What is not looked at may be malformed; whoever decodes it finds out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'a> {
    whole: &'a [u8],
    place: usize,
}

/// What stands under a name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    /// The name as it is written, between the quotes.
    pub(super) name: &'a [u8],
    /// Where the name begins, with its quote.
    pub(super) begin: usize,
}

impl<'a> Text<'a> {
    /// The metadata of an object: inside of its brace.
    pub(super) fn metadata(whole: &'a [u8]) -> Option<Self> {
        let mut text = Self { whole, place: 0 };
        text.open(b'{')?;
        while let Some(entry) = text.entry()? {
            if entry.name == b"metadata" {
                text.open(b'{')?;
                return Some(text);
            }
            text.skip()?;
            text.comma()?;
        }
        None
    }

    pub(super) fn place(&self) -> usize {
        self.place
    }

    /// The next name of an object, with its colon; nothing at the end of the object. The outer `None` is malformed.
    pub(super) fn entry(&mut self) -> Option<Option<Entry<'a>>> {
        match self.peek()? {
            b'}' => Some(None),
            b'"' => {
                let begin = self.place;
                let name = self.string()?;
                self.open(b':')?;
                Some(Some(Entry { name: &self.whole[name], begin }))
            }
            _ => None,
        }
    }

    /// What is between two values of an object.
    pub(super) fn comma(&mut self) -> Option<()> {
        match self.peek()? {
            b',' => self.place += 1,
            b'}' => {}
            _ => return None,
        }
        Some(())
    }

    /// A text; nothing if something else stands there.
    pub(super) fn text(&mut self) -> Option<Cow<'a, str>> {
        (self.peek()? == b'"').then_some(())?;
        let begin = self.place;
        let inside = self.string()?;
        let written = &self.whole[inside];
        if memchr::memchr(b'\\', written).is_none() {
            return std::str::from_utf8(written).ok().map(Cow::Borrowed);
        }
        serde_json::from_slice(&self.whole[begin..self.place]).ok().map(Cow::Owned)
    }

    /// Passes over a value.
    pub(super) fn skip(&mut self) -> Option<()> {
        self.peek()?;
        self.place = skip(self.whole, self.place)?;
        Some(())
    }

    /// Passes over a string, and says what is between its quotes.
    fn string(&mut self) -> Option<Range<usize>> {
        let begin = self.place + 1;
        let end = string_end(self.whole, begin)?;
        self.place = end + 1;
        Some(begin..end)
    }

    /// The next byte that is no space.
    fn peek(&mut self) -> Option<u8> {
        loop {
            match *self.whole.get(self.place)? {
                b' ' | b'\n' | b'\r' | b'\t' => self.place += 1,
                byte => return Some(byte),
            }
        }
    }

    fn open(&mut self, sign: u8) -> Option<()> {
        (self.peek()? == sign).then(|| self.place += 1)
    }
}

/// The object without its managed fields; nothing if none were found.
pub(super) fn without_managed_fields(whole: &[u8]) -> Option<Vec<u8>> {
    let mut text = Text::metadata(whole)?;
    let mut before = text.place();
    while let Some(entry) = text.entry()? {
        text.skip()?;
        let end = text.place();
        if entry.name != b"managedFields" {
            before = end;
            text.comma()?;
            continue;
        }
        text.comma()?;
        // The comma behind goes too if they are the first, and the one before them otherwise.
        let is_first = whole[before..entry.begin].iter().all(|byte| *byte != b',');
        let cut = if is_first { before..text.place() } else { before..end };
        return Some([&whole[..cut.start], &whole[cut.end..]].concat());
    }
    None
}
