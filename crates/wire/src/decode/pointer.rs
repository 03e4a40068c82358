//! A part of an object, found by its JSON pointer, without a look at the rest of it.

use super::{
    error::Error,
    token::Token,
    within::{Node, Step, Within},
};
use serde::Deserialize;
use std::borrow::Cow;

/// Where a part of an object stands, as in RFC 6901: `/spec/containers/0/image`. An empty one is of all of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pointer<'p>(&'p str);

impl<'p> Pointer<'p> {
    /// Nothing if it does not begin with a slash, though it is not empty.
    pub(crate) fn new(text: &'p str) -> Option<Self> {
        (text.is_empty() || text.starts_with('/')).then_some(Self(text))
    }

    /// The name that comes first, and what follows it.
    fn split(self) -> Option<(Cow<'p, str>, Self)> {
        let names = self.0.strip_prefix('/')?;
        let (name, rest) = names.split_at(names.find('/').unwrap_or(names.len()));
        let name = match name.contains('~') {
            false => Cow::Borrowed(name),
            true => Cow::Owned(name.replace("~1", "/").replace("~0", "~")),
        };
        Some((name, Self(rest)))
    }

    /// Decodes what stands there. Of a name that is there twice, the first counts.
    pub(super) fn read<'de, T: Deserialize<'de>>(self, mut node: Node<'_, 'de>) -> Result<Option<T>, Error> {
        let Some((name, rest)) = self.split() else { return Option::deserialize(node) };
        match node.token()? {
            Token::Map(mut within) => match within.come_to_member(&name)? {
                true => rest.read(within.value()).map_err(|error| within.blame_member(error)),
                false => Ok(None),
            },
            Token::List(mut within) => match within.come_to_element(&name)? {
                true => rest.read(within.value()).map_err(|error| within.blame_element(error)),
                false => Ok(None),
            },
            _ => Ok(None),
        }
    }
}

impl Within<'_> {
    /// Goes on to the member of this name, if there is one.
    fn come_to_member(&mut self, name: &str) -> Result<bool, Error> {
        loop {
            match self.next_member() {
                Step::Next if self.name() == name => return Ok(true),
                Step::Next => self.pass_member()?,
                Step::End => return Ok(false),
                Step::Failed(error) => return Err(error),
            }
        }
    }

    fn pass_member(&mut self) -> Result<(), Error> {
        self.value().pass().map_err(|error| self.blame_member(error))
    }

    /// Goes on to the element of this number, if there is one.
    fn come_to_element(&mut self, number: &str) -> Result<bool, Error> {
        let is_number = number == "0" || number.starts_with(|first: char| ('1'..='9').contains(&first));
        let Some(mut ahead) = number.parse::<usize>().ok().filter(|_| is_number) else { return Ok(false) };
        loop {
            match self.next_element() {
                Step::Next if ahead == 0 => return Ok(true),
                Step::Next => self.value().pass().map_err(|error| self.blame_element(error))?,
                Step::End => return Ok(false),
                Step::Failed(error) => return Err(error),
            }
            ahead -= 1;
        }
    }
}
