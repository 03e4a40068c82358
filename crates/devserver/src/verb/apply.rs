//! Applies a configuration: server-side apply.

use crate::apply::Force;
use crate::invalid::FieldError;
use crate::verb::{
    api_response::ApiResponse,
    checks::RequestType,
    cluster::Cluster,
    create::create_by_apply,
    error_response::ErrorResponse,
    object_part::ObjectPart,
    ownership::Ownership,
    request::Request,
    update::{Change, apply as store, current_converted, show},
};
use serde_json::Value;

const OPTIONS: &str = "PatchOptions";

/// Applies the configuration in the body, and responds with the resulting object, which is created if it does not exist.
pub(crate) async fn apply(
    cluster: &Cluster,
    request: &Request,
    part: ObjectPart,
) -> Result<ApiResponse, ErrorResponse> {
    let intent = request.intent(OPTIONS)?;
    if request.parameter("fieldManager").unwrap_or_default().is_empty() {
        let error = FieldError::required("fieldManager", "is required for apply patch");
        return Err(ErrorResponse::options(OPTIONS, &error));
    }
    if part == ObjectPart::Scale {
        return Err(ErrorResponse::unsupported_media_type(
            "apply to the subresource scale is not supported by this server; patch it, or apply the object",
        ));
    }
    let force = if request.flag("force")? { Force::Yes } else { Force::No };
    let config = configuration(request)?;
    let ownership = Ownership::new(request, part, OPTIONS)?;
    loop {
        if cluster.read(&request.resource, &request.key()).is_none() {
            if part != ObjectPart::Whole {
                return Err(ErrorResponse::not_found(&request.resource, &request.name));
            }
            let object = ownership.apply(None, &config, force)?;
            match create_by_apply(cluster, request, object, intent).await? {
                Some(answer) => return Ok(answer),
                None => continue,
            }
        }
        let (record, old) = match current_converted(cluster, request).await {
            Err(error) if error.status().code == 404 => continue,
            found => found?,
        };
        let new = ownership.apply(Some(&old), &config, force)?;
        let change = Change { record, old, new, request_type: RequestType::Applied };
        if let Some(record) = store(cluster, request, part, intent, change).await? {
            return show(cluster, request, part, &record).await;
        }
    }
}

fn configuration(request: &Request) -> Result<Value, ErrorResponse> {
    let config = request
        .yaml()
        .map_err(|error| ErrorResponse::bad_request(&format!("error decoding YAML: {error}")))?;
    match config {
        Value::Object(_) => Ok(config),
        _ => Err(ErrorResponse::bad_request("error decoding YAML: expected an object")),
    }
}
