//! Defaults of pods, containers and volumes that depend on other fields.

use crate::object::defaults::edit::{is_unset, items, made, part, set, text};
use serde_json::{Map, Value, json};

type Fields = Map<String, Value>;

/// Fills in the defaults of a type.
pub(super) fn fill(name: &str, fields: &mut Fields) {
    match name {
        "core.v1.Pod" => pod(fields),
        "core.v1.Container" | "core.v1.EphemeralContainer" => pull_policy(fields, "image", "imagePullPolicy"),
        "core.v1.Volume" => volume(fields),
        "core.v1.PersistentVolume" => {
            set(made(fields, "status"), "phase", "Pending");
            let spec = made(fields, "spec");
            set(spec, "persistentVolumeReclaimPolicy", "Retain");
            set(spec, "volumeMode", "Filesystem");
        }
        "core.v1.PersistentVolumeClaim" => set(made(fields, "status"), "phase", "Pending"),
        "core.v1.NodeStatus" => {
            if let (true, Some(capacity)) = (is_unset(fields, "allocatable"), fields.get("capacity").cloned())
            {
                fields.insert("allocatable".to_owned(), capacity);
            }
        }
        _ => {}
    }
}

fn pod(fields: &mut Fields) {
    let spec = made(fields, "spec");
    set(spec, "enableServiceLinks", true);
    let uses_host = spec.get("hostNetwork") == Some(&Value::Bool(true));
    for list in ["containers", "initContainers"] {
        for container in items(spec, list) {
            if let Some(resources) = part(container, "resources") {
                requests_from_limits(resources);
            }
            if uses_host {
                items(container, "ports").for_each(host_port);
            }
        }
    }
}

/// Sets the requests that a container does not specify to its limits.
fn requests_from_limits(resources: &mut Fields) {
    let Some(limits) = resources.get("limits").and_then(Value::as_object).cloned() else { return };
    let requests = made(resources, "requests");
    for (name, limit) in limits {
        requests.entry(name).or_insert(limit);
    }
    if requests.is_empty() {
        resources.remove("requests");
    }
}

/// Sets the host port of a container in the host's network to its container port.
fn host_port(port: &mut Fields) {
    let is_zero = port.get("hostPort").is_none_or(|number| number.as_i64() == Some(0));
    match port.get("containerPort").cloned() {
        Some(number) if is_zero && number.as_i64() != Some(0) => {
            port.insert("hostPort".to_owned(), number);
        }
        _ => {}
    }
}

/// Sets the pull policy, which is `Always` for images without a version.
fn pull_policy(fields: &mut Fields, image: &str, policy: &str) {
    let default = if tag(text(fields, image)) == "latest" { "Always" } else { "IfNotPresent" };
    set(fields, policy, default);
}

/// Returns the tag of an image; `latest` if it has neither tag nor digest, and empty for an invalid name.
fn tag(image: &str) -> &str {
    if image.is_empty() || image.contains(char::is_whitespace) {
        return "";
    }
    let (name, has_digest) = match image.split_once('@') {
        Some((name, _)) => (name, true),
        None => (image, false),
    };
    // A colon before a slash belongs to the port of a registry.
    match name.rsplit_once(':').filter(|(_, tag)| !tag.contains('/')) {
        Some((_, tag)) => tag,
        None if has_digest => "",
        None => "latest",
    }
}

fn volume(fields: &mut Fields) {
    if fields.iter().all(|(name, value)| name == "name" || value.is_null()) {
        fields.insert("emptyDir".to_owned(), json!({}));
    }
    if let Some(image) = part(fields, "image") {
        pull_policy(image, "reference", "pullPolicy");
    }
}
