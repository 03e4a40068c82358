//! Finds where keys, strings and values begin and end in JSON, without decoding them.

use memchr::memmem::Finder;
use std::{borrow::Cow, ops::Range, sync::LazyLock};

/// A cursor over JSON text.
///
/// It checks the syntax of the tokens that it reads, but not of the values that it skips: their decoder reports errors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scanner<'a> {
    text: &'a [u8],
    position: usize,
    /// Whether a value ends here, so that a comma or a closing bracket must follow.
    is_after_value: bool,
}

/// JSON that is malformed at some byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid JSON at byte {position}")]
pub(crate) struct ScanError {
    position: usize,
}

/// The key of an object member.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key<'a> {
    /// The key in its encoded form, with quotes.
    quoted: &'a [u8],
    /// The offset of the opening quote.
    pub(crate) begin: usize,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self { text, position: 0, is_after_value: false }
    }

    /// Returns the offset of the next byte.
    pub(crate) fn position(&self) -> usize {
        self.position
    }

    /// Returns an error at the current position.
    #[cold]
    pub(crate) fn error(&self) -> ScanError {
        ScanError { position: self.position }
    }

    /// Skips whitespace and returns the next byte; `None` at the end.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        loop {
            match *self.text.get(self.position)? {
                b' ' | b'\n' | b'\r' | b'\t' => self.position += 1,
                byte => return Some(byte),
            }
        }
    }

    /// Consumes the next byte if it is this one.
    #[inline]
    fn eat(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.position += usize::from(is_next);
        is_next
    }

    /// Enters the object or array that this bracket opens.
    pub(crate) fn enter(&mut self, bracket: u8) -> Result<(), ScanError> {
        self.is_after_value = false;
        if self.eat(bracket) { Ok(()) } else { Err(self.error()) }
    }

    /// Moves to the value of the next member of an object and returns its key; leaves the object after the last one.
    #[inline]
    pub(crate) fn next_key(&mut self) -> Result<Option<Key<'a>>, ScanError> {
        let mut next = self.peek();
        if next == Some(b'}') {
            self.position += 1;
            self.is_after_value = true;
            return Ok(None);
        }
        if self.is_after_value && next == Some(b',') {
            self.position += 1;
            self.is_after_value = false;
            next = self.peek();
        }
        if self.is_after_value || next != Some(b'"') {
            return Err(self.error());
        }
        let begin = self.position;
        let end = string_end(self.text, begin + 1);
        let Some(quoted) = self.text.get(begin..=end) else { return Err(self.error()) };
        self.position = end + 1;
        if !self.eat(b':') {
            return Err(self.error());
        }
        Ok(Some(Key { quoted, begin }))
    }

    /// Moves to the next element of an array; returns `false` after the last one, at the end of the array.
    pub(crate) fn next_element(&mut self) -> Result<bool, ScanError> {
        if self.eat(b']') {
            self.is_after_value = true;
            return Ok(false);
        }
        if self.is_after_value && !self.eat(b',') {
            return Err(self.error());
        }
        self.is_after_value = false;
        Ok(true)
    }

    /// Skips a value and returns its range.
    #[inline]
    pub(crate) fn skip_value(&mut self) -> Result<Range<usize>, ScanError> {
        self.peek();
        let begin = self.position;
        self.position = value_end(self.text, begin).ok_or(self.error())?;
        self.is_after_value = true;
        Ok(begin..self.position)
    }

    /// Skips a value and returns its text if it is a string.
    pub(crate) fn string(&mut self) -> Result<Option<Cow<'a, str>>, ScanError> {
        let value = &self.text[self.skip_value()?];
        Ok(unquote(value))
    }
}

impl<'a> Key<'a> {
    /// Returns the key in its encoded form, without quotes.
    #[inline]
    pub(crate) fn raw(&self) -> &'a [u8] {
        &self.quoted[1..self.quoted.len() - 1]
    }

    /// Compares the key, without its escapes, with `name`.
    #[inline]
    pub(crate) fn is(&self, name: &str) -> bool {
        self.raw() == name.as_bytes() || self.raw().len() > name.len() && self.is_escaped(name)
    }

    #[inline(never)]
    fn is_escaped(&self, name: &str) -> bool {
        self.quoted.contains(&b'\\') && self.text() == name
    }

    /// Returns the key without its escapes.
    pub(crate) fn text(&self) -> Cow<'a, str> {
        unquote(self.quoted).unwrap_or_else(|| String::from_utf8_lossy(self.quoted))
    }
}

/// Returns the text of a string; `None` if it is malformed or another value.
fn unquote(quoted: &[u8]) -> Option<Cow<'_, str>> {
    let inside = quoted.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    match memchr::memchr(b'\\', inside) {
        None => std::str::from_utf8(inside).ok().map(Cow::Borrowed),
        Some(_) => serde_json::from_slice(quoted).ok().map(Cow::Owned),
    }
}

/// Returns the path to the value that an error of serde_json is about, outermost first, as `.name` or `[0]`.
///
/// After a scalar or a complete object or array, serde_json reports the offset of its end. An object or array in place of
/// another type is reported at its opening bracket, if `at_bracket` is set.
pub(crate) fn path_to(text: &[u8], offset: usize, at_bracket: Option<u8>) -> Vec<String> {
    let mut scanner = Scanner::new(text);
    let mut path = Vec::new();
    while let Some(segment) = step_toward(&mut scanner, offset, at_bracket) {
        path.push(segment);
    }
    path
}

/// Moves to the member or element that contains the offset; `None` if that is the value itself.
fn step_toward(scanner: &mut Scanner<'_>, offset: usize, at_bracket: Option<u8>) -> Option<String> {
    let bracket = scanner.peek()?;
    let mut ahead = *scanner;
    ahead.enter(bracket).ok()?;
    let mut index = 0;
    loop {
        let segment = match bracket {
            b'{' => format!(".{}", ahead.next_key().ok()??.text()),
            b'[' => ahead.next_element().ok()?.then(|| format!("[{index}]"))?,
            _ => return None,
        };
        index += 1;
        let is_at_bracket = at_bracket.is_some() && ahead.peek() == at_bracket && ahead.position() == offset;
        let value = ahead;
        let end = ahead.skip_value().map_or(usize::MAX, |range| range.end);
        if end >= offset {
            let contains = value.position() < offset || is_at_bracket;
            *scanner = value;
            return contains.then_some(segment);
        }
    }
}

/// Returns the beginning of the first member of an object that is not `apiVersion` or `kind`; zero if it is malformed.
pub(crate) fn types_end(text: &[u8]) -> usize {
    let mut scanner = Scanner::new(text);
    let mut find = || {
        scanner.enter(b'{').ok()?;
        loop {
            let key = scanner.next_key().ok()??;
            if !key.is("apiVersion") && !key.is("kind") {
                return Some(key.begin);
            }
            scanner.skip_value().ok()?;
        }
    };
    find().unwrap_or(0)
}

/// Returns the ranges to cut so that the object has no `metadata.managedFields`; empty if it has none or is malformed.
pub(crate) fn managed_fields(text: &[u8]) -> Vec<Range<usize>> {
    let mut cuts = Vec::new();
    match find_managed_fields(text, &mut cuts) {
        Ok(()) => cuts,
        Err(_) => Vec::new(),
    }
}

fn find_managed_fields(text: &[u8], cuts: &mut Vec<Range<usize>>) -> Result<(), ScanError> {
    let mut scanner = Scanner::new(text);
    scanner.enter(b'{')?;
    while let Some(key) = scanner.next_key()? {
        if !key.is("metadata") || scanner.peek() != Some(b'{') {
            scanner.skip_value()?;
            continue;
        }
        managed_fields_in_metadata(&mut scanner, cuts)?;
        if !may_have_managed_fields(&text[scanner.position()..]) {
            break;
        }
    }
    Ok(())
}

/// Whether there may be further managed fields, in a duplicate of `metadata`, with or without escapes in the keys.
fn may_have_managed_fields(rest: &[u8]) -> bool {
    static NAME: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("managedFields"));
    let is_unicode = |backslash: usize| rest.get(backslash + 1) == Some(&b'u');
    NAME.find(rest).is_some() || memchr::memchr_iter(b'\\', rest).any(is_unicode)
}

/// Steps through `metadata` and adds the ranges to cut so that it has no managed fields.
pub(crate) fn managed_fields_in_metadata(
    scanner: &mut Scanner<'_>,
    cuts: &mut Vec<Range<usize>>,
) -> Result<(), ScanError> {
    scanner.enter(b'{')?;
    let mut last_kept = None;
    let mut last_end = scanner.position();
    while let Some(key) = scanner.next_key()? {
        let value = scanner.skip_value()?;
        if !key.is("managedFields") {
            last_kept = Some(value.end);
        } else if last_kept.is_some() {
            // With the comma before it.
            cuts.push(last_end..value.end);
        } else {
            // With the comma after it.
            let has_comma = scanner.peek() == Some(b',');
            cuts.push(key.begin..scanner.position() + usize::from(has_comma));
        }
        last_end = value.end;
    }
    Ok(())
}

/// Returns the ranges of a part that remain after these cuts.
pub(crate) fn kept(part: Range<usize>, cuts: &[Range<usize>]) -> impl Iterator<Item = Range<usize>> {
    let begins = std::iter::once(part.start).chain(cuts.iter().map(|cut| cut.end));
    let ends = cuts.iter().map(|cut| cut.start).chain([part.end]);
    begins.zip(ends).map(|(begin, end)| begin..end)
}

/// Returns where the value ends that begins here; `None` if it does not end. It may be malformed inside.
fn value_end(text: &[u8], begin: usize) -> Option<usize> {
    match *text.get(begin)? {
        b'"' => Some(string_end(text, begin + 1)).filter(|end| *end < text.len()).map(|end| end + 1),
        b'{' | b'[' => container_end(text, begin),
        _ => {
            let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b':' | b' ' | b'\n' | b'\r' | b'\t');
            let length = text[begin..].iter().position(is_end).unwrap_or(text.len() - begin);
            (length > 0).then_some(begin + length)
        }
    }
}

/// Returns where the object or array ends that begins here.
fn container_end(text: &[u8], begin: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut position = begin;
    loop {
        match *text.get(position)? {
            b'"' => position = string_end(text, position + 1),
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        position += 1;
        if depth == 0 {
            return Some(position);
        }
    }
}

/// Returns the lengths of all lists, in the order in which they begin. The text may be malformed.
pub(crate) fn list_lengths(text: &[u8]) -> Vec<u32> {
    let mut lengths = Vec::new();
    // The index of the length for each open list, `None` for an object.
    let mut open: Vec<Option<usize>> = Vec::new();
    let mut position = 0;
    while let Some(byte) = text.get(position) {
        match byte {
            b'"' => position = string_end(text, position + 1),
            b'{' => open.push(None),
            b'[' => {
                let is_empty =
                    Scanner { text, position: position + 1, is_after_value: false }.peek() == Some(b']');
                open.push(Some(lengths.len()));
                lengths.push(u32::from(!is_empty));
            }
            b',' => {
                if let Some(Some(list)) = open.last() {
                    lengths[*list] += 1;
                }
            }
            b'}' | b']' => drop(open.pop()),
            _ => {}
        }
        position += 1;
    }
    lengths
}

/// Finds the brackets outside of strings, in text that may arrive in pieces.
#[derive(Debug, Default)]
pub(crate) struct Brackets {
    string: StringState,
}

/// Whether a string is open at the end of a piece.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum StringState {
    #[default]
    Outside,
    Inside,
    /// Inside of a string, and the last byte was a backslash.
    Escaped,
}

impl Brackets {
    /// Returns the offset of the next bracket in `piece` at or after `from`; `None` until another piece arrives.
    #[inline]
    pub(crate) fn next(&mut self, piece: &[u8], from: usize) -> Option<usize> {
        let mut position = match self.string {
            StringState::Outside => from,
            StringState::Inside => self.skip_string(piece, from)?,
            StringState::Escaped => self.skip_string(piece, from + 1)?,
        };
        loop {
            match *piece.get(position)? {
                b'"' => position = self.skip_string(piece, position + 1)?,
                b'{' | b'}' | b'[' | b']' => return Some(position),
                _ => position += 1,
            }
        }
    }

    /// Returns the offset after the string that `position` is inside of; `None` if it does not end in this piece.
    #[inline]
    fn skip_string(&mut self, piece: &[u8], position: usize) -> Option<usize> {
        let end = string_end(piece, position);
        if end < piece.len() {
            self.string = StringState::Outside;
            return Some(end + 1);
        }
        self.string = if end == piece.len() { StringState::Inside } else { StringState::Escaped };
        None
    }

    /// Whether a string has not ended yet.
    pub(crate) fn is_in_string(&self) -> bool {
        self.string != StringState::Outside
    }
}

/// Returns the offset of the quote that ends a string.
///
/// Returns the length of the text if the string does not end in it, and one more if the text ends with the backslash of an
/// escape. Reads eight bytes at a time: most strings are too short for wider steps to pay.
fn string_end(text: &[u8], mut position: usize) -> usize {
    while let Some(chunk) = text.get(position..).and_then(|rest| rest.first_chunk::<8>()) {
        let chunk = u64::from_le_bytes(*chunk);
        let found = bytes_equal(chunk, b'"') | bytes_equal(chunk, b'\\');
        if found == 0 {
            position += 8;
            continue;
        }
        position += found.trailing_zeros() as usize / 8;
        if text[position] == b'"' {
            return position;
        }
        position += 2;
    }
    while let Some(byte) = text.get(position) {
        match byte {
            b'"' => return position,
            b'\\' => position += 2,
            _ => position += 1,
        }
    }
    position
}

/// Returns the highest bit of each byte that equals `byte`; bytes above the lowest match may be marked too.
#[inline]
fn bytes_equal(chunk: u64, byte: u8) -> u64 {
    const LOW: u64 = u64::from_le_bytes([0x01; 8]);
    const HIGH: u64 = u64::from_le_bytes([0x80; 8]);
    let differs = chunk ^ (LOW * u64::from(byte));
    differs.wrapping_sub(LOW) & !differs & HIGH
}
