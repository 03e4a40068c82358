//! The discovery documents.

use crate::registry::{
    discovery::{self, Root},
    openapi,
};
use crate::verb::{
    api_response::{ApiResponse, Media},
    cluster::Cluster,
    error_response::ErrorResponse,
};

/// A discovery document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Document {
    /// `/api`, for a client that reaches the server under this name.
    Core(String),
    /// `/apis`.
    Groups,
    /// `/apis/{group}`.
    Group(String),
    /// `/api/v1` and `/apis/{group}/{version}`.
    Version(String, String),
    /// `/version`.
    Server,
    /// `/openapi/v3`.
    Descriptions,
    /// `/openapi/v3/api/v1` and `/openapi/v3/apis/{group}/{version}`.
    Description(String, String),
}

/// The form of a discovery document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// The document alone.
    One,
    /// Aggregated discovery.
    Aggregated,
}

/// Returns a discovery document.
pub(crate) fn discovery(
    cluster: &Cluster,
    document: &Document,
    depth: Depth,
) -> Result<ApiResponse, ErrorResponse> {
    let registry = cluster.registry();
    let found = match (document, depth) {
        (Document::Core(_), Depth::Aggregated) => return Ok(aggregated(cluster, Root::Core)),
        (Document::Groups, Depth::Aggregated) => return Ok(aggregated(cluster, Root::Groups)),
        (Document::Core(address), Depth::One) => Some(discovery::api_versions(address)),
        (Document::Groups, Depth::One) => Some(discovery::api_group_list(&registry)),
        (Document::Group(group), _) => discovery::api_group(&registry, group),
        (Document::Version(group, version), _) => discovery::api_resource_list(&registry, group, version),
        (Document::Server, _) => Some(discovery::version()),
        (Document::Descriptions, _) => Some(openapi::index(&registry)),
        (Document::Description(group, version), _) => {
            let json = openapi::description(&registry, group, version);
            return json.map(|json| ApiResponse::json(200, json)).ok_or_else(ErrorResponse::no_such_path);
        }
    };
    found.map(|document| ApiResponse::document(&document)).ok_or_else(ErrorResponse::no_such_path)
}

fn aggregated(cluster: &Cluster, root: Root) -> ApiResponse {
    let document = discovery::aggregated(&cluster.registry(), root);
    ApiResponse { media: Media::Discovery, ..ApiResponse::document(&document) }
}
