//! Parses shard selectors: `shardRange(field, 'start', 'end') || shardRange(..)`.

use super::selector::{END, ShardField, ShardRange, ShardSelector};
use crate::selector::error::{ParseError, SelectorError, Subject, check_length};
use std::str::FromStr;

impl FromStr for ShardSelector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        check_length(text)
            .and_then(|()| Parser { text, at: 0 }.selector())
            .map_err(|error| error.of(Subject::ShardSelector, text))
    }
}

/// The server parses the selector as CEL, and accepts only calls of `shardRange` joined by `||`.
struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn selector(&mut self) -> Result<ShardSelector, ParseError> {
        let (field, first) = self.range()?;
        let mut ranges = vec![first];
        while self.take("||") {
            self.skip_space();
            let start = self.at;
            let (other, range) = self.range()?;
            if other != field {
                return Err(ParseError::new(start, "the same field in every shardRange"));
            }
            ranges.push(range);
        }
        if self.at < self.text.len() {
            return Err(ParseError::new(self.at, "'||' or the end"));
        }
        Ok(ShardSelector { field, ranges })
    }

    fn range(&mut self) -> Result<(ShardField, ShardRange), ParseError> {
        self.expect("shardRange", "shardRange")?;
        self.expect("(", "'('")?;
        let field = self.field()?;
        self.expect(",", "','")?;
        self.skip_space();
        let at = self.at;
        let start = self.bound()?;
        self.expect(",", "','")?;
        let end = self.bound()?;
        self.expect(")", "')'")?;
        let empty = ParseError::new(at, "a start before the end");
        let range = ShardRange { start: u64::try_from(start).map_err(|_| empty)?, end };
        if range.is_valid() { Ok((field, range)) } else { Err(empty) }
    }

    fn field(&mut self) -> Result<ShardField, ParseError> {
        self.skip_space();
        let rest = &self.text[self.at..];
        let length =
            rest.find(|char: char| !char.is_ascii_alphanumeric() && char != '.').unwrap_or(rest.len());
        let named = |field: &ShardField| field.path() == &rest[..length];
        let field = [ShardField::Uid, ShardField::Namespace].into_iter().find(named);
        let field =
            field.ok_or(ParseError::new(self.at, "object.metadata.uid or object.metadata.namespace"))?;
        self.at += length;
        Ok(field)
    }

    /// Parses `'0x…'` in either kind of quotes: sixteen lower case digits, or 2^64.
    fn bound(&mut self) -> Result<u128, ParseError> {
        self.skip_space();
        let error =
            ParseError::new(self.at, "a quoted 0x and 16 lower case hex digits, or '0x10000000000000000'");
        let rest = &self.text[self.at..];
        let quote = rest.chars().next().filter(|char| matches!(char, '\'' | '"')).ok_or(error)?;
        let (literal, _) = rest[1..].split_once(quote).ok_or(error)?;
        let digits = literal.strip_prefix("0x").ok_or(error)?;
        let is_digit = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
        if !digits.bytes().all(is_digit) || !matches!(digits.len(), 16 | 17) {
            return Err(error);
        }
        let bound = u128::from_str_radix(digits, 16).map_err(|_| error)?;
        if digits.len() == 17 && bound != END {
            return Err(error);
        }
        self.at += literal.len() + 2;
        Ok(bound)
    }

    fn expect(&mut self, text: &str, expected: &'static str) -> Result<(), ParseError> {
        if self.take(text) { Ok(()) } else { Err(ParseError::new(self.at, expected)) }
    }

    /// Skips space, and `text` with the space after it if it is next.
    fn take(&mut self, text: &str) -> bool {
        self.skip_space();
        let found = self.text[self.at..].starts_with(text);
        if found {
            self.at += text.len();
            self.skip_space();
        }
        found
    }

    fn skip_space(&mut self) {
        let rest = self.text[self.at..].trim_start_matches([' ', '\t', '\r', '\n', '\x0c']);
        self.at = self.text.len() - rest.len();
    }
}
