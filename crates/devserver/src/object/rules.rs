//! What the metadata of every object have to keep to.

use crate::invalid::FieldError;
use crate::object::{
    metadata,
    name::{broken_prefix, is_subdomain},
};
use crate::registry::Resource;
use serde_json::{Value, json};

/// How many bytes all annotations together may have.
const ANNOTATIONS: usize = 256 << 10;
/// How long the name in a key and the value of a label may be.
const LABEL: usize = 63;
/// How long the prefix of a key may be.
const PREFIX: usize = 253;
/// Finalizers of Kubernetes' own, which have no prefix.
const STANDARD: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// Each rule that the metadata of an object break.
pub(crate) fn metadata_flaws(resource: &Resource, object: &Value) -> Vec<FieldError> {
    let mut flaws = Vec::new();
    for (key, value) in texts(object, "labels") {
        flaws.extend(broken_key(key).map(|detail| invalid("metadata.labels", key, &detail)));
        flaws.extend(broken_value(value).map(|detail| invalid("metadata.labels", value, detail)));
    }
    let mut size = 0;
    for (key, value) in texts(object, "annotations") {
        size += key.len() + value.len();
        // The API server takes upper case here.
        let broken = broken_key(&key.to_ascii_lowercase());
        flaws.extend(broken.map(|detail| invalid("metadata.annotations", key, &detail)));
    }
    if size > ANNOTATIONS {
        flaws.push(FieldError::too_long("metadata.annotations", ANNOTATIONS));
    }
    for (place, one) in metadata::finalizers(object).enumerate() {
        flaws.extend(broken_key(one).map(|detail| invalid("metadata.finalizers", one, &detail)));
        let may_be_bare = resource.is_custom() || resource.group == "apiextensions.k8s.io";
        if !may_be_bare && !one.contains('/') && !STANDARD.contains(&one) {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            flaws.push(invalid(&format!("metadata.finalizers[{place}]"), one, detail));
        }
    }
    let holds = |name: &str| metadata::finalizers(object).any(|one| one == name);
    if holds("orphan") && holds("foregroundDeletion") {
        let detail = "finalizer orphan and foregroundDeletion cannot be both set";
        flaws.push(FieldError::invalid_omitted("metadata.finalizers", detail));
    }
    let prefix = metadata::text(object, "generateName");
    flaws.extend(
        broken_prefix(resource, prefix).map(|detail| invalid("metadata.generateName", prefix, &detail)),
    );
    flaws.extend(owner_flaws(object));
    flaws
}

fn owner_flaws(object: &Value) -> Vec<FieldError> {
    let field = "metadata.ownerReferences";
    let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    let mut flaws = Vec::new();
    for owner in owners.into_iter().flatten() {
        for part in ["kind", "name", "uid"] {
            if owner[part].as_str().unwrap_or_default().is_empty() {
                flaws.push(invalid(&format!("{field}.{part}"), "", "must not be empty"));
            }
        }
        let api_version = owner["apiVersion"].as_str().unwrap_or_default();
        let version = api_version.split_once('/').map_or(api_version, |(_, version)| version);
        if version.is_empty() || version.contains('/') {
            flaws.push(invalid(&format!("{field}.apiVersion"), api_version, "version must not be empty"));
        }
        if (api_version, owner["kind"].as_str()) == ("v1", Some("Event")) {
            let detail = "/v1, Kind=Event is disallowed from being an owner";
            flaws.push(FieldError::invalid(field, owner, detail));
        }
    }
    let controllers = owners.into_iter().flatten().filter(|owner| owner["controller"] == true);
    if controllers.count() > 1 {
        let detail = "Only one reference can have Controller set to true";
        flaws.push(FieldError::invalid(field, &json!(owners), detail));
    }
    flaws
}

fn invalid(field: &str, value: &str, detail: &str) -> FieldError {
    FieldError::invalid(field, &value.into(), detail)
}

/// The entries of a map of texts.
fn texts<'a>(object: &'a Value, field: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let map = object.get("metadata").and_then(|metadata| metadata.get(field)).and_then(Value::as_object);
    map.into_iter().flatten().map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
}

/// What is wrong with a key of labels or annotations, or with a finalizer: a name, which may have a prefix.
pub(crate) fn broken_key(key: &str) -> Option<String> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if let Some(prefix) = prefix.filter(|prefix| prefix.len() > PREFIX || !is_subdomain(prefix)) {
        return Some(format!("prefix part {prefix:?} must be a lowercase RFC 1123 subdomain"));
    }
    match name {
        "" => Some("name part must be non-empty".to_owned()),
        name if name.len() > LABEL => Some(format!("name part must be no more than {LABEL} bytes")),
        name if !is_word(name) => Some(format!("name part {NAME}")),
        _ => None,
    }
}

/// What is wrong with the value of a label.
pub(crate) fn broken_value(value: &str) -> Option<&'static str> {
    match value {
        "" => None,
        value if value.len() > LABEL => Some("must be no more than 63 bytes"),
        value if !is_word(value) => Some(VALUE),
        _ => None,
    }
}

const NAME: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
    character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start \
    and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
    '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

fn is_word(text: &str) -> bool {
    let is_inner = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let is_end = |letter: char| letter.is_ascii_alphanumeric();
    text.chars().all(is_inner) && text.starts_with(is_end) && text.ends_with(is_end)
}
