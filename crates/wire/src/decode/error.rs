//! What can be wrong with an object, and in which of its fields.

use crate::{json::JsonError, protobuf::ProtobufError};
use serde::de::{Expected, Unexpected};
use std::fmt;

/// Why bytes are not the object that was expected.
#[derive(Debug)]
pub(crate) struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    /// The fields that it lies in, the innermost first, as `.name` or `[0]`.
    path: Vec<String>,
    cause: Cause,
}

/// What is wrong.
#[derive(Debug, thiserror::Error)]
enum Cause {
    #[error(transparent)]
    Protobuf(ProtobufError),
    #[error(transparent)]
    Json(JsonError),
    /// JSON that is not read here.
    #[error(transparent)]
    Tree(serde_json::Error),
    #[error("text is no UTF-8 at byte {0}")]
    Text(usize),
    #[error("objects and lists are nested deeper than 127 levels")]
    Deep,
    /// What the type that is decoded says.
    #[error("{0}")]
    Other(String),
}

/// How serde_json begins to say so; its category is that of text that is no JSON.
const TREE_TOO_DEEP: &str = "recursion limit exceeded";

impl Error {
    #[cold]
    fn new(cause: Cause) -> Self {
        Self(Box::new(Inner { path: Vec::new(), cause }))
    }

    pub(super) fn no_text(error: std::str::Utf8Error) -> Self {
        Self::new(Cause::Text(error.valid_up_to()))
    }

    /// It may be well-formed, and is more than is taken in.
    pub(super) fn deep() -> Self {
        Self::new(Cause::Deep)
    }

    /// It lies in a field of this name, or under this key of a map.
    #[cold]
    pub(super) fn within(&mut self, name: &str) {
        self.0.path.push(format!(".{name}"));
    }

    /// It lies in this element of a list.
    #[cold]
    pub(super) fn within_element(&mut self, index: usize) {
        self.0.path.push(format!("[{index}]"));
    }

    /// It lies behind the object.
    pub(super) fn at_the_end(mut self) -> Self {
        self.0.path.push("its end".to_owned());
        self
    }

    /// Whether it is JSON that is none. Of protobuf one cannot tell what is broken from what is new.
    pub(crate) fn is_malformed(&self) -> bool {
        match &self.0.cause {
            Cause::Json(_) | Cause::Text(_) => true,
            Cause::Tree(error) => !error.is_data() && !error.to_string().starts_with(TREE_TOO_DEEP),
            Cause::Protobuf(_) | Cause::Deep | Cause::Other(_) => false,
        }
    }

    /// The field that is wrong, `spec.containers[0].name` for one; a dot if it is the object itself.
    pub(crate) fn path(&self) -> String {
        let path: String = self.0.path.iter().rev().map(String::as_str).collect();
        match path.strip_prefix('.').unwrap_or(&path) {
            "" => ".".to_owned(),
            path => path.to_owned(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.cause.fmt(f)
    }
}

impl std::error::Error for Error {}

impl From<ProtobufError> for Error {
    fn from(error: ProtobufError) -> Self {
        Self::new(Cause::Protobuf(error))
    }
}

impl From<JsonError> for Error {
    fn from(error: JsonError) -> Self {
        Self::new(Cause::Json(error))
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::new(Cause::Tree(error))
    }
}

/// Errors go to logs, and what stands in an object may be a secret: they say what sort of value it is, and not which.
impl serde::de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(Cause::Other(message.to_string()))
    }

    #[cold]
    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format_args!("invalid type: {}, expected {expected}", Sort(unexpected)))
    }

    #[cold]
    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self::custom(format_args!("unknown variant, expected one of {expected:?}"))
    }
}

/// Shows what sort of value it is.
struct Sort<'u>(Unexpected<'u>);

impl fmt::Display for Sort<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Unexpected::Bool(_) => f.write_str("boolean"),
            Unexpected::Unsigned(_) | Unexpected::Signed(_) => f.write_str("integer"),
            Unexpected::Float(_) => f.write_str("floating point"),
            Unexpected::Str(_) | Unexpected::Char(_) => f.write_str("string"),
            Unexpected::Bytes(_) => f.write_str("byte array"),
            // As the JSON decoder calls it.
            Unexpected::Unit => f.write_str("null"),
            other => other.fmt(f),
        }
    }
}
