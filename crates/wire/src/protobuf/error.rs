//! What can be wrong with protobuf, and where.

use std::fmt;

/// Why bytes are not the protobuf that was expected, and at which of them that shows.
#[derive(Debug)]
pub struct ProtobufError(Box<Inner>);

#[derive(Debug)]
struct Inner {
    /// Counted from the first byte of the object, or of the body of a list.
    offset: Option<usize>,
    cause: Cause,
}

/// What is wrong.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Cause {
    #[error("protobuf ends early")]
    Early,
    #[error("a number is longer than 64 bits")]
    Number,
    #[error("{0} is no number of a field")]
    Field(u64),
    #[error("{0} is no way to write a field that is known")]
    Wire(u8),
    #[error("{name} is written in another way than its type")]
    OtherWire { name: &'static str },
    #[error("{name} comes twice")]
    Twice { name: &'static str },
    #[error("text is no UTF-8")]
    Text,
    #[error("messages are nested deeper than {0} levels")]
    Deep(u8),
    #[error("a list has more than {0} elements")]
    Many(usize),
    #[error("time is out of range")]
    Time,
    #[error("body does not begin as protobuf of Kubernetes does")]
    Magic,
    #[error("content is encoded as {0:?}, which is not read")]
    Encoding(String),
    #[error("{api_version} {kind} has no protobuf form that is known")]
    Kind { api_version: String, kind: String },
    #[error("a list is not where it was")]
    Astray,
}

impl ProtobufError {
    pub(crate) fn at(offset: usize, cause: Cause) -> Self {
        Self(Box::new(Inner { offset: Some(offset), cause }))
    }

    pub(crate) fn anywhere(cause: Cause) -> Self {
        Self(Box::new(Inner { offset: None, cause }))
    }

    /// The same, for bytes that begin so far into others.
    pub(crate) fn shifted(mut self, by: usize) -> Self {
        self.0.offset = self.0.offset.map(|offset| offset + by);
        self
    }

    /// Whether more bytes may mend it.
    pub(crate) fn is_early(&self) -> bool {
        matches!(self.0.cause, Cause::Early)
    }

    /// The byte at which it shows, counted from the first of the object or body, if it is one byte's fault.
    #[must_use]
    pub fn offset(&self) -> Option<usize> {
        self.0.offset
    }
}

impl fmt::Display for ProtobufError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.offset {
            Some(offset) => write!(f, "{} at byte {offset}", self.0.cause),
            None => self.0.cause.fmt(f),
        }
    }
}

impl std::error::Error for ProtobufError {}
