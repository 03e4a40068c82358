//! Prepares the next state of an object for an update.

use crate::invalid::FieldError;
use crate::object::{defaults, metadata};
use crate::registry::Resource;
use serde_json::Value;

/// Completes an updated object: restores the fields that only the server writes, restores the status if it is
/// a subresource, and increases the generation if the object has changed.
///
/// The caller compares the versions before this call, and sets the new version afterwards.
///
/// # Errors
/// Returns errors if the client changes immutable metadata; `new` is completed nevertheless.
pub(crate) fn prepare_update(
    resource: &Resource,
    old: &Value,
    new: &mut Value,
) -> Result<(), Vec<FieldError>> {
    let metadata_errors = metadata_errors(old, new);
    metadata::fields(new);
    resource.write_type(new);
    keep_identity(old, new);
    if resource.has_status {
        metadata::keep("status", old.get("status"), metadata::fields(new));
    }
    if resource.is("", "namespaces") {
        // The finalizers in the spec of a namespace are written only by the subresource `finalize`.
        metadata::keep("spec", old.get("spec"), metadata::fields(new));
    }
    defaults::fill(resource, new);
    if resource.has_generation && increases_generation(resource, old, new) {
        metadata::of(new)
            .insert("generation".to_owned(), metadata::number(old, "generation").saturating_add(1).into());
    }
    if metadata_errors.is_empty() { Ok(()) } else { Err(metadata_errors) }
}

/// Completes an object that a client sent to the status subresource: everything else is restored.
///
/// As in kube-apiserver, the status subresource of most built-in kinds also writes labels, annotations and
/// finalizers.
///
/// # Errors
/// Returns errors if the client changes immutable metadata; `new` is completed nevertheless.
pub(crate) fn apply_status_update(
    resource: &Resource,
    old: &Value,
    new: &mut Value,
) -> Result<(), Vec<FieldError>> {
    let metadata_errors = metadata_errors(old, new);
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
    if metadata_errors.is_empty() { Ok(()) } else { Err(metadata_errors) }
}

/// Returns true if a write to the status subresource does not change the metadata.
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
    let old = old.get("metadata");
    for field in IDENTITY {
        metadata::keep(field, old.and_then(|old| old.get(field)), meta);
    }
    meta.remove("selfLink");
}

/// Returns the errors of changes of immutable metadata. Each occurs twice, as the rules for all kinds and those of the kind report it.
fn metadata_errors(old: &Value, new: &Value) -> Vec<FieldError> {
    let mut metadata_errors = Vec::new();
    let (was, is) = (metadata::text(old, "uid"), metadata::text(new, "uid"));
    if !is.is_empty() && is != was {
        metadata_errors.push(FieldError::invalid("metadata.uid", &is.into(), "field is immutable"));
    }
    let added: Vec<_> = metadata::finalizers(new)
        .filter(|one| metadata::finalizers(old).all(|known| known != *one))
        .collect();
    if metadata::is_deleting(old) && !added.is_empty() {
        let added: Vec<_> = added.iter().map(|one| format!("{one:?}")).collect();
        let detail =
            "no new finalizers can be added if the object is being deleted, found new finalizers []string";
        metadata_errors
            .push(FieldError::forbidden("metadata.finalizers", &format!("{detail}{{{}}}", added.join(", "))));
    }
    metadata_errors.extend_from_within(..);
    metadata_errors
}

/// Returns true if a change of the object increases its generation.
fn increases_generation(resource: &Resource, old: &Value, new: &Value) -> bool {
    let annotations = "/metadata/annotations";
    !generation_fields(resource, old).eq(generation_fields(resource, new))
        || resource.is("apps", "deployments") && old.pointer(annotations) != new.pointer(annotations)
}

/// Returns the fields whose changes increase the generation, in alphabetical order.
fn generation_fields<'a>(
    resource: &Resource,
    object: &'a Value,
) -> impl Iterator<Item = (&'a String, &'a Value)> {
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
