//! Reads the text of a label selector: `a=b, c!=d, e in (f,g), h notin (i), j, !k, l>1, m<2`.

use super::{
    requirement::{Condition, LabelRequirement},
    text::{check_key, check_value},
};
use crate::selector::error::{Flaw, SelectorError, Subject, bounded};
use std::collections::BTreeSet;

/// Reads all requirements of a selector; none means everything.
pub(super) fn parse(text: &str) -> Result<Vec<LabelRequirement>, SelectorError> {
    bounded(text)
        .and_then(|()| Parser::new(text).selector())
        .map_err(|flaw| flaw.of(Subject::LabelSelector, text))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    /// A key or a value, and also `in` and `notin`: only the place tells them apart.
    Word(&'a str),
    Not,
    Equal,
    NotEqual,
    Above,
    Below,
    Open,
    Close,
    Comma,
    End,
}

/// A recursive descent without recursion: one token is looked at before it is taken.
struct Parser<'a> {
    text: &'a str,
    token: Token<'a>,
    /// Where `token` begins, and where it ends.
    start: usize,
    end: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        let mut parser = Self { text, token: Token::End, start: 0, end: 0 };
        parser.advance();
        parser
    }

    fn selector(&mut self) -> Result<Vec<LabelRequirement>, Flaw> {
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
                return Err(self.flaw("',' or the end"));
            }
        }
    }

    fn requirement(&mut self) -> Result<LabelRequirement, Flaw> {
        let denied = self.take(Token::Not);
        let Token::Word(key) = self.token else { return Err(self.flaw("a label key")) };
        check_key(key).map_err(|flaw| flaw.within(self.start))?;
        let start = self.start;
        self.advance();
        let condition = if denied { Condition::Missing } else { self.condition()? };
        // The parts are sound already; a flaw here would be one of the whole.
        LabelRequirement::new(key, condition).map_err(|error| Flaw::new(start, error.expected()))
    }

    fn condition(&mut self) -> Result<Condition, Flaw> {
        match self.token {
            Token::End | Token::Comma => Ok(Condition::Exists),
            Token::Word("in") => self.then(Self::values).map(Condition::In),
            Token::Word("notin") => self.then(Self::values).map(Condition::NotIn),
            Token::Equal => self.then(Self::value).map(|value| Condition::In([value].into())),
            Token::NotEqual => self.then(Self::value).map(|value| Condition::NotIn([value].into())),
            Token::Above => self.then(Self::integer).map(Condition::Above),
            Token::Below => self.then(Self::integer).map(Condition::Below),
            Token::Word(_) | Token::Not | Token::Open | Token::Close => {
                Err(self.flaw("'=', '!=', '<', '>', 'in', 'notin', ',' or the end"))
            }
        }
    }

    /// Takes the operator, and reads what follows it.
    fn then<V>(&mut self, operand: fn(&mut Self) -> Result<V, Flaw>) -> Result<V, Flaw> {
        self.advance();
        operand(self)
    }

    /// Reads `(a,b)`; a value may be empty, so `()` is a set of one empty value.
    fn values(&mut self) -> Result<BTreeSet<String>, Flaw> {
        if !self.take(Token::Open) {
            return Err(self.flaw("'('"));
        }
        let mut values = BTreeSet::new();
        loop {
            values.insert(self.value()?);
            if self.take(Token::Close) {
                return Ok(values);
            }
            if !self.take(Token::Comma) {
                return Err(self.flaw("',' or ')'"));
            }
        }
    }

    fn value(&mut self) -> Result<String, Flaw> {
        match self.token {
            Token::Word(value) => {
                check_value(value).map_err(|flaw| flaw.within(self.start))?;
                self.advance();
                Ok(value.to_owned())
            }
            Token::Comma | Token::Close | Token::End => Ok(String::new()),
            Token::Not | Token::Equal | Token::NotEqual | Token::Above | Token::Below | Token::Open => {
                Err(self.flaw("a label value"))
            }
        }
    }

    fn integer(&mut self) -> Result<i64, Flaw> {
        let flaw = self.flaw("a 64-bit integer");
        self.value()?.parse().map_err(|_| flaw)
    }

    fn take(&mut self, token: Token<'_>) -> bool {
        let found = self.token == token;
        if found {
            self.advance();
        }
        found
    }

    fn flaw(&self, expected: &'static str) -> Flaw {
        Flaw::new(self.start, expected)
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
        [b'>', ..] => (Token::Above, 1),
        [b'<', ..] => (Token::Below, 1),
        [b'(', ..] => (Token::Open, 1),
        [b')', ..] => (Token::Close, 1),
        [b',', ..] => (Token::Comma, 1),
        _ => word(),
    }
}
