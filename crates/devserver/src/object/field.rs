//! The fields of each kind that a field selector may name, and their values.

use crate::object::{metadata, path};
use crate::registry::Resource;
use kube_informer_wire::FieldSelector;
use serde_json::Value;
use std::borrow::Cow;

/// A field selector that names a field that the kind does not support; the answer is 400 with this text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnknownField {
    /// The kind supports some fields, and not this one.
    #[error("field label not supported: {0}")]
    NotSupported(String),
    /// The kind supports no fields beside those that every kind has.
    #[error("\"{0}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")]
    NotKnown(String),
}

/// Checks that a selector names only fields that the kind supports.
///
/// # Errors
/// Names the first field that it does not support.
pub(crate) fn check_fields(resource: &Resource, selector: &FieldSelector) -> Result<(), UnknownField> {
    let is_supported = |field: &str| supported_fields(resource).any(|known| known == field);
    let mut named = selector.requirements().iter().map(|requirement| requirement.field());
    let Some(unknown) = named.find(|field| !is_supported(field)) else { return Ok(()) };
    let has_own = resource.is_custom() || !own_fields(resource).is_empty();
    let error = if has_own { UnknownField::NotSupported } else { UnknownField::NotKnown };
    Err(error(unknown.to_owned()))
}

/// Every field of a kind that a field selector may name.
pub(crate) fn supported_fields(resource: &Resource) -> impl Iterator<Item = &str> {
    let name = ["metadata.name", "metadata.namespace"].into_iter();
    // Objects outside of namespaces of which the definition says so have names only.
    let name = name.take(if resource.is_custom() && !resource.is_namespaced() { 1 } else { 2 });
    let selectable = resource.selectable_fields.iter().map(String::as_str);
    name.chain(own_fields(resource).iter().copied()).chain(selectable)
}

/// The value of a supported field of an object; a field that the object lacks has the value of its zero.
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
        // The field is called by its older name than the one in the object.
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

/// The fields that a built-in kind supports beside its name and namespace.
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
