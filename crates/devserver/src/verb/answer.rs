//! What a request is answered with, before it is HTTP.

use bytes::Bytes;
use futures_core::Stream;
use kube_informer_wire::status_to_json;
use serde_json::Value;
use std::{fmt, pin::Pin};

use crate::verb::refusal::Refusal;

/// The answer to a request.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The HTTP status code.
    pub(crate) code: u16,
    /// When the client may come again, in seconds.
    pub(crate) retry_after: Option<u32>,
    /// What is in the body.
    pub(crate) media: Media,
    /// The body.
    pub(crate) body: Body,
}

/// What the bytes of an answer are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Media {
    /// JSON.
    Json,
    /// The JSON of aggregated discovery.
    Discovery,
    /// Protobuf.
    Protobuf,
    /// Frames of protobuf.
    ProtobufWatch,
    /// Text.
    Text,
    /// An OpenAPI v2 description, as protobuf.
    Swagger,
}

/// The bytes of an answer, at once or as they come.
pub(crate) enum Body {
    /// All of them.
    Whole(Bytes),
    /// A few at a time, because all of them at once would be large.
    Parts(Box<dyn Iterator<Item = Bytes> + Send + Sync>),
    /// As things happen; an error breaks the connection.
    Stream(Pin<Box<dyn Stream<Item = Result<Bytes, Broken>> + Send>>),
}

/// The stream broke off in the middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server broke off the answer")]
pub(crate) struct Broken;

impl Answer {
    /// JSON that is encoded already.
    pub(crate) fn json(code: u16, json: impl Into<Bytes>) -> Self {
        Self { code, retry_after: None, media: Media::Json, body: Body::Whole(json.into()) }
    }

    /// Protobuf that is encoded already.
    pub(crate) fn protobuf(code: u16, body: impl Into<Bytes>) -> Self {
        Self { media: Media::Protobuf, ..Self::json(code, body) }
    }

    /// A document.
    pub(crate) fn document(document: &Value) -> Self {
        Self::json(200, document.to_string())
    }

    /// Plain text.
    pub(crate) fn text(text: &'static str) -> Self {
        Self { media: Media::Text, ..Self::json(200, text) }
    }
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Self {
        let status = refusal.status();
        Self { retry_after: refusal.retry_after(), ..Self::json(status.code, status_to_json(status)) }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Whole(_) => "Whole",
            Self::Parts(_) => "Parts",
            Self::Stream(_) => "Stream",
        })
    }
}
