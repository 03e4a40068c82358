//! The OpenAPI descriptions that kubectl requests before it sends a file: a list of the kinds, all of whose
//! fields are validated by the server.

use crate::registry::{catalog::Registry, resource::Resource};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Returns `/openapi/v3`: the paths of the descriptions of all groups and versions.
pub(crate) fn index(registry: &Registry) -> Value {
    let path = |resource: &Resource| match resource.group.as_str() {
        "" => format!("api/{}", resource.version),
        group => format!("apis/{group}/{}", resource.version),
    };
    let entry = |path: String| {
        let url = json!({ "serverRelativeURL": format!("/openapi/v3/{path}") });
        (path, url)
    };
    let paths: Map<String, Value> = registry.resources().map(|resource| entry(path(resource))).collect();
    json!({ "paths": paths })
}

/// Returns `/openapi/v3/apis/{group}/{version}`: the kinds of a group and version, which accept
/// `fieldValidation`.
pub(crate) fn description(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let is_meant = |resource: &&Arc<Resource>| resource.group == group && resource.version == version;
    let paths: Map<String, Value> =
        registry.resources().filter(is_meant).map(|resource| operation(resource)).collect();
    let info = json!({ "title": "kube-devserver", "version": version });
    (!paths.is_empty()).then(|| json!({ "openapi": "3.0.0", "info": info, "paths": paths }))
}

fn operation(resource: &Resource) -> (String, Value) {
    let kind = json!({ "group": resource.group, "version": resource.version, "kind": resource.kind });
    let validation = json!({ "name": "fieldValidation", "in": "query", "schema": { "type": "string" } });
    let patch =
        json!({ "x-kubernetes-group-version-kind": kind, "parameters": [validation], "responses": {} });
    (format!("/{}/{{name}}", resource.plural), json!({ "patch": patch }))
}
