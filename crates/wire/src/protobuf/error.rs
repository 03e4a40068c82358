//! Why protobuf cannot be decoded.

use std::fmt;

/// Protobuf that cannot be decoded.
#[derive(Debug)]
pub struct ProtobufError(Box<Inner>);

#[derive(Debug)]
struct Inner {
    /// From the beginning of the object, or of the body of a list.
    offset: Option<usize>,
    cause: Cause,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Cause {
    #[error("unexpected end of protobuf")]
    UnexpectedEnd,
    #[error("varint is longer than 64 bits")]
    VarintTooLong,
    #[error("invalid field number {0}")]
    FieldNumber(u64),
    #[error("unsupported wire type {0}")]
    WireType(u8),
    #[error("field {name} has the wrong wire type")]
    WrongWireType { name: &'static str },
    #[error("duplicate field {name}")]
    Duplicate { name: &'static str },
    #[error("invalid UTF-8")]
    Utf8,
    #[error("messages are nested deeper than {0} levels")]
    TooDeep(u8),
    #[error("a list has more than {0} elements")]
    TooManyElements(usize),
    #[error("time is out of range")]
    Time,
    #[error("body does not start with the Kubernetes protobuf magic number")]
    Magic,
    #[error("unsupported content encoding {0:?}")]
    ContentEncoding(String),
    #[error("no protobuf schema for {api_version} {kind}")]
    UnknownKind { api_version: String, kind: String },
    #[error("elements of a list are not consecutive")]
    Moved,
}

impl ProtobufError {
    pub(crate) fn at(offset: usize, cause: Cause) -> Self {
        Self(Box::new(Inner { offset: Some(offset), cause }))
    }

    pub(crate) fn new(cause: Cause) -> Self {
        Self(Box::new(Inner { offset: None, cause }))
    }

    /// Adds to the offset, for bytes that begin inside of others.
    pub(crate) fn shifted(mut self, by: usize) -> Self {
        self.0.offset = self.0.offset.map(|offset| offset + by);
        self
    }

    /// Whether the protobuf is incomplete.
    pub(crate) fn is_unexpected_end(&self) -> bool {
        matches!(self.0.cause, Cause::UnexpectedEnd)
    }

    /// Returns the offset of the error from the beginning of the object or body, if there is one.
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
