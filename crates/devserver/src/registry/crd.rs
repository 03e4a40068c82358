//! The resources that a CustomResourceDefinition describes.

use crate::apply::{Schema, Version, from_openapi};
use crate::invalid::FieldError;
use crate::registry::resource::{Origin, PrinterColumn, Resource, ScalePaths, Scope};
use serde_json::{Value, json};
use std::sync::Arc;

/// A definition that breaks the rules for definitions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the CustomResourceDefinition is invalid")]
pub(crate) struct CrdError {
    /// Each rule that is broken.
    pub(crate) fields: Vec<FieldError>,
}

/// The resources that a definition asks for, one for each version that is served.
///
/// # Errors
/// If the definition lacks a name, a scope or a version, or is not called after what it defines.
pub(crate) fn from_crd(crd: &Value) -> Result<Vec<Resource>, CrdError> {
    let fields = flaws(crd);
    if !fields.is_empty() {
        return Err(CrdError { fields });
    }
    let served = versions(crd).filter(|version| version["served"] == true);
    let types = Arc::new(types(crd));
    Ok(served.map(|version| resource(&crd["spec"], version, &types)).collect())
}

/// The types of a custom resource in all versions.
fn types(crd: &Value) -> Schema {
    let group = text(&crd["spec"]["group"]);
    let versions = versions(crd).map(|version| Version {
        api_version: format!("{group}/{}", text(&version["name"])),
        openapi: version["schema"].get("openAPIV3Schema"),
    });
    from_openapi(text(&crd["spec"]["names"]["kind"]), versions)
}

/// Fills in what the API server adds to a definition once its resources are served, at this time.
pub(crate) fn establish(crd: &mut Value, now: &str) {
    if from_crd(crd).is_err() {
        return;
    }
    let names = Names::of(&crd["spec"]["names"]);
    crd["spec"]["names"]["singular"] = names.singular.into();
    crd["spec"]["names"]["listKind"] = names.list_kind.into();
    if !crd["spec"]["conversion"].is_object() {
        crd["spec"]["conversion"] = json!({"strategy": "None"});
    }
    let stored: Vec<_> =
        versions(crd).filter(|one| one["storage"] == true).map(|one| one["name"].clone()).collect();
    let condition = |kind: &str, reason: &str, message: &str| json!({"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now});
    let conditions = [
        condition("NamesAccepted", "NoConflicts", "no conflicts found"),
        condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
    ];
    let accepted = crd["spec"]["names"].clone();
    crd["status"] = json!({"acceptedNames": accepted, "conditions": conditions, "storedVersions": stored});
}

fn versions(crd: &Value) -> impl Iterator<Item = &Value> {
    crd.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten()
}

fn flaws(crd: &Value) -> Vec<FieldError> {
    let mut flaws = Vec::new();
    for field in ["group", "names.plural", "names.kind"] {
        let pointer = format!("/spec/{}", field.replace('.', "/"));
        if crd.pointer(&pointer).and_then(Value::as_str).unwrap_or_default().is_empty() {
            flaws.push(FieldError::required(&format!("spec.{field}"), ""));
        }
    }
    let expected = format!("{}.{}", text(&crd["spec"]["names"]["plural"]), text(&crd["spec"]["group"]));
    if flaws.is_empty() && text(&crd["metadata"]["name"]) != expected {
        let detail = "must be spec.names.plural+\".\"+spec.group";
        flaws.push(FieldError::invalid("metadata.name", &json!(text(&crd["metadata"]["name"])), detail));
    }
    match text(&crd["spec"]["scope"]) {
        "Namespaced" | "Cluster" => {}
        "" => flaws.push(FieldError::required("spec.scope", "")),
        other => flaws.push(FieldError::not_supported("spec.scope", other, &["Cluster", "Namespaced"])),
    }
    flaws.extend(version_flaws(crd));
    flaws
}

fn version_flaws(crd: &Value) -> Vec<FieldError> {
    let mut flaws = Vec::new();
    for (place, version) in versions(crd).enumerate() {
        if text(&version["name"]).is_empty() {
            flaws.push(FieldError::required(&format!("spec.versions[{place}].name"), ""));
        }
    }
    if versions(crd).filter(|version| version["storage"] == true).count() != 1 {
        let found = crd.pointer("/spec/versions").cloned().unwrap_or(Value::Null);
        let detail = "must have exactly one version marked as storage version";
        flaws.push(FieldError::invalid("spec.versions", &found, detail));
    }
    flaws
}

struct Names {
    plural: String,
    singular: String,
    kind: String,
    list_kind: String,
}

impl Names {
    fn of(names: &Value) -> Self {
        let or = |value: &Value, other: String| {
            if text(value).is_empty() { other } else { text(value).to_owned() }
        };
        let kind = text(&names["kind"]).to_owned();
        Self {
            plural: text(&names["plural"]).to_owned(),
            singular: or(&names["singular"], kind.to_lowercase()),
            list_kind: or(&names["listKind"], format!("{kind}List")),
            kind,
        }
    }
}

fn resource(spec: &Value, version: &Value, types: &Arc<Schema>) -> Resource {
    let Names { plural, singular, kind, list_kind } = Names::of(&spec["names"]);
    let subresources = &version["subresources"];
    let selectable = texts(&version["selectableFields"], |field| text(&field["jsonPath"]));
    Resource {
        group: text(&spec["group"]).to_owned(),
        version: text(&version["name"]).to_owned(),
        plural,
        singular,
        kind,
        list_kind,
        short_names: texts(&spec["names"]["shortNames"], text),
        categories: texts(&spec["names"]["categories"], text),
        scope: if spec["scope"] == "Cluster" { Scope::Cluster } else { Scope::Namespaced },
        origin: Origin::Custom,
        has_status: subresources["status"].is_object(),
        scale: subresources["scale"].is_object().then(|| scale(&subresources["scale"])),
        has_generation: true,
        is_made_by_update: false,
        needs_version: true,
        is_review: false,
        columns: items(&version["additionalPrinterColumns"]).map(column).collect(),
        selectable_fields: selectable.iter().map(|path| path.trim_start_matches('.').to_owned()).collect(),
        types: Some(Arc::clone(types)),
    }
}

fn scale(scale: &Value) -> ScalePaths {
    ScalePaths {
        spec_replicas: text(&scale["specReplicasPath"]).to_owned(),
        status_replicas: text(&scale["statusReplicasPath"]).to_owned(),
        selector: scale["labelSelectorPath"].as_str().map(str::to_owned),
    }
}

fn column(column: &Value) -> PrinterColumn {
    PrinterColumn {
        name: text(&column["name"]).to_owned(),
        value_type: text(&column["type"]).to_owned(),
        format: text(&column["format"]).to_owned(),
        description: text(&column["description"]).to_owned(),
        priority: column["priority"].as_i64().unwrap_or(0),
        json_path: text(&column["jsonPath"]).to_owned(),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn texts(value: &Value, text: impl Fn(&Value) -> &str) -> Vec<String> {
    items(value).map(|item| text(item).to_owned()).collect()
}
