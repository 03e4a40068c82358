//! What the server keeps of an object when a client writes it again.

use crate::invalid::FieldError;
use crate::object::{defaults, metadata};
use crate::registry::Resource;
use serde_json::Value;

/// Makes what a client sent into the next state of an object: identity stays, status stays where it is written on
/// its own, and the generation moves with the rest.
///
/// The caller compares versions before and gives the new one after.
///
/// # Errors
/// If the client changes what cannot change; then `new` is left half prepared.
pub(crate) fn prepare_update(
    resource: &Resource,
    old: &Value,
    new: &mut Value,
) -> Result<(), Vec<FieldError>> {
    let flaws = flaws(old, new);
    if !flaws.is_empty() {
        return Err(flaws);
    }
    metadata::fields(new);
    resource.write_type(new);
    keep_identity(old, new);
    if resource.has_status {
        metadata::keep("status", old.get("status"), metadata::fields(new));
    }
    if resource.is("", "namespaces") {
        // What holds a namespace is written by its subresource `finalize` alone.
        metadata::keep("spec", old.get("spec"), metadata::fields(new));
    }
    defaults::fill(resource, new);
    if resource.has_generation && has_moved(resource, old, new) {
        metadata::of(new)
            .insert("generation".to_owned(), metadata::number(old, "generation").saturating_add(1).into());
    }
    Ok(())
}

/// Makes what a client sent to the status subresource into the next state of an object: only its status is new.
///
/// Most built-in kinds let labels, annotations and finalizers be written too, and so does this.
///
/// # Errors
/// If the client changes what cannot change; then `new` is left half prepared.
pub(crate) fn apply_status_update(
    resource: &Resource,
    old: &Value,
    new: &mut Value,
) -> Result<(), Vec<FieldError>> {
    let flaws = flaws(old, new);
    if !flaws.is_empty() {
        return Err(flaws);
    }
    let mut next = old.as_object().cloned().unwrap_or_default();
    metadata::keep("status", new.get("status"), &mut next);
    if !keeps_metadata(resource) {
        keep_identity(old, new);
        if resource.is("apps", "deployments") {
            metadata::keep("labels", old.pointer("/metadata/labels"), metadata::of(new));
        }
        metadata::keep("metadata", new.get("metadata"), &mut next);
    }
    *new = Value::Object(next);
    resource.write_type(new);
    Ok(())
}

/// Whether a write to the status leaves the metadata alone altogether.
fn keeps_metadata(resource: &Resource) -> bool {
    resource.is_custom()
        || resource.is("apiextensions.k8s.io", "customresourcedefinitions")
        || resource.is("admissionregistration.k8s.io", "validatingadmissionpolicies")
        || resource.is("resource.k8s.io", "resourceclaims")
        || resource.group == "flowcontrol.apiserver.k8s.io"
}

/// Metadata that only the server writes.
const IDENTITY: [&str; 8] = [
    "name",
    "generateName",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
];

fn keep_identity(old: &Value, new: &mut Value) {
    let meta = metadata::of(new);
    for field in IDENTITY {
        metadata::keep(field, old.pointer(&format!("/metadata/{field}")), meta);
    }
    meta.remove("selfLink");
}

fn flaws(old: &Value, new: &Value) -> Vec<FieldError> {
    let mut flaws = Vec::new();
    let (was, is) = (metadata::text(old, "uid"), metadata::text(new, "uid"));
    if !is.is_empty() && is != was {
        flaws.push(FieldError::invalid("metadata.uid", &is.into(), "field is immutable"));
    }
    let added: Vec<_> = metadata::finalizers(new)
        .filter(|one| metadata::finalizers(old).all(|known| known != *one))
        .collect();
    if metadata::is_deleting(old) && !added.is_empty() {
        let added: Vec<_> = added.iter().map(|one| format!("{one:?}")).collect();
        let detail =
            "no new finalizers can be added if the object is being deleted, found new finalizers []string";
        flaws
            .push(FieldError::forbidden("metadata.finalizers", &format!("{detail}{{{}}}", added.join(", "))));
    }
    flaws
}

/// Whether anything differs that the generation counts.
fn has_moved(resource: &Resource, old: &Value, new: &Value) -> bool {
    let annotations = "/metadata/annotations";
    !counted(resource, old).eq(counted(resource, new))
        || resource.is("apps", "deployments") && old.pointer(annotations) != new.pointer(annotations)
}

/// The fields that the generation counts, in the order of their names.
fn counted<'a>(resource: &Resource, object: &'a Value) -> impl Iterator<Item = (&'a String, &'a Value)> {
    let is_counted = |field: &str| match field {
        "metadata" | "apiVersion" | "kind" => false,
        "status" => !resource.has_status,
        _ => true,
    };
    let mut fields: Vec<_> =
        object.as_object().into_iter().flatten().filter(|(name, _)| is_counted(name)).collect();
    fields.sort_unstable_by_key(|(name, _)| *name);
    fields.into_iter()
}
