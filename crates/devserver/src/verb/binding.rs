//! Assigns a pod to a node: the subresource `binding`.

use crate::object::metadata;
use crate::verb::{
    api_response::ApiResponse,
    checks::RequestType,
    clock::now,
    cluster::Cluster,
    error_response::ErrorResponse,
    object_part::ObjectPart,
    request::Request,
    update::{Change, apply, current},
};
use kube_core::Status;
use kube_informer_wire::status_to_json;
use serde_json::{Value, json};

/// Assigns the pod that the path names to the node that the body names.
pub(crate) async fn bind(cluster: &Cluster, request: &Request) -> Result<ApiResponse, ErrorResponse> {
    let binding = request.object_of("v1", "Binding")?;
    let intent = request.intent("CreateOptions")?;
    let node = binding.pointer("/target/name").and_then(Value::as_str).unwrap_or_default();
    if node.is_empty() {
        return Err(ErrorResponse::bad_request("target.name is required: the name of the node"));
    }
    loop {
        let (record, old) = current(cluster, request)?;
        check(request, &old, node)?;
        let mut new = old.clone();
        new["spec"]["nodeName"] = node.into();
        let annotations = binding.pointer("/metadata/annotations").and_then(Value::as_object);
        if let Some(annotations) = annotations {
            let own = metadata::fields(metadata::of(&mut new).entry("annotations").or_insert(Value::Null));
            own.extend(annotations.clone());
        }
        mark_scheduled(&mut new);
        let change = Change { record, old, new, request_type: RequestType::Sent };
        if apply(cluster, request, ObjectPart::Binding, intent, change).await?.is_some() {
            return Ok(ApiResponse::json(201, status_to_json(&Status { code: 201, ..Status::success() })));
        }
    }
}

fn check(request: &Request, pod: &Value, node: &str) -> Result<(), ErrorResponse> {
    let refuse = |why: &str| Err(ErrorResponse::conflict(&request.resource, &request.name, why));
    if metadata::is_deleting(pod) {
        return refuse(&format!("pod {} is being deleted, cannot be assigned to a host", request.name));
    }
    match pod.pointer("/spec/nodeName").and_then(Value::as_str).unwrap_or_default() {
        "" => Ok(()),
        found => {
            refuse(&format!("pod {} is already assigned to node {found:?}, not to {node:?}", request.name))
        }
    }
}

fn mark_scheduled(pod: &mut Value) {
    let condition = json!({"type": "PodScheduled", "status": "True", "lastTransitionTime": now()});
    let status = metadata::fields(metadata::fields(pod).entry("status").or_insert(Value::Null));
    let conditions = status.entry("conditions").or_insert_with(|| json!([]));
    if let Value::Array(conditions) = conditions {
        conditions.retain(|one| one["type"] != "PodScheduled");
        conditions.push(condition);
    }
}
