//! What the server writes into an object that is created.

use crate::object::{defaults, metadata};
use crate::registry::Resource;
use serde_json::Value;

/// What makes a new object itself.
#[derive(Clone, Debug)]
pub(crate) struct Birth<'a> {
    /// Where it is created; `None` for cluster-scoped resources.
    pub(crate) namespace: Option<&'a str>,
    /// What it is called.
    pub(crate) name: &'a str,
    /// What no other object has had or will have.
    pub(crate) uid: String,
    /// The time in seconds, as RFC 3339 has it.
    pub(crate) now: &'a str,
}

/// Makes what a client sent into a new object: what the server owns is the server's.
///
/// The caller has checked the name and gives the version.
pub(crate) fn stamp_new(resource: &Resource, object: &mut Value, birth: &Birth<'_>) {
    resource.write_type(metadata_holder(object));
    wipe_system_fields(object);
    let meta = metadata::of(object);
    for owned in ["resourceVersion", "generation", "namespace"] {
        meta.remove(owned);
    }
    meta.insert("name".to_owned(), birth.name.into());
    if let Some(namespace) = birth.namespace {
        meta.insert("namespace".to_owned(), namespace.into());
    }
    meta.insert("uid".to_owned(), birth.uid.clone().into());
    meta.insert("creationTimestamp".to_owned(), birth.now.into());
    if resource.has_generation {
        meta.insert("generation".to_owned(), 1.into());
    }
    defaults::reset_status(resource, object);
    if resource.is("batch", "jobs") && object.pointer("/spec/manualSelector") != Some(&Value::Bool(true)) {
        select_own_pods(object, birth);
    }
    // After the labels of pods, which are also the default of the labels of their job.
    defaults::fill(resource, object);
    defaults::hold_namespace(resource, object);
}

/// Labels the pods of a job with its name and uid, and selects them by the uid, unless the client does so.
fn select_own_pods(job: &mut Value, birth: &Birth<'_>) {
    const UID: &str = "batch.kubernetes.io/controller-uid";
    let spec = metadata::fields(metadata::fields(job).entry("spec").or_insert(Value::Null));
    let template = spec.entry("template").or_insert(Value::Null);
    let labels = metadata::fields(metadata::of(template).entry("labels").or_insert(Value::Null));
    for (label, value) in [
        ("job-name", birth.name),
        ("batch.kubernetes.io/job-name", birth.name),
        ("controller-uid", &birth.uid),
        (UID, &birth.uid),
    ] {
        labels.entry(label).or_insert_with(|| value.into());
    }
    let selector = metadata::fields(spec.entry("selector").or_insert(Value::Null));
    let selected = metadata::fields(selector.entry("matchLabels").or_insert(Value::Null));
    selected.entry(UID).or_insert_with(|| birth.uid.clone().into());
}

/// Removes what only the server writes from an object that a client creates.
pub(crate) fn wipe_system_fields(object: &mut Value) {
    let meta = metadata::of(object);
    for owned in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "uid", "creationTimestamp"] {
        meta.remove(owned);
    }
}

/// A random uid (version 4) made of these bits.
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
