//! Reads one object.

use crate::storage::Record;
use crate::verb::{
    api_response::ApiResponse, cluster::Cluster, conversion, error_response::ErrorResponse,
    form::ObjectEncoder, request::Request,
};
use kube_informer_wire::ResourceVersion;

/// Returns the object in the path.
pub(crate) async fn get(cluster: &Cluster, request: &Request) -> Result<ApiResponse, ErrorResponse> {
    let requested = request.parameter("resourceVersion").unwrap_or_default();
    if let Some(version) = read_version(&requested)? {
        cluster.reached(version).await?;
    }
    let found = cluster.store.get(&request.collection(), &request.key());
    let record = found.ok_or_else(|| ErrorResponse::not_found(&request.resource, &request.name))?;
    let record = conversion::records(cluster, &request.resource, vec![record]).await?.remove(0);
    Ok(object(200, request, &record))
}

/// Returns an object in the requested representation.
pub(crate) fn object(code: u16, request: &Request, record: &Record) -> ApiResponse {
    let encoder =
        ObjectEncoder::new(&request.resource, request.form, request.parameter("includeObject").as_deref())
            .at(request.past);
    if let Some(protobuf) = request.protobuf() {
        return ApiResponse::protobuf(code, protobuf.object(record));
    }
    let mut json = Vec::with_capacity(encoder.size(record));
    encoder.append(record, &mut json);
    ApiResponse::json(code, json)
}

/// Parses a version; `None` if it is empty.
pub(crate) fn read_version(text: &str) -> Result<Option<u64>, ErrorResponse> {
    let version = ResourceVersion::parse_optional(text).ok().flatten();
    match version {
        None if text.is_empty() => Ok(None),
        Some(version) if version.to_number().is_some() => Ok(version.to_number()),
        Some(_) | None => {
            Err(ErrorResponse::bad_request(&format!("Invalid value: {text:?}: not a resource version")))
        }
    }
}
