//! The response to a request, independent of HTTP.

use bytes::Bytes;
use futures_core::Stream;
use kube_informer_wire::status_to_json;
use serde_json::Value;
use std::{fmt, pin::Pin};

use crate::verb::error_response::ErrorResponse;

/// The response to a request.
#[derive(Debug)]
pub(crate) struct ApiResponse {
    /// The HTTP status code.
    pub(crate) code: u16,
    /// The header `Retry-After`, in seconds.
    pub(crate) retry_after: Option<u32>,
    /// The content type.
    pub(crate) media: Media,
    /// The body.
    pub(crate) body: Body,
}

/// The content type of a response.
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

/// The body of a response.
pub(crate) enum Body {
    /// A complete body.
    Whole(Bytes),
    /// A large body in chunks.
    Parts(Box<dyn Iterator<Item = Bytes> + Send + Sync>),
    /// A stream of events. An error closes the connection without a complete response.
    Stream(Pin<Box<dyn Stream<Item = Result<Bytes, StreamCut>> + Send>>),
}

/// Reports that a fault has cut the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the response was cut")]
pub(crate) struct StreamCut;

impl ApiResponse {
    /// Creates a response from encoded JSON.
    pub(crate) fn json(code: u16, json: impl Into<Bytes>) -> Self {
        Self { code, retry_after: None, media: Media::Json, body: Body::Whole(json.into()) }
    }

    /// Creates a response from encoded protobuf.
    pub(crate) fn protobuf(code: u16, body: impl Into<Bytes>) -> Self {
        Self { media: Media::Protobuf, ..Self::json(code, body) }
    }

    /// Creates a response from a JSON value.
    pub(crate) fn document(document: &Value) -> Self {
        Self::json(200, document.to_string())
    }

    /// Creates a response with plain text.
    pub(crate) fn text(text: &'static str) -> Self {
        Self { media: Media::Text, ..Self::json(200, text) }
    }
}

impl From<ErrorResponse> for ApiResponse {
    fn from(error: ErrorResponse) -> Self {
        let status = error.status();
        Self { retry_after: error.retry_after(), ..Self::json(status.code, status_to_json(status)) }
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
