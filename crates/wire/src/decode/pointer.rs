//! Reads a part of an object at a JSON pointer, without decoding the rest.

use super::{
    error::ValueError,
    json::decode_first,
    node::{Container, Node, Step, Token},
};
use crate::{json::Scanner, protobuf::ValueRef};
use serde::Deserialize;
use std::borrow::Cow;

/// A JSON pointer ([RFC 6901](https://www.rfc-editor.org/rfc/rfc6901)), such as `/spec/containers/0/image`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pointer<'p>(&'p str);

impl<'p> Pointer<'p> {
    /// Returns `None` unless the text is empty or starts with a slash.
    pub(crate) fn new(text: &'p str) -> Option<Self> {
        (text.is_empty() || text.starts_with('/')).then_some(Self(text))
    }

    /// Returns true if this is the value itself.
    pub(crate) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Returns the first token and the rest; `None` if the pointer is empty.
    pub(crate) fn split(self) -> Option<(Cow<'p, str>, Self)> {
        let tokens = self.0.strip_prefix('/')?;
        let (token, rest) = tokens.split_at(tokens.find('/').unwrap_or(tokens.len()));
        let token = if token.contains('~') {
            Cow::Owned(token.replace("~1", "/").replace("~0", "~"))
        } else {
            Cow::Borrowed(token)
        };
        Some((token, Self(rest)))
    }
}

/// Returns the index of the element at a token of a pointer.
pub(crate) fn element_index(token: &str) -> Option<usize> {
    let is_index = token == "0" || token.starts_with(|first: char| ('1'..='9').contains(&first));
    token.parse().ok().filter(|_| is_index)
}

/// Decodes the value at a pointer in JSON; `None` if it is absent or null. The first of duplicate keys counts.
pub(crate) fn read_json<'de, T: Deserialize<'de>>(
    text: &'de str,
    pointer: Pointer<'_>,
) -> Result<Option<T>, ValueError> {
    let Some((token, rest)) = pointer.split() else { return decode_first(text) };
    let mut scanner = Scanner::new(text.as_bytes());
    match scanner.peek() {
        Some(b'{') => {
            if !find_key(&mut scanner, &token)? {
                return Ok(None);
            }
            read_json(&text[scanner.position()..], rest).map_err(|error| error.in_field(&token))
        }
        Some(b'[') => {
            let Some(index) = element_index(&token) else { return Ok(None) };
            if !find_element(&mut scanner, index)? {
                return Ok(None);
            }
            read_json(&text[scanner.position()..], rest).map_err(|error| error.in_element(index))
        }
        Some(_) => Ok(None),
        None => Err(scanner.error().into()),
    }
}

/// Moves to the member with this key.
fn find_key(scanner: &mut Scanner<'_>, name: &str) -> Result<bool, ValueError> {
    scanner.enter(b'{')?;
    while let Some(key) = scanner.next_key()? {
        if key.is(name) {
            return Ok(true);
        }
        scanner.skip_value().map_err(|error| ValueError::from(error).in_field(&key.text()))?;
    }
    Ok(false)
}

/// Moves to the element with this index.
fn find_element(scanner: &mut Scanner<'_>, index: usize) -> Result<bool, ValueError> {
    scanner.enter(b'[')?;
    for position in 0..=index {
        if !scanner.next_element()? {
            return Ok(false);
        }
        if position < index {
            scanner.skip_value().map_err(|error| ValueError::from(error).in_element(position))?;
        }
    }
    Ok(true)
}

/// Decodes the value at a pointer in protobuf; `None` if it is absent or null.
pub(crate) fn read_protobuf<'de, T: Deserialize<'de>>(
    mut object: ValueRef<'de>,
    pointer: Pointer<'_>,
) -> Result<Option<T>, ValueError> {
    read_node(Node(&mut object), pointer)
}

fn read_node<'de, T: Deserialize<'de>>(
    mut node: Node<'_, 'de>,
    pointer: Pointer<'_>,
) -> Result<Option<T>, ValueError> {
    let Some((token, rest)) = pointer.split() else { return Option::deserialize(node) };
    match node.token()? {
        Token::Map(Container::Json(text)) | Token::List(Container::Json(text)) => read_json(text, pointer),
        Token::Map(mut container) => {
            if !container.find_member(&token)? {
                return Ok(None);
            }
            read_node(container.value(), rest).map_err(|error| container.error_in_member(error))
        }
        Token::List(mut container) => {
            let Some(index) = element_index(&token) else { return Ok(None) };
            if !container.find_element(index)? {
                return Ok(None);
            }
            read_node(container.value(), rest).map_err(|error| container.error_in_element(error))
        }
        _ => Ok(None),
    }
}

impl Container<'_> {
    /// Moves to the member with this name.
    fn find_member(&mut self, name: &str) -> Result<bool, ValueError> {
        loop {
            match self.next_member() {
                Step::Next if self.name() == name => return Ok(true),
                Step::Next => self.value().skip().map_err(|error| self.error_in_member(error))?,
                Step::End => return Ok(false),
                Step::Failed(error) => return Err(error),
            }
        }
    }

    /// Moves to the element with this index.
    fn find_element(&mut self, index: usize) -> Result<bool, ValueError> {
        for position in 0..=index {
            match self.next_element() {
                Step::Next if position == index => return Ok(true),
                Step::Next => self.value().skip().map_err(|error| self.error_in_element(error))?,
                Step::End => return Ok(false),
                Step::Failed(error) => return Err(error),
            }
        }
        Ok(false)
    }
}
