//! Reads JSON text from value to value.

use super::scan::{count, plain_end, skip, string_end};
use std::borrow::Cow;

/// JSON up to where it has been read. What is skipped may be malformed inside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JsonReader<'a> {
    text: &'a str,
    place: usize,
}

/// What is not as JSON has it, and at which byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {place}")]
pub(crate) struct JsonError {
    what: &'static str,
    place: usize,
}

/// A number, of the type that suits it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Unsigned(u64),
    /// One below zero.
    Signed(i64),
    Double(f64),
}

/// So many digits always fit into 63 bits.
const SURE_DIGITS: usize = 18;

impl<'a> JsonReader<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, place: 0 }
    }

    #[cold]
    pub(crate) fn error(&self, what: &'static str) -> JsonError {
        JsonError { what, place: self.place }
    }

    /// The next byte that is no space.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        loop {
            match *self.text.as_bytes().get(self.place)? {
                b' ' | b'\n' | b'\r' | b'\t' => self.place += 1,
                byte => return Some(byte),
            }
        }
    }

    /// Takes this byte if it comes next.
    #[inline]
    pub(crate) fn take(&mut self, sign: u8) -> bool {
        let is_next = self.peek() == Some(sign);
        self.place += usize::from(is_next);
        is_next
    }

    /// Takes a word such as `null`.
    pub(crate) fn word(&mut self, word: &'static str) -> Result<(), JsonError> {
        if !self.text.as_bytes()[self.place..].starts_with(word.as_bytes()) {
            return Err(self.error("something is no value"));
        }
        self.place += word.len();
        Ok(())
    }

    /// A string, of which the quote has been seen.
    #[inline]
    pub(crate) fn string(&mut self) -> Result<Cow<'a, str>, JsonError> {
        match self.plain() {
            Some(text) => Ok(Cow::Borrowed(text)),
            None => self.escaped().map(Cow::Owned),
        }
    }

    /// Takes a string if one comes next that stands for itself.
    #[inline]
    pub(crate) fn take_plain(&mut self) -> Option<&'a str> {
        (self.peek() == Some(b'"')).then(|| self.plain()).flatten()
    }

    #[inline]
    fn plain(&mut self) -> Option<&'a str> {
        let begin = self.place + 1;
        let end = plain_end(self.text.as_bytes(), begin)?;
        (self.text.as_bytes()[end] == b'"').then(|| {
            self.place = end + 1;
            &self.text[begin..end]
        })
    }

    /// A string as it is written, of which the quote has been seen.
    #[cold]
    pub(crate) fn written(&mut self) -> Result<&'a str, JsonError> {
        let begin = self.place;
        self.escaped()?;
        Ok(&self.text[begin..self.place])
    }

    #[inline(never)]
    fn escaped(&mut self) -> Result<String, JsonError> {
        let begin = self.place;
        let end = string_end(self.text.as_bytes(), begin + 1).ok_or(self.error("text does not end"))?;
        let unescaped = match unescape(&self.text[begin + 1..end]) {
            Some(text) => text,
            None => serde_json::from_str(&self.text[begin..=end])
                .map_err(|_| self.error("text is not written as JSON has it"))?,
        };
        self.place = end + 1;
        Ok(unescaped)
    }

    /// A number, of which a digit or the sign has been seen.
    pub(crate) fn number(&mut self) -> Result<Number, JsonError> {
        let bytes = self.text.as_bytes();
        let is_negative = bytes.get(self.place) == Some(&b'-');
        let first = self.place + usize::from(is_negative);
        let (mut place, mut value) = (first, 0_u64);
        while let Some(digit @ b'0'..=b'9') = bytes.get(place)
            && place - first < SURE_DIGITS
        {
            value = value * 10 + u64::from(digit - b'0');
            place += 1;
        }
        let goes_on = matches!(bytes.get(place), Some(b'0'..=b'9' | b'.' | b'e' | b'E'));
        let is_padded = bytes.get(first) == Some(&b'0') && place - first > 1;
        if place == first || goes_on || is_padded || (is_negative && value == 0) {
            return self.other_number();
        }
        self.place = place;
        Ok(if is_negative { Number::Signed(-(value as i64)) } else { Number::Unsigned(value) })
    }

    #[cold]
    fn other_number(&mut self) -> Result<Number, JsonError> {
        let rest = &self.text[self.place..];
        let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
        let length = rest.bytes().take_while(|byte| is_part(byte)).count();
        let number: serde_json::Number =
            serde_json::from_str(&rest[..length]).map_err(|_| self.error("something is no number"))?;
        self.place += length;
        let number = match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(number), ..) => Number::Unsigned(number),
            (None, Some(number), _) => Number::Signed(number),
            (None, None, number) => Number::Double(number.unwrap_or(f64::NAN)),
        };
        Ok(number)
    }

    /// Passes over a value.
    pub(crate) fn skip(&mut self) -> Result<(), JsonError> {
        self.peek();
        self.place = skip(self.text.as_bytes(), self.place).ok_or(self.error("a value does not end"))?;
        Ok(())
    }

    /// Passes over a value, and gives it.
    pub(crate) fn take_value(&mut self) -> Result<&'a str, JsonError> {
        self.peek();
        let begin = self.place;
        self.skip()?;
        Ok(&self.text[begin..self.place])
    }

    /// What has not been read.
    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.place..]
    }

    /// Passes over so many bytes of what has not been read.
    pub(crate) fn pass(&mut self, length: usize) -> Result<(), JsonError> {
        let place = self.place + length;
        if !self.text.is_char_boundary(place) {
            return Err(self.error("a value does not end"));
        }
        self.place = place;
        Ok(())
    }

    /// How many objects an array has, of which the bracket has been passed; nothing if it has others than objects,
    /// which are too small to be worth the counting.
    pub(crate) fn count_objects(mut self) -> Option<usize> {
        (self.peek() == Some(b'{')).then(|| count(self.text.as_bytes(), self.place))
    }

    /// Sees that nothing follows.
    pub(crate) fn end(&mut self) -> Result<(), JsonError> {
        self.peek().map_or(Ok(()), |_| Err(self.error("something follows")))
    }
}

/// The text without its escapes; nothing if they are not of the usual ones.
fn unescape(written: &str) -> Option<String> {
    let mut text = String::with_capacity(written.len());
    let mut rest = written;
    while let Some(place) = memchr::memchr(b'\\', rest.as_bytes()) {
        text.push_str(&rest[..place]);
        text.push(match rest.as_bytes().get(place + 1)? {
            sign @ (b'"' | b'\\' | b'/') => char::from(*sign),
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            _ => return None,
        });
        rest = &rest[place + 2..];
    }
    text.push_str(rest);
    written.bytes().all(|byte| byte >= b' ').then_some(text)
}
