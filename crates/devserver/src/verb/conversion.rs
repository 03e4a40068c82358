//! Converts custom resources from and to the version in which they are stored, by the webhook of their definition.

use crate::admission::ClientConfig;
use crate::object::metadata;
use crate::registry::{Conversion, Resource};
use crate::storage::{Record, head};
use crate::verb::{
    cluster::{Cluster, encode_converted},
    error_response::ErrorResponse,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// How long a webhook may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Converts an object to the version in which it is stored.
///
/// # Errors
/// If the webhook fails.
pub(crate) async fn to_storage(
    cluster: &Cluster,
    resource: &Resource,
    mut object: Value,
) -> Result<Value, ErrorResponse> {
    let Some(conversion) = &resource.conversion else { return Ok(object) };
    resource.write_type(&mut object);
    let call = Call { cluster, resource, conversion, target: &conversion.storage_version };
    Ok(call.convert(vec![object]).await?.remove(0))
}

/// Converts a stored object to the version of a resource.
///
/// # Errors
/// If the webhook fails.
pub(crate) async fn from_storage(
    cluster: &Cluster,
    resource: &Resource,
    record: &Record,
) -> Result<Value, ErrorResponse> {
    let converted = records(cluster, resource, vec![record.clone()]).await?.remove(0);
    Ok(converted.to_value(&head(&resource.api_version(), &resource.kind)))
}

/// Converts stored objects to the version of a resource.
///
/// # Errors
/// If the webhook fails.
pub(crate) async fn records(
    cluster: &Cluster,
    resource: &Resource,
    records: Vec<Record>,
) -> Result<Vec<Record>, ErrorResponse> {
    let Some(conversion) = resource.conversion.as_ref().filter(|_| !records.is_empty()) else {
        return Ok(records);
    };
    let head = head(&conversion.storage_version, &resource.kind);
    let objects = records.iter().map(|record| record.to_value(&head)).collect();
    let call = Call { cluster, resource, conversion, target: &resource.api_version() };
    let converted = call.convert(objects).await?.into_iter().zip(&records).map(|(object, record)| {
        let content = encode_converted(resource, record.key().clone(), object);
        Record::new(Arc::from(content), record.version())
    });
    Ok(converted.collect())
}

/// Converts an object to another version of its resource. Without a webhook, the versions differ in their name only.
///
/// # Errors
/// If the webhook fails.
pub(crate) async fn between(
    cluster: &Cluster,
    [from, to]: [&Resource; 2],
    mut object: Value,
) -> Result<Value, ErrorResponse> {
    let Some(conversion) = from.conversion.as_ref().or(to.conversion.as_ref()) else {
        to.write_type(&mut object);
        return Ok(object);
    };
    from.write_type(&mut object);
    let call = Call { cluster, resource: from, conversion, target: &to.api_version() };
    Ok(call.convert(vec![object]).await?.remove(0))
}

/// A call of the webhook.
struct Call<'c> {
    cluster: &'c Cluster,
    resource: &'c Resource,
    conversion: &'c Conversion,
    /// The `apiVersion` to convert to.
    target: &'c str,
}

impl Call<'_> {
    async fn convert(self, objects: Vec<Value>) -> Result<Vec<Value>, ErrorResponse> {
        let source = metadata_type(&objects[0]);
        let kind = &self.resource.kind;
        let refuse = |cause: String| {
            let message = format!("conversion webhook for {source}, Kind={kind} {cause}");
            ErrorResponse::unexplained(&message)
        };
        let config = ClientConfig::deserialize(&self.conversion.client_config);
        let config = config.map_err(|error| refuse(format!("failed: {error}")))?;
        let uid = self.cluster.uid();
        let api_version = format!("apiextensions.k8s.io/{}", self.conversion.review_version);
        let request = json!({ "uid": uid, "desiredAPIVersion": self.target, "objects": objects });
        let review = json!({ "kind": "ConversionReview", "apiVersion": api_version, "request": request });
        let answer = self.cluster.webhooks.call(&config, TIMEOUT, &review).await;
        let mut answer = answer.map_err(|cause| refuse(format!("failed: {cause}")))?;
        let is_v1 = self.conversion.review_version == "v1";
        check(&answer, &api_version, is_v1.then_some(&uid))
            .map_err(|cause| refuse(format!("failed: {cause}")))?;
        let converted = match answer["response"]["convertedObjects"].take() {
            Value::Array(converted) => converted,
            _ => Vec::new(),
        };
        if converted.len() != objects.len() {
            let (found, expected) = (converted.len(), objects.len());
            return Err(refuse(format!("returned {found} objects, expected {expected}")));
        }
        let mut complete = Vec::with_capacity(converted.len());
        for (position, (original, converted)) in objects.iter().zip(converted).enumerate() {
            let restored = restore(original, converted, self.target);
            complete.push(
                restored.map_err(|cause| {
                    refuse(format!("returned invalid object at index {position}: {cause}"))
                })?,
            );
        }
        Ok(complete)
    }
}

/// Checks the type, the uid and the result of a response. `uid` is the one to expect; reviews of `v1beta1` need not have it.
fn check(answer: &Value, api_version: &str, uid: Option<&String>) -> Result<(), String> {
    let text = |pointer: &str| answer.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    if uid.is_some() && (text("/apiVersion"), text("/kind")) != (api_version, "ConversionReview") {
        let (found, kind) = (text("/apiVersion"), text("/kind"));
        return Err(format!(
            "expected webhook response of {api_version}, Kind=ConversionReview, got {found}, Kind={kind}"
        ));
    }
    if !answer["response"].is_object() {
        return Err("no response provided".to_owned());
    }
    if let Some(uid) = uid.filter(|uid| **uid != text("/response/uid")) {
        return Err(format!("expected response.uid={uid:?}, got {:?}", text("/response/uid")));
    }
    match (text("/response/result/status"), text("/response/result/message")) {
        ("Success", _) => Ok(()),
        (status, "") => Err(format!("response.result.status was '{status}', not 'Success'")),
        (_, message) => Err(message.to_owned()),
    }
}

/// Returns a converted object with the metadata of the original, except for labels and annotations, which a webhook may change.
fn restore(original: &Value, mut converted: Value, target: &str) -> Result<Value, String> {
    let found = metadata_type(&converted);
    if found != target {
        return Err(format!("invalid groupVersion (expected {target}, received {found})"));
    }
    let kind = |object: &Value| object.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    let (expected, found) = (kind(original), kind(&converted));
    if expected != found {
        return Err(format!("invalid kind (expected {expected}, received {found})"));
    }
    for field in ["name", "namespace", "uid"] {
        let (expected, found) = (metadata::text(original, field), metadata::text(&converted, field));
        if expected != found {
            let field = if field == "uid" { "UID" } else { field };
            return Err(format!("must have the same {field}: {expected} != {found}"));
        }
    }
    let mut restored = original["metadata"].clone();
    let fields = metadata::fields(&mut restored);
    for name in ["labels", "annotations"] {
        metadata::keep(name, converted["metadata"].get(name), fields);
    }
    converted["metadata"] = restored;
    Ok(converted)
}

fn metadata_type(object: &Value) -> &str {
    object.get("apiVersion").and_then(Value::as_str).unwrap_or_default()
}
