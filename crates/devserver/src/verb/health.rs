//! The health endpoints.

use crate::verb::api_response::{ApiResponse, Media};

/// Responds to a probe.
pub(crate) fn health() -> ApiResponse {
    ApiResponse::text("ok")
}

/// Responds to old clients with an empty OpenAPI v2 document, so that they do not validate objects.
pub(crate) fn swagger() -> ApiResponse {
    ApiResponse { media: Media::Swagger, ..ApiResponse::text("") }
}
