//! Reads one object.

use crate::storage::Record;
use crate::verb::{answer::Answer, cluster::Cluster, form::Shape, refusal::Refusal, request::Request};
use kube_informer_wire::ResourceVersion;

/// Answers with the object that the path names.
pub(crate) async fn get(cluster: &Cluster, request: &Request) -> Result<Answer, Refusal> {
    let asked = request.parameter("resourceVersion").unwrap_or_default();
    if let Some(version) = read_version(&asked)? {
        cluster.reached(version).await?;
    }
    let found = cluster.store.get(&request.place(), &request.key());
    let record = found.ok_or_else(|| Refusal::not_found(&request.resource, &request.name))?;
    Ok(object(200, request, &record))
}

/// Answers with an object, in the form that the client asks for.
pub(crate) fn object(code: u16, request: &Request, record: &Record) -> Answer {
    let shape = Shape::new(&request.resource, request.form, request.parameter("includeObject").as_deref())
        .at(request.past);
    if let Some(protobuf) = request.protobuf() {
        return Answer::protobuf(code, protobuf.object(record));
    }
    let mut json = Vec::with_capacity(shape.size(record));
    shape.append(record, &mut json);
    Answer::json(code, json)
}

/// Reads a version; empty is none.
pub(crate) fn read_version(text: &str) -> Result<Option<u64>, Refusal> {
    let version = ResourceVersion::parse_optional(text).ok().flatten();
    match version {
        None if text.is_empty() => Ok(None),
        Some(version) if version.to_number().is_some() => Ok(version.to_number()),
        Some(_) | None => {
            Err(Refusal::bad_request(&format!("Invalid value: {text:?}: not a resource version")))
        }
    }
}
