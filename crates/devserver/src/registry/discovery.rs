//! The discovery documents.

use crate::registry::catalog::{Group, Registry};
use crate::registry::resource::{Resource, api_version};
use serde_json::{Value, json};
use std::sync::Arc;

/// Returns `/version`: a Kubernetes version, marked as that of this server.
pub(crate) fn version() -> Value {
    json!({
        "major": "1",
        "minor": "36",
        "gitVersion": "v1.36.0+devserver",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}

/// Returns `/api` for clients that use this address (`host:port`).
pub(crate) fn api_versions(address: &str) -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    })
}

/// Returns `/apis`.
pub(crate) fn api_group_list(registry: &Registry) -> Value {
    let groups: Vec<_> = registry.groups().iter().filter(|group| !group.name.is_empty()).map(group).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// Returns `/apis/{group}`, if the group is served. The core group has no such document.
pub(crate) fn api_group(registry: &Registry, name: &str) -> Option<Value> {
    let found = registry.group(name).filter(|group| !group.name.is_empty())?;
    let mut document = group(found);
    document["kind"] = "APIGroup".into();
    document["apiVersion"] = "v1".into();
    Some(document)
}

/// Returns `/api/v1` or `/apis/{group}/{version}`, if that version is served.
pub(crate) fn api_resource_list(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let (_, resources) = registry.group(group)?.versions.iter().find(|(name, _)| name == version)?;
    let resources: Vec<_> = resources.iter().flat_map(|resource| resource_entries(resource)).collect();
    Some(json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": api_version(group, version),
        "resources": resources,
    }))
}

/// Returns the aggregated form of `/api` and `/apis`.
pub(crate) fn aggregated(registry: &Registry, root: Root) -> Value {
    let is_meant = |group: &&Group| (root == Root::Core) == group.name.is_empty();
    let items: Vec<_> = registry.groups().iter().filter(is_meant).map(aggregated_group).collect();
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    })
}

/// The path of aggregated discovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Root {
    /// `/api`: the core group.
    Core,
    /// `/apis`: every other group.
    Groups,
}

fn group(group: &Group) -> Value {
    let version =
        |(name, _): &(String, _)| json!({"groupVersion": api_version(&group.name, name), "version": name});
    let versions: Vec<_> = group.versions.iter().map(version).collect();
    json!({"name": group.name, "preferredVersion": versions.first(), "versions": versions})
}

/// Returns the list entries of a resource and its subresources.
fn resource_entries(resource: &Resource) -> Vec<Value> {
    let mut entry = json!({
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.is_namespaced(),
        "kind": resource.kind,
        "verbs": resource.verbs(),
    });
    if !resource.short_names.is_empty() {
        entry["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        entry["categories"] = json!(resource.categories);
    }
    let under = |subresource: &str, kind: &str| {
        json!({
            "name": format!("{}/{subresource}", resource.plural),
            "singularName": "",
            "namespaced": resource.is_namespaced(),
            "kind": kind,
            "verbs": SUBRESOURCE_VERBS,
        })
    };
    let mut entries = vec![entry];
    if resource.scale.is_some() {
        let mut scale = under("scale", "Scale");
        scale["group"] = "autoscaling".into();
        scale["version"] = "v1".into();
        entries.push(scale);
    }
    if resource.has_status {
        entries.push(under("status", &resource.kind));
    }
    for part in parts(resource) {
        let mut entry = under(part.name, part.kind);
        entry["verbs"] = json!([part.verb]);
        if part.group != resource.group {
            entry["group"] = part.group.into();
            entry["version"] = "v1".into();
        }
        entries.push(entry);
    }
    entries.sort_by(|a, b| a["name"].as_str().cmp(&b["name"].as_str()));
    entries
}

/// A subresource that has one verb and a kind of its own.
struct Part {
    name: &'static str,
    group: &'static str,
    kind: &'static str,
    verb: &'static str,
}

/// Returns the subresources in addition to status and scale.
fn parts(resource: &Resource) -> Vec<Part> {
    let part = |name, group, kind| Part { name, group, kind, verb: "create" };
    match resource.storage() {
        ("", "pods") => vec![part("binding", "", "Binding"), part("eviction", "policy", "Eviction")],
        ("", "serviceaccounts") => vec![part("token", "authentication.k8s.io", "TokenRequest")],
        ("", "namespaces") => vec![Part { verb: "update", ..part("finalize", "", "Namespace") }],
        _ => Vec::new(),
    }
}

const SUBRESOURCE_VERBS: [&str; 3] = ["get", "patch", "update"];

fn aggregated_group(group: &Group) -> Value {
    let version = |(name, resources): &(String, Vec<Arc<Resource>>)| {
        let resources: Vec<_> = resources.iter().map(|resource| aggregated_resource(resource)).collect();
        json!({"version": name, "freshness": "Current", "resources": resources})
    };
    let versions: Vec<_> = group.versions.iter().map(version).collect();
    let name = if group.name.is_empty() { json!({}) } else { json!({"name": group.name}) };
    json!({"metadata": name, "versions": versions})
}

fn aggregated_resource(resource: &Resource) -> Value {
    let kind =
        |group: &str, version: &str, kind: &str| json!({"group": group, "version": version, "kind": kind});
    let mut entry = json!({
        "resource": resource.plural,
        "responseKind": kind(&resource.group, &resource.version, &resource.kind),
        "scope": if resource.is_namespaced() { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular,
        "verbs": resource.verbs(),
    });
    if !resource.short_names.is_empty() {
        entry["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        entry["categories"] = json!(resource.categories);
    }
    let under = |name: &str, response: Value| json!({"subresource": name, "responseKind": response, "verbs": SUBRESOURCE_VERBS});
    let scale = resource.scale.as_ref().map(|_| under("scale", kind("autoscaling", "v1", "Scale")));
    let status = resource
        .has_status
        .then(|| under("status", kind(&resource.group, &resource.version, &resource.kind)));
    let others = parts(resource).into_iter().map(|part| {
        let response = kind(part.group, "v1", part.kind);
        json!({"subresource": part.name, "responseKind": response, "verbs": [part.verb]})
    });
    let mut subresources: Vec<_> = scale.into_iter().chain(status).chain(others).collect();
    subresources.sort_by(|a, b| a["subresource"].as_str().cmp(&b["subresource"].as_str()));
    if !subresources.is_empty() {
        entry["subresources"] = subresources.into();
    }
    entry
}
