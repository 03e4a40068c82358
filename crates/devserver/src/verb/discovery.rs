//! Tells what is served.

use crate::registry::{
    discovery::{self, Root},
    openapi,
};
use crate::verb::{
    answer::{Answer, Media},
    cluster::Cluster,
    refusal::Refusal,
};

/// A document that tells of what is served.
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

/// How much a client wants to know at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// One document.
    One,
    /// Everything below it.
    Aggregated,
}

/// Answers with a document.
pub(crate) fn discovery(cluster: &Cluster, document: &Document, depth: Depth) -> Result<Answer, Refusal> {
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
        (Document::Description(group, version), _) => openapi::description(&registry, group, version),
    };
    found.map(|document| Answer::document(&document)).ok_or_else(Refusal::no_such_path)
}

fn aggregated(cluster: &Cluster, root: Root) -> Answer {
    let document = discovery::aggregated(&cluster.registry(), root);
    Answer { media: Media::Discovery, ..Answer::document(&document) }
}
