//! The fields that the server sets in a new object.

use crate::object::{defaults, metadata};
use crate::registry::Resource;
use serde_json::Value;

/// The identity of a new object.
#[derive(Clone, Debug)]
pub(crate) struct NewObject<'a> {
    /// The namespace; `None` for cluster-scoped resources.
    pub(crate) namespace: Option<&'a str>,
    /// The name.
    pub(crate) name: &'a str,
    /// The uid.
    pub(crate) uid: String,
    /// The creation time in RFC 3339, in seconds.
    pub(crate) now: &'a str,
}

/// Completes a new object: fields of the server are set, and those of the client for them are removed.
///
/// The caller has checked the name, and sets the version.
pub(crate) fn complete(resource: &Resource, object: &mut Value, new_object: &NewObject<'_>) {
    resource.write_type(metadata_holder(object));
    remove_system_fields(object);
    let meta = metadata::of(object);
    for owned in ["resourceVersion", "generation", "namespace"] {
        meta.remove(owned);
    }
    meta.insert("name".to_owned(), new_object.name.into());
    if let Some(namespace) = new_object.namespace {
        meta.insert("namespace".to_owned(), namespace.into());
    }
    meta.insert("uid".to_owned(), new_object.uid.clone().into());
    meta.insert("creationTimestamp".to_owned(), new_object.now.into());
    if resource.has_generation {
        meta.insert("generation".to_owned(), 1.into());
    }
    defaults::reset_status(resource, object);
    if resource.is("batch", "jobs") && object.pointer("/spec/manualSelector") != Some(&Value::Bool(true)) {
        select_own_pods(object, new_object);
    }
    // After the labels of pods, which are also the default of the labels of their job.
    defaults::fill(resource, object);
    defaults::hold_namespace(resource, object);
}

/// Labels the pods of a job with its name and uid, and selects them by the uid, unless the client does so.
fn select_own_pods(job: &mut Value, new_object: &NewObject<'_>) {
    const UID: &str = "batch.kubernetes.io/controller-uid";
    let spec = metadata::fields(metadata::fields(job).entry("spec").or_insert(Value::Null));
    let template = spec.entry("template").or_insert(Value::Null);
    let labels = metadata::fields(metadata::of(template).entry("labels").or_insert(Value::Null));
    for (label, value) in [
        ("job-name", new_object.name),
        ("batch.kubernetes.io/job-name", new_object.name),
        ("controller-uid", &new_object.uid),
        (UID, &new_object.uid),
    ] {
        labels.entry(label).or_insert_with(|| value.into());
    }
    let selector = metadata::fields(spec.entry("selector").or_insert(Value::Null));
    let selected = metadata::fields(selector.entry("matchLabels").or_insert(Value::Null));
    selected.entry(UID).or_insert_with(|| new_object.uid.clone().into());
}

/// Removes the fields that only the server sets.
pub(crate) fn remove_system_fields(object: &mut Value) {
    let meta = metadata::of(object);
    for owned in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "uid", "creationTimestamp"] {
        meta.remove(owned);
    }
}

/// Returns a random uid (version 4) of these bits.
pub(crate) fn uid(bits: u128) -> String {
    let version = 4 << 76;
    let variant = 0b10 << 62;
    let bits = bits & !(0xf << 76) & !(0b11 << 62) | version | variant;
    let hex = format!("{bits:032x}");
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

fn metadata_holder(object: &mut Value) -> &mut Value {
    metadata::fields(object);
    object
}
