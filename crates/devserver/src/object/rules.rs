//! The rules for the metadata of every object.

use crate::invalid::FieldError;
use crate::object::{
    metadata,
    name::{broken_prefix, broken_subdomain, name_errors},
};
use crate::registry::Resource;
use serde_json::{Value, json};

/// The maximum number of bytes of all annotations together.
const ANNOTATIONS: usize = 256 << 10;
/// The maximum length of the name in a key and of the value of a label.
const LABEL: usize = 63;
/// The finalizers of Kubernetes, which have no prefix.
const STANDARD: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// Returns the rules that the metadata of a new object with this name break.
pub(crate) fn new_metadata_errors(resource: &Resource, name: &str, object: &Value) -> Vec<FieldError> {
    let mut errors = name_errors(resource, name);
    let prefix = metadata::text(object, "generateName");
    let broken = broken_prefix(resource, prefix);
    errors.extend(broken.into_iter().map(|detail| invalid("metadata.generateName", prefix, &detail)));
    errors.extend(shared_errors(object));
    errors.extend(finalizer_errors(object));
    errors.extend(bare_finalizer_errors(resource, object));
    errors
}

/// Returns the rules that the metadata of an updated object break.
///
/// kube-apiserver applies the same rules to every kind as to a new object and again as to an update, and those of the kind after them.
/// It does not merge their results, so that an error occurs up to four times among the causes.
pub(crate) fn updated_metadata_errors(
    resource: &Resource,
    object: &Value,
    scope: RuleScope,
) -> Vec<FieldError> {
    let shared = shared_errors(object);
    let finalizers = finalizer_errors(object);
    let bare = bare_finalizer_errors(resource, object);
    let mut errors = finalizers.clone();
    (0..3).for_each(|_| errors.extend_from_slice(&shared));
    errors.extend_from_slice(&bare);
    if scope == RuleScope::Object && is_validated_completely(resource) {
        errors.extend(shared);
        errors.extend(finalizers);
        errors.extend(bare);
    }
    errors
}

/// The rules of a kind that apply to an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RuleScope {
    /// Those of the object.
    Object,
    /// Those of a part of it, such as the status.
    Part,
}

/// Returns whether the rules of a kind for updates include those for new objects.
fn is_validated_completely(resource: &Resource) -> bool {
    matches!(
        resource.storage(),
        ("", "pods" | "configmaps" | "secrets" | "serviceaccounts" | "endpoints" | "nodes" | "namespaces",)
            | ("", "persistentvolumes" | "persistentvolumeclaims")
            | ("apps", "statefulsets" | "controllerrevisions")
            | ("batch", "jobs")
            | ("rbac.authorization.k8s.io", _)
            | ("networking.k8s.io", "ingresses" | "ingressclasses" | "ipaddresses")
            | ("node.k8s.io", "runtimeclasses")
            | ("resource.k8s.io", "resourceclaims" | "resourceclaimtemplates" | "deviceclasses")
            | ("storage.k8s.io", "storageclasses" | "volumeattributesclasses" | "csistoragecapacities")
            | ("certificates.k8s.io", _)
    )
}

/// Returns the errors of labels, annotations and owners.
fn shared_errors(object: &Value) -> Vec<FieldError> {
    let mut flaws = Vec::new();
    for (key, value) in texts(object, "labels") {
        flaws.extend(broken_key(key).into_iter().map(|detail| invalid("metadata.labels", key, &detail)));
        flaws
            .extend(broken_value(value).into_iter().map(|detail| invalid("metadata.labels", value, &detail)));
    }
    let mut size = 0;
    for (key, value) in texts(object, "annotations") {
        size += key.len() + value.len();
        // The API server takes upper case here.
        let broken = broken_key(&key.to_ascii_lowercase());
        flaws.extend(broken.into_iter().map(|detail| invalid("metadata.annotations", key, &detail)));
    }
    if size > ANNOTATIONS {
        flaws.push(FieldError::too_long("metadata.annotations", ANNOTATIONS));
    }
    flaws.extend(owner_flaws(object));
    flaws
}

/// Returns the errors of finalizers that are not qualified names.
fn finalizer_errors(object: &Value) -> Vec<FieldError> {
    let mut flaws = Vec::new();
    for one in metadata::finalizers(object) {
        flaws.extend(broken_key(one).into_iter().map(|detail| invalid("metadata.finalizers", one, &detail)));
    }
    let holds = |name: &str| metadata::finalizers(object).any(|one| one == name);
    if holds("orphan") && holds("foregroundDeletion") {
        let detail = "finalizer orphan and foregroundDeletion cannot be both set";
        flaws.push(FieldError::invalid_omitted("metadata.finalizers", detail));
    }
    flaws
}

/// Returns the errors of finalizers without a prefix that are not those of Kubernetes. Custom resources may have them.
fn bare_finalizer_errors(resource: &Resource, object: &Value) -> Vec<FieldError> {
    if resource.is_custom() || resource.group == "apiextensions.k8s.io" {
        return Vec::new();
    }
    let detail = "name is neither a standard finalizer name nor is it fully qualified";
    let finalizers = metadata::finalizers(object).enumerate();
    let bare = finalizers.filter(|(_, one)| !one.contains('/') && !STANDARD.contains(one));
    bare.map(|(place, one)| invalid(&format!("metadata.finalizers[{place}]"), one, detail)).collect()
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

/// Returns the rules that a key of labels or annotations, or a finalizer breaks: a name, which may have a prefix.
pub(crate) fn broken_key(key: &str) -> Vec<String> {
    let (prefix, name) = match key.split_once('/') {
        Some((_, name)) if name.contains('/') => {
            return vec![format!(
                "a valid label key {NAME} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let mut broken = Vec::new();
    match prefix {
        None => {}
        Some("") => broken.push("prefix part must be non-empty".to_owned()),
        Some(prefix) => {
            broken.extend(broken_subdomain(prefix).into_iter().map(|rule| format!("prefix part {rule}")));
        }
    }
    match name.len() {
        0 => broken.push("name part must be non-empty".to_owned()),
        1..=LABEL => {}
        _ => broken.push(format!("name part must be no more than {LABEL} bytes")),
    }
    if !is_word(name) {
        broken.push(format!("name part {NAME}"));
    }
    broken
}

/// Returns the rules that the value of a label breaks.
pub(crate) fn broken_value(value: &str) -> Vec<String> {
    let too_long = (value.len() > LABEL).then(|| "must be no more than 63 bytes".to_owned());
    let malformed = (!value.is_empty() && !is_word(value)).then(|| VALUE.to_owned());
    too_long.into_iter().chain(malformed).collect()
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
