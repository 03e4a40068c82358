//! Reads the text of a field selector: `a=b,c!=d`, with a backslash before `,`, `=` and `\` in a value.

use super::{
    requirement::{FieldRequirement, Relation, check_path},
    selector::FieldSelector,
};
use crate::selector::error::{Flaw, SelectorError, Subject, bounded};
use std::str::FromStr;

impl FromStr for FieldSelector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        bounded(text).and_then(|()| parse(text)).map_err(|flaw| flaw.of(Subject::FieldSelector, text))
    }
}

fn parse(text: &str) -> Result<FieldSelector, Flaw> {
    let mut requirements = Vec::new();
    let mut at = 0;
    while at < text.len() {
        // A term may be empty, so a selector may end in a comma.
        if text[at..].starts_with(',') {
            at += 1;
            continue;
        }
        let (requirement, length) = parse_term(&text[at..]).map_err(|flaw| flaw.within(at))?;
        requirements.push(requirement);
        at += length;
    }
    Ok(requirements.into_iter().collect())
}

/// Reads the term that `text` begins with, and says how long it is.
fn parse_term(text: &str) -> Result<(FieldRequirement, usize), Flaw> {
    let end = text.find(['=', '!', ',']).unwrap_or(text.len());
    let (field, rest) = text.split_at(end);
    check_path(field)?;
    let (relation, length) = match rest.as_bytes() {
        [b'!', b'=', ..] => (Relation::NotEqual, 2),
        [b'=', b'=', ..] => (Relation::Equal, 2),
        [b'=', ..] => (Relation::Equal, 1),
        _ => return Err(Flaw::new(end, "'=', '==' or '!='")),
    };
    let start = end + length;
    let (value, length) = parse_value(&text[start..]).map_err(|flaw| flaw.within(start))?;
    Ok((FieldRequirement { field: field.to_owned(), relation, value }, start + length))
}

/// Reads the value that `text` begins with, up to a comma, and says how long it was with its escapes.
fn parse_value(text: &str) -> Result<(String, usize), Flaw> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            ',' => return Ok((value, at)),
            '=' => return Err(Flaw::new(at, "a backslash before '='")),
            '\\' => match chars.next() {
                Some((_, escaped @ ('\\' | ',' | '='))) => value.push(escaped),
                _ => return Err(Flaw::new(at + 1, "'\\', ',' or '=' after a backslash")),
            },
            _ => value.push(char),
        }
    }
    Ok((value, text.len()))
}
