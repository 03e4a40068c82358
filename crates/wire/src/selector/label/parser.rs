//! Parses label selectors: `a=b, c!=d, e in (f,g), h notin (i), j, !k, l>1, m<2`.

use super::{
    requirement::{LabelOperator, LabelRequirement},
    text::{check_key, check_value},
};
use crate::selector::error::{ParseError, SelectorError, Subject, check_length};
use std::collections::BTreeSet;

/// Parses the requirements of a selector.
pub(super) fn parse(text: &str) -> Result<Vec<LabelRequirement>, SelectorError> {
    check_length(text)
        .and_then(|()| Parser::new(text).selector())
        .map_err(|error| error.of(Subject::LabelSelector, text))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    /// A key, a value, `in` or `notin`, depending on the position.
    Word(&'a str),
    Not,
    Equal,
    NotEqual,
    GreaterThan,
    LessThan,
    Open,
    Close,
    Comma,
    End,
}

/// A parser with one token of lookahead.
struct Parser<'a> {
    text: &'a str,
    token: Token<'a>,
    /// The range of `token`.
    start: usize,
    end: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        let mut parser = Self { text, token: Token::End, start: 0, end: 0 };
        parser.advance();
        parser
    }

    fn selector(&mut self) -> Result<Vec<LabelRequirement>, ParseError> {
        let mut requirements = Vec::new();
        if self.token == Token::End {
            return Ok(requirements);
        }
        loop {
            requirements.push(self.requirement()?);
            if self.token == Token::End {
                return Ok(requirements);
            }
            if !self.take(Token::Comma) {
                return Err(self.error("',' or the end"));
            }
        }
    }

    fn requirement(&mut self) -> Result<LabelRequirement, ParseError> {
        let is_negated = self.take(Token::Not);
        let Token::Word(key) = self.token else { return Err(self.error("a label key")) };
        check_key(key).map_err(|error| error.offset_by(self.start))?;
        let start = self.start;
        self.advance();
        let operator = if is_negated { LabelOperator::DoesNotExist } else { self.operator()? };
        // The key and the values have been checked; an error here is one of the requirement.
        LabelRequirement::new(key, operator).map_err(|error| ParseError::new(start, error.expected()))
    }

    fn operator(&mut self) -> Result<LabelOperator, ParseError> {
        match self.token {
            Token::End | Token::Comma => Ok(LabelOperator::Exists),
            Token::Word("in") => self.then(Self::values).map(LabelOperator::In),
            Token::Word("notin") => self.then(Self::values).map(LabelOperator::NotIn),
            Token::Equal => self.then(Self::value).map(|value| LabelOperator::In([value].into())),
            Token::NotEqual => self.then(Self::value).map(|value| LabelOperator::NotIn([value].into())),
            Token::GreaterThan => self.then(Self::integer).map(LabelOperator::GreaterThan),
            Token::LessThan => self.then(Self::integer).map(LabelOperator::LessThan),
            Token::Word(_) | Token::Not | Token::Open | Token::Close => {
                Err(self.error("'=', '!=', '<', '>', 'in', 'notin', ',' or the end"))
            }
        }
    }

    /// Skips the operator and parses its operand.
    fn then<V>(&mut self, operand: fn(&mut Self) -> Result<V, ParseError>) -> Result<V, ParseError> {
        self.advance();
        operand(self)
    }

    /// Parses `(a,b)`. A value may be empty, so `()` is a set of one empty value.
    fn values(&mut self) -> Result<BTreeSet<String>, ParseError> {
        if !self.take(Token::Open) {
            return Err(self.error("'('"));
        }
        let mut values = BTreeSet::new();
        loop {
            values.insert(self.value()?);
            if self.take(Token::Close) {
                return Ok(values);
            }
            if !self.take(Token::Comma) {
                return Err(self.error("',' or ')'"));
            }
        }
    }

    fn value(&mut self) -> Result<String, ParseError> {
        match self.token {
            Token::Word(value) => {
                check_value(value).map_err(|error| error.offset_by(self.start))?;
                self.advance();
                Ok(value.to_owned())
            }
            Token::Comma | Token::Close | Token::End => Ok(String::new()),
            Token::Not
            | Token::Equal
            | Token::NotEqual
            | Token::GreaterThan
            | Token::LessThan
            | Token::Open => Err(self.error("a label value")),
        }
    }

    fn integer(&mut self) -> Result<i64, ParseError> {
        let error = self.error("a 64-bit integer");
        self.value()?.parse().map_err(|_| error)
    }

    fn take(&mut self, token: Token<'_>) -> bool {
        let found = self.token == token;
        if found {
            self.advance();
        }
        found
    }

    fn error(&self, expected: &'static str) -> ParseError {
        ParseError::new(self.start, expected)
    }

    fn advance(&mut self) {
        let rest = self.text[self.end..].trim_start_matches([' ', '\t', '\r', '\n']);
        self.start = self.text.len() - rest.len();
        let (token, length) = next_token(rest);
        self.token = token;
        self.end = self.start + length;
    }
}

fn next_token(rest: &str) -> (Token<'_>, usize) {
    let word = || {
        let stops = |char| matches!(char, '=' | '!' | '(' | ')' | ',' | '>' | '<' | ' ' | '\t' | '\r' | '\n');
        let length = rest.find(stops).unwrap_or(rest.len());
        (Token::Word(&rest[..length]), length)
    };
    match rest.as_bytes() {
        [] => (Token::End, 0),
        [b'=', b'=', ..] => (Token::Equal, 2),
        [b'=', ..] => (Token::Equal, 1),
        [b'!', b'=', ..] => (Token::NotEqual, 2),
        [b'!', ..] => (Token::Not, 1),
        [b'>', ..] => (Token::GreaterThan, 1),
        [b'<', ..] => (Token::LessThan, 1),
        [b'(', ..] => (Token::Open, 1),
        [b')', ..] => (Token::Close, 1),
        [b',', ..] => (Token::Comma, 1),
        _ => word(),
    }
}
