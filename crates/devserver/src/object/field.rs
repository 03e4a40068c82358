//! The supported fields of field selectors for each kind, and their values.

use crate::object::{metadata, path};
use crate::registry::Resource;
use kube_informer_wire::FieldSelector;
use serde_json::Value;
use std::borrow::Cow;

/// Reports a field that field selectors for the kind do not support; the response is 400 with this text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnknownField {
    /// The kind supports other fields of its own.
    #[error("field label not supported: {0}")]
    NotSupported(String),
    /// The kind supports only the fields that all kinds support.
    #[error("\"{0}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")]
    NotKnown(String),
}

/// Checks that a selector names only fields that the kind supports.
///
/// # Errors
/// Returns the first unsupported field.
pub(crate) fn check_fields(resource: &Resource, selector: &FieldSelector) -> Result<(), UnknownField> {
    let is_supported = |field: &str| supported_fields(resource).any(|known| known == field);
    let mut named = selector.requirements().iter().map(|requirement| requirement.field());
    let Some(unknown) = named.find(|field| !is_supported(field)) else { return Ok(()) };
    let has_own = resource.is_custom() || !own_fields(resource).is_empty();
    let error = if has_own { UnknownField::NotSupported } else { UnknownField::NotKnown };
    Err(error(unknown.to_owned()))
}

/// Returns the fields that field selectors for a kind can use.
pub(crate) fn supported_fields(resource: &Resource) -> impl Iterator<Item = &str> {
    let name = ["metadata.name", "metadata.namespace"].into_iter();
    // Cluster-scoped custom resources have a name only.
    let name = name.take(if resource.is_custom() && !resource.is_namespaced() { 1 } else { 2 });
    let selectable = resource.selectable_fields.iter().map(String::as_str);
    name.chain(own_fields(resource).iter().copied()).chain(selectable)
}

/// Returns the value of a supported field of an object; the zero value of the field if it is absent.
pub(crate) fn field<'a>(resource: &Resource, object: &'a Value, field: &str) -> Cow<'a, str> {
    match (resource.storage(), field) {
        (_, "metadata.name") => metadata::name(object).into(),
        (_, "metadata.namespace") => metadata::namespace(object).into(),
        (("", "events"), "source") => {
            let component =
                path::read(object, "source.component").and_then(Value::as_str).unwrap_or_default();
            if component.is_empty() { text(object, "reportingComponent") } else { component.into() }
        }
        (("", "pods"), "status.podIP") => {
            let first = path::read(object, "status.podIPs[0].ip").and_then(Value::as_str);
            first.map_or_else(|| text(object, field), Cow::Borrowed)
        }
        // The selector uses the former name of the field.
        (("batch", "jobs"), "status.successful") => or_zero(text(object, "status.succeeded"), "0"),
        (_, "spec.hostNetwork" | "spec.unschedulable") => or_zero(text(object, field), "false"),
        (_, "status.replicas") => or_zero(text(object, field), "0"),
        _ => text(object, field),
    }
}

fn or_zero<'a>(text: Cow<'a, str>, zero: &'static str) -> Cow<'a, str> {
    if text.is_empty() { Cow::Borrowed(zero) } else { text }
}

fn text<'a>(object: &'a Value, field: &str) -> Cow<'a, str> {
    match path::read(object, field) {
        Some(Value::String(text)) => text.into(),
        Some(Value::Bool(truth)) => if *truth { "true" } else { "false" }.into(),
        Some(Value::Number(number)) => number.to_string().into(),
        Some(Value::Null | Value::Array(_) | Value::Object(_)) | None => "".into(),
    }
}

/// Returns the fields that a built-in kind supports in addition to its name and namespace.
fn own_fields(resource: &Resource) -> &'static [&'static str] {
    match resource.storage() {
        ("", "pods") => &POD,
        ("", "events") => &EVENT,
        ("events.k8s.io", "events") => &NEW_EVENT,
        ("", "nodes") => &["spec.unschedulable"],
        ("", "namespaces") => &["status.phase"],
        ("", "secrets") => &["type"],
        ("", "services") => &["spec.clusterIP", "spec.type"],
        ("", "replicationcontrollers") | ("apps", "replicasets") => &["status.replicas"],
        ("batch", "jobs") => &["status.successful"],
        _ => &[],
    }
}

const POD: [&str; 8] = [
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
];

const EVENT: [&str; 11] = [
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
];

const NEW_EVENT: [&str; 10] = [
    "regarding.kind",
    "regarding.namespace",
    "regarding.name",
    "regarding.uid",
    "regarding.apiVersion",
    "regarding.resourceVersion",
    "regarding.fieldPath",
    "reason",
    "reportingController",
    "type",
];
