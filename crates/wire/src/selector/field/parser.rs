//! Parses field selectors: `a=b,c!=d`, with a backslash before `,`, `=` and `\` in a value.

use super::{
    requirement::{FieldOperator, FieldRequirement, check_path},
    selector::FieldSelector,
};
use crate::selector::error::{ParseError, SelectorError, Subject, check_length};
use std::str::FromStr;

impl FromStr for FieldSelector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        check_length(text).and_then(|()| parse(text)).map_err(|error| error.of(Subject::FieldSelector, text))
    }
}

fn parse(text: &str) -> Result<FieldSelector, ParseError> {
    let mut requirements = Vec::new();
    let mut at = 0;
    while at < text.len() {
        // A term may be empty, so a selector may end in a comma.
        if text[at..].starts_with(',') {
            at += 1;
            continue;
        }
        let (requirement, length) = parse_term(&text[at..]).map_err(|error| error.offset_by(at))?;
        requirements.push(requirement);
        at += length;
    }
    Ok(requirements.into_iter().collect())
}

/// Parses the term at the beginning of `text`, and returns its length as well.
fn parse_term(text: &str) -> Result<(FieldRequirement, usize), ParseError> {
    let end = text.find(['=', '!', ',']).unwrap_or(text.len());
    let (field, rest) = text.split_at(end);
    check_path(field)?;
    let (operator, length) = match rest.as_bytes() {
        [b'!', b'=', ..] => (FieldOperator::NotEqual, 2),
        [b'=', b'=', ..] => (FieldOperator::Equal, 2),
        [b'=', ..] => (FieldOperator::Equal, 1),
        _ => return Err(ParseError::new(end, "'=', '==' or '!='")),
    };
    let start = end + length;
    let (value, length) = parse_value(&text[start..]).map_err(|error| error.offset_by(start))?;
    Ok((FieldRequirement { field: field.to_owned(), operator, value }, start + length))
}

/// Parses the value at the beginning of `text`, up to a comma, and returns its length with escapes as well.
fn parse_value(text: &str) -> Result<(String, usize), ParseError> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            ',' => return Ok((value, at)),
            '=' => return Err(ParseError::new(at, "a backslash before '='")),
            '\\' => match chars.next() {
                Some((_, escaped @ ('\\' | ',' | '='))) => value.push(escaped),
                _ => return Err(ParseError::new(at + 1, "'\\', ',' or '=' after a backslash")),
            },
            _ => value.push(char),
        }
    }
    Ok((value, text.len()))
}
