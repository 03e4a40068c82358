//! The OpenAPI v3 documents: which requests a group and version takes, and the schemas of its kinds. kubectl reads them for `explain`,
//! to merge lists of applied objects, and before it sends a file.

mod schemas;

use crate::registry::{catalog::Registry, resource::Resource};
use schemas::{REFERENCE, built_in};
use serde::Serialize;
use serde_json::{Map, Value, json, value::RawValue};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Returns `/openapi/v3`: where the document of each group and version is.
pub(crate) fn index(registry: &Registry) -> Value {
    let entry = |path: String| {
        let url = json!({ "serverRelativeURL": format!("/openapi/v3/{path}") });
        (path, url)
    };
    let paths: Map<String, Value> = registry.resources().map(|resource| entry(root(resource))).collect();
    json!({ "paths": paths })
}

/// Returns the path of a group and version without a leading slash.
fn root(resource: &Resource) -> String {
    match resource.group.as_str() {
        "" => format!("api/{}", resource.version),
        group => format!("apis/{group}/{}", resource.version),
    }
}

#[derive(Serialize)]
struct Document<'a> {
    openapi: &'a str,
    info: Value,
    paths: Map<String, Value>,
    components: Components<'a>,
}

#[derive(Serialize)]
struct Components<'a> {
    schemas: BTreeMap<String, &'a RawValue>,
}

/// Returns `/openapi/v3/api/v1` or `/openapi/v3/apis/{group}/{version}` as JSON, if that version is served.
pub(crate) fn description(registry: &Registry, group: &str, version: &str) -> Option<String> {
    let is_meant = |resource: &&Arc<Resource>| resource.group == group && resource.version == version;
    let resources: Vec<_> = registry.resources().filter(is_meant).collect();
    if resources.is_empty() {
        return None;
    }
    let custom: Vec<_> = resources.iter().filter_map(|resource| custom_schema(resource)).collect();
    let mut schemas = BTreeMap::new();
    for resource in &resources {
        for kind in [&resource.kind, &resource.list_kind] {
            if let Some(name) = built_in().of_kind(group, version, kind) {
                built_in().collect(name, &mut schemas);
            }
        }
    }
    if !custom.is_empty() {
        built_in().collect(OBJECT_META, &mut schemas);
    }
    schemas.extend(custom.iter().map(|(name, schema)| (name.clone(), &**schema)));
    let document = Document {
        openapi: "3.0.0",
        info: json!({ "title": "Kubernetes", "version": "unversioned" }),
        paths: resources.iter().flat_map(|resource| operations(resource)).collect(),
        components: Components { schemas },
    };
    serde_json::to_string(&document).ok()
}

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const API_VERSION: &str = "APIVersion defines the versioned schema of this representation of an object. Servers should convert \
    recognized schemas to the latest internal value, and may reject unrecognized values. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const KIND: &str = "Kind is a string value representing the REST resource this object represents. Servers may infer this from the \
    endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";
const METADATA: &str = "Standard object's metadata. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

/// Returns the schema of a custom resource and its name: that of the definition, with `apiVersion`, `kind` and `metadata`.
fn custom_schema(resource: &Resource) -> Option<(String, Box<RawValue>)> {
    let mut schema = resource.openapi.as_deref()?.clone();
    let fields = schema.as_object_mut()?;
    fields.insert("x-kubernetes-group-version-kind".to_owned(), json!([gvk(resource)]));
    let properties = fields.entry("properties").or_insert_with(|| json!({})).as_object_mut()?;
    properties.insert("apiVersion".to_owned(), json!({ "type": "string", "description": API_VERSION }));
    properties.insert("kind".to_owned(), json!({ "type": "string", "description": KIND }));
    let reference = json!({ "$ref": format!("{REFERENCE}{OBJECT_META}") });
    properties.insert("metadata".to_owned(), json!({ "allOf": [reference], "description": METADATA }));
    let reversed: Vec<&str> = resource.group.rsplit('.').collect();
    let name = format!("{}.{}.{}", reversed.join("."), resource.version, resource.kind);
    Some((name, serde_json::value::to_raw_value(&schema).ok()?))
}

fn gvk(resource: &Resource) -> Value {
    json!({ "group": resource.group, "version": resource.version, "kind": resource.kind })
}

/// Returns the requests of a resource by path.
fn operations(resource: &Resource) -> Vec<(String, Value)> {
    let all = format!("/{}/{}", root(resource), resource.plural);
    let collection = match resource.is_namespaced() {
        true => format!("/{}/namespaces/{{namespace}}/{}", root(resource), resource.plural),
        false => all.clone(),
    };
    let one = format!("{collection}/{{name}}");
    let has = |verb: &str| resource.verbs().contains(&verb);
    let methods = |methods: &[(&str, &str, &str)]| {
        let served = methods.iter().filter(|(_, _, verb)| has(verb));
        Value::Object(
            served.map(|(method, action, _)| ((*method).to_owned(), operation(resource, action))).collect(),
        )
    };
    let mut paths = Vec::new();
    if resource.is_namespaced() && has("list") {
        paths.push((all, methods(&[("get", "list", "list")])));
    }
    let of_collection = [
        ("get", "list", "list"),
        ("post", "post", "create"),
        ("delete", "deletecollection", "deletecollection"),
    ];
    paths.push((collection, methods(&of_collection)));
    if has("get") {
        let of_one = [
            ("get", "get", "get"),
            ("put", "put", "update"),
            ("patch", "patch", "patch"),
            ("delete", "delete", "delete"),
        ];
        paths.push((one, methods(&of_one)));
    }
    paths
}

fn operation(resource: &Resource, action: &str) -> Value {
    let parameter = |name: &&str| json!({ "name": name, "in": "query", "schema": { "type": "string", "uniqueItems": true } });
    let names: &[&str] = match action {
        "post" | "put" => &["dryRun", "fieldManager", "fieldValidation"],
        "patch" => &["dryRun", "fieldManager", "fieldValidation", "force"],
        "delete" | "deletecollection" => {
            &["dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy"]
        }
        _ => &[],
    };
    let mut operation = json!({
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": gvk(resource),
        "parameters": names.iter().map(parameter).collect::<Vec<_>>(),
        "responses": { "200": { "description": "OK" } },
    });
    if action == "patch" {
        let types: &[&str] = match resource.is_custom() {
            true => &["apply-patch+yaml", "json-patch+json", "merge-patch+json"],
            false => {
                &["apply-patch+yaml", "json-patch+json", "merge-patch+json", "strategic-merge-patch+json"]
            }
        };
        let content: Map<String, Value> =
            types.iter().map(|media| (format!("application/{media}"), json!({}))).collect();
        operation["requestBody"] = json!({ "content": content, "required": true });
    }
    operation
}
