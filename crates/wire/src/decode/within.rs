//! What is inside of an object, a map or a list, in whatever encoding.

use super::{
    error::Error,
    text::{Brackets, Text},
};
use crate::protobuf::{Elements, Entries, Next, Place, Walk};

/// An object, a map or a list, up to where it has been read.
#[derive(Debug)]
pub(super) enum Within<'de> {
    Json(Brackets<'de>),
    Message(Walk<'de>),
    Entries(Entries<'de>),
    Elements(Elements<'de>),
    /// None.
    Nothing(Place<'de>),
}

/// A value.
#[derive(Debug)]
pub(super) enum Node<'n, 'de> {
    Json(&'n mut Text<'de>),
    Protobuf(&'n mut Place<'de>),
}

impl<'de> Within<'de> {
    /// Nothing at all.
    pub(super) fn nothing() -> Self {
        Self::Nothing(Place::of(Next::Null))
    }

    /// Goes on to the next member, if there is one.
    #[inline(never)]
    pub(super) fn next_member(&mut self) -> Result<bool, Error> {
        match self {
            Self::Json(brackets) => Ok(brackets.next_member()?),
            Self::Message(walk) => Ok(walk.advance()?),
            Self::Entries(entries) => Ok(entries.advance()?),
            Self::Elements(elements) => Ok(elements.advance()?),
            Self::Nothing(_) => Ok(false),
        }
    }

    /// Goes on to the next element, if there is one.
    #[inline(never)]
    pub(super) fn next_element(&mut self) -> Result<bool, Error> {
        match self {
            Self::Json(brackets) => Ok(brackets.next_element()?),
            _ => self.next_member(),
        }
    }

    /// The name of the member that was come to last.
    #[inline]
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Json(brackets) => brackets.name(),
            Self::Message(walk) => walk.name(),
            Self::Entries(entries) => entries.key(),
            Self::Elements(_) | Self::Nothing(_) => "",
        }
    }

    /// The member or element that was come to last.
    #[inline]
    pub(super) fn value(&mut self) -> Node<'_, 'de> {
        match self {
            Self::Json(brackets) => Node::Json(brackets.text()),
            Self::Message(walk) => Node::Protobuf(walk.place()),
            Self::Entries(entries) => Node::Protobuf(entries.place()),
            Self::Elements(elements) => Node::Protobuf(elements.place()),
            Self::Nothing(place) => Node::Protobuf(place),
        }
    }

    /// How many there are yet to come, if that is known.
    pub(super) fn left(&self) -> Option<usize> {
        match self {
            Self::Json(brackets) => brackets.size_hint(),
            Self::Message(_) | Self::Nothing(_) => None,
            Self::Entries(entries) => Some(entries.left()),
            Self::Elements(elements) => Some(elements.left()),
        }
    }

    /// Says of an error that it is in the member that was come to last.
    #[cold]
    #[inline(never)]
    pub(super) fn blame_member(&self, error: &mut Error) {
        error.within(self.name());
    }

    /// Says of an error that it is in the element that was come to last.
    #[cold]
    #[inline(never)]
    pub(super) fn blame_element(&self, error: &mut Error) {
        error.within_element(match self {
            Self::Json(brackets) => brackets.index(),
            Self::Elements(elements) => elements.index(),
            Self::Message(_) | Self::Entries(_) | Self::Nothing(_) => 0,
        });
    }
}

impl<'de> Node<'_, 'de> {
    /// Goes on behind what was entered here.
    #[inline(never)]
    pub(super) fn leave(&mut self, within: &mut Within<'de>) -> Result<(), Error> {
        let Within::Json(brackets) = within else { return Ok(()) };
        let mut behind = brackets.close()?;
        match self {
            Node::Json(text) => text.reader = behind,
            // JSON that is in protobuf is alone there.
            Node::Protobuf(_) => behind.end()?,
        }
        Ok(())
    }
}
