//! What is inside of an object, a map or a list, in whatever encoding.

use super::{
    error::Error,
    text::{Brackets, Text},
};
use crate::protobuf::{Elements, Entries, Next, Place, Walk};
use std::borrow::Cow;

/// An object, a map or a list, up to where it has been read. It owns nothing, so that nothing is done when it is left.
#[derive(Debug)]
pub(super) enum Within<'de> {
    Json(Brackets<'de>),
    Message(Walk<'de>),
    Entries(Entries<'de>),
    Elements(Elements<'de>),
    /// None.
    Nothing(Place<'de>),
}

/// What comes next in an object, a map or a list. This is returned in registers.
#[derive(Debug)]
pub(super) enum Step {
    /// A member or an element.
    Next,
    End,
    Failed(Error),
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

    /// Whether it is in JSON, which has something behind it.
    #[inline]
    pub(super) fn is_json(&self) -> bool {
        matches!(self, Self::Json(_))
    }

    /// Whether it is a list.
    #[inline]
    pub(super) fn is_list(&self) -> bool {
        match self {
            Self::Message(_) | Self::Entries(_) => false,
            Self::Elements(_) | Self::Nothing(_) => true,
            Self::Json(brackets) => brackets.is_list(),
        }
    }

    /// Goes on to the next member, if there is one.
    #[inline(never)]
    pub(super) fn next_member(&mut self) -> Step {
        match self {
            Self::Message(walk) => walk.advance().into(),
            _ => self.next_other_member(),
        }
    }

    #[inline(never)]
    fn next_other_member(&mut self) -> Step {
        match self {
            Self::Entries(entries) => entries.advance().into(),
            Self::Json(brackets) => brackets.next_member().into(),
            Self::Message(_) | Self::Elements(_) | Self::Nothing(_) => Step::End,
        }
    }

    /// Goes on to the next element, if there is one.
    #[inline(never)]
    pub(super) fn next_element(&mut self) -> Step {
        match self {
            Self::Elements(elements) => elements.advance().into(),
            Self::Json(brackets) => brackets.next_element().into(),
            Self::Message(_) | Self::Entries(_) | Self::Nothing(_) => Step::End,
        }
    }

    /// The name of the member that was come to last.
    #[inline]
    pub(super) fn name(&self) -> Cow<'_, str> {
        match self {
            Self::Message(walk) => Cow::Borrowed(walk.name()),
            Self::Json(brackets) => brackets.name(),
            Self::Entries(entries) => Cow::Borrowed(entries.key()),
            Self::Elements(_) | Self::Nothing(_) => Cow::Borrowed(""),
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
    pub(super) fn blame_member(&self, mut error: Error) -> Error {
        error.within(&self.name());
        error
    }

    /// Says of an error that it is in the element that was come to last.
    #[cold]
    #[inline(never)]
    pub(super) fn blame_element(&self, mut error: Error) -> Error {
        error.within_element(match self {
            Self::Json(brackets) => brackets.index(),
            Self::Elements(elements) => elements.index(),
            Self::Message(_) | Self::Entries(_) | Self::Nothing(_) => 0,
        });
        error
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

impl<E: Into<Error>> From<Result<bool, E>> for Step {
    #[inline]
    fn from(result: Result<bool, E>) -> Self {
        match result {
            Ok(true) => Self::Next,
            Ok(false) => Self::End,
            Err(error) => Self::Failed(error.into()),
        }
    }
}
