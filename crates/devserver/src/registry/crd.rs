//! The resources that a CustomResourceDefinition describes.

use crate::apply::{Schema, Version, from_openapi};
use crate::invalid::FieldError;
use crate::registry::resource::{Conversion, Origin, PrinterColumn, Resource, ScalePaths, Scope};
use crate::structural::{Structural, schema_errors};
use serde_json::{Value, json};
use std::sync::Arc;

/// A definition that breaks the rules for definitions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the CustomResourceDefinition is invalid")]
pub(crate) struct CrdError {
    /// Each rule that is broken.
    pub(crate) fields: Vec<FieldError>,
}

/// The resources of a definition, one for each version that is served.
///
/// # Errors
/// If the definition has no name, scope or version, or its name does not match its resource and group.
pub(crate) fn from_crd(crd: &Value) -> Result<Vec<Resource>, CrdError> {
    let fields = flaws(crd);
    if !fields.is_empty() {
        return Err(CrdError { fields });
    }
    let served = versions(crd).filter(|version| version["served"] == true);
    let types = Arc::new(types(crd));
    let storage = versions(crd).find(|version| version["storage"] == true).and_then(schema_of);
    let storage = storage.map(|schema| Stored { source: schema, schema: Arc::new(Structural::new(schema)) });
    let conversion = conversion(crd).map(Arc::new);
    let resources = served.map(|version| Resource {
        // Objects in another version lose the fields that the stored version does not have.
        storage_schema: storage
            .as_ref()
            .filter(|storage| schema_of(version) != Some(storage.source))
            .map(|storage| Arc::clone(&storage.schema)),
        conversion: conversion.clone().filter(|_| version["storage"] != true),
        ..resource(&crd["spec"], version, &types)
    });
    Ok(resources.collect())
}

/// Returns the webhook of a definition; `None` if objects are converted without one.
fn conversion(crd: &Value) -> Option<Conversion> {
    let conversion =
        crd.pointer("/spec/conversion").filter(|conversion| conversion["strategy"] == "Webhook")?;
    let webhook = &conversion["webhook"];
    let storage = versions(crd).find(|version| version["storage"] == true)?;
    let mut reviews = items(&webhook["conversionReviewVersions"]).map(text);
    Some(Conversion {
        storage_version: format!("{}/{}", text(&crd["spec"]["group"]), text(&storage["name"])),
        client_config: webhook["clientConfig"].clone(),
        review_version: reviews.find(|name| REVIEW_VERSIONS.contains(name))?.to_owned(),
    })
}

/// The versions of `ConversionReview` that this server knows.
const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];

/// The schema of the version in which objects are stored.
struct Stored<'a> {
    source: &'a Value,
    schema: Arc<Structural>,
}

fn schema_of(version: &Value) -> Option<&Value> {
    version.pointer("/schema/openAPIV3Schema").filter(|schema| schema.is_object())
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

/// Returns every rule that a definition breaks, with those for its schemas.
pub(crate) fn definition_errors(crd: &Value) -> Vec<FieldError> {
    let mut errors = flaws(crd);
    let group = text(&crd["spec"]["group"]);
    if !group.is_empty() && !group.contains('.') {
        let detail = "should be a domain with at least one dot";
        errors.push(FieldError::invalid("spec.group", &json!(group), detail));
    }
    if crd.pointer("/spec/preserveUnknownFields") == Some(&Value::Bool(true)) {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        errors.push(FieldError::invalid("spec.preserveUnknownFields", &json!(true), detail));
    }
    let names: Vec<_> = versions(crd).map(|version| text(&version["name"])).collect();
    for (index, version) in versions(crd).enumerate() {
        if let Some(path) = (VersionField { crd, index, field: "schema" }).path("validation") {
            match schema_of(version) {
                Some(schema) => errors.extend(schema_errors(schema, &format!("{path}.openAPIV3Schema"))),
                None => errors.push(FieldError::required(&format!("{path}.openAPIV3Schema"), "")),
            }
        }
        if let Some(path) = (VersionField { crd, index, field: "subresources" }).path("subresources") {
            errors.extend(scale_errors(&version["subresources"]["scale"], &path));
        }
        if let Some(path) =
            (VersionField { crd, index, field: "additionalPrinterColumns" }).path("additionalPrinterColumns")
        {
            let columns = items(&version["additionalPrinterColumns"]).enumerate();
            errors.extend(
                columns.flat_map(|(index, column)| column_errors(column, &format!("{path}[{index}]"))),
            );
        }
        if let Some(path) = (VersionField { crd, index, field: "selectableFields" }).path("selectableFields")
        {
            errors.extend(selectable_errors(version, &path));
        }
    }
    let is_repeated = |(index, name): (usize, &&str)| names[..index].contains(name);
    if names.iter().enumerate().any(is_repeated) {
        errors.push(FieldError::invalid(
            "spec.versions",
            &crd["spec"]["versions"],
            "must contain unique version names",
        ));
    }
    errors.extend(conversion_errors(&crd["spec"]["conversion"]));
    errors
}

/// A field of a version. kube-apiserver reports a field that is the same in all versions as one of the definition.
#[derive(Clone, Copy)]
struct VersionField<'a> {
    crd: &'a Value,
    index: usize,
    field: &'a str,
}

impl VersionField<'_> {
    /// Returns the path of the field, which is called `common` if it is the same in all versions; `None` if it was reported already.
    fn path(self, common: &str) -> Option<String> {
        let Self { crd, index, field } = self;
        let first = versions(crd).next()?.get(field).filter(|value| !value.is_null());
        let is_common = first.is_some() && versions(crd).all(|version| version.get(field) == first);
        match is_common {
            true => (index == 0).then(|| format!("spec.{common}")),
            false => Some(format!("spec.versions[{index}].{field}")),
        }
    }
}

fn scale_errors(scale: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if !scale.is_object() {
        return errors;
    }
    for (name, parents) in [
        ("specReplicasPath", &[".spec."][..]),
        ("statusReplicasPath", &[".status."]),
        ("labelSelectorPath", &[".spec.", ".status."]),
    ] {
        let field = format!("{path}.scale.{name}");
        let found = text(&scale[name]);
        let detail = match found {
            "" if name == "labelSelectorPath" => continue,
            "" => {
                errors.push(FieldError::required(&field, ""));
                continue;
            }
            found if !found.starts_with('.') => "must be a simple json path starting with .",
            found if parents.iter().any(|parent| found.starts_with(parent)) => continue,
            _ if parents.len() == 2 => "should be a json path under either .spec or .status",
            _ if name == "specReplicasPath" => "should be a json path under .spec",
            _ => "should be a json path under .status",
        };
        errors.push(FieldError::invalid(&field, &json!(found), detail));
    }
    errors
}

fn column_errors(column: &Value, path: &str) -> Vec<FieldError> {
    const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
    let mut errors = Vec::new();
    if text(&column["name"]).is_empty() {
        errors.push(FieldError::required(&format!("{path}.name"), ""));
    }
    let detail = format!("must be one of {}", TYPES.join(","));
    match text(&column["type"]) {
        "" => errors.push(FieldError::required(&format!("{path}.type"), &detail)),
        other if !TYPES.contains(&other) => {
            errors.push(FieldError::invalid(&format!("{path}.type"), &json!(other), &detail));
        }
        _ => {}
    }
    match text(&column["jsonPath"]) {
        "" => errors.push(FieldError::required(&format!("{path}.JSONPath"), "")),
        other if !other.starts_with('.') => {
            let detail = "must be a simple json path starting with .";
            errors.push(FieldError::invalid(&format!("{path}.JSONPath"), &json!(other), detail));
        }
        _ => {}
    }
    errors
}

/// The maximum number of fields of a custom resource for field selectors.
const MOST_SELECTABLE: u64 = 8;

fn selectable_errors(version: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut known: Vec<&str> = Vec::new();
    for (index, field) in items(&version["selectableFields"]).enumerate() {
        let place = format!("{path}[{index}].jsonPath");
        let json_path = text(&field["jsonPath"]);
        if json_path.is_empty() {
            errors.push(FieldError::required(&place, ""));
            continue;
        }
        let invalid = |detail: &str| FieldError::invalid(&place, &json!(json_path), detail);
        let mut schema = &version["schema"]["openAPIV3Schema"];
        let Some(steps) = json_path.strip_prefix('.') else {
            errors.push(invalid(&format!("is an invalid path: expected [ or . but got: {json_path}")));
            continue;
        };
        if json_path.contains('[') {
            errors.push(invalid("is an invalid path: array notation is not allowed"));
            continue;
        }
        schema = steps.split('.').fold(schema, |schema, step| &schema["properties"][step]);
        if schema.is_null() {
            errors.push(invalid("is an invalid path: does not refer to a valid field"));
            continue;
        }
        if steps.split('.').next() == Some("metadata") {
            errors.push(invalid("must not point to fields in metadata"));
        }
        if !matches!(text(&schema["type"]), "string" | "boolean" | "integer") {
            errors.push(invalid(
                "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.",
            ));
        }
        match known.contains(&steps) {
            true => errors.push(FieldError::duplicate(&place, &json!(json_path))),
            false => known.push(steps),
        }
    }
    if known.len() as u64 > MOST_SELECTABLE {
        errors.push(FieldError::too_many(path, known.len(), MOST_SELECTABLE));
    }
    errors
}

fn conversion_errors(conversion: &Value) -> Vec<FieldError> {
    let (client, reviews) =
        ("spec.conversion.webhookClientConfig", "spec.conversion.conversionReviewVersions");
    match text(&conversion["strategy"]) {
        // The default is None.
        "" | "None" if conversion["webhook"].is_object() => {
            let detail = "should not be set when strategy is not set to Webhook";
            vec![FieldError::forbidden(client, detail)]
        }
        "" | "None" => Vec::new(),
        "Webhook" => {
            let webhook = &conversion["webhook"];
            let mut errors = Vec::new();
            let (has_url, has_service) =
                (webhook["clientConfig"]["url"].is_string(), webhook["clientConfig"]["service"].is_object());
            if !webhook["clientConfig"].is_object() {
                errors.push(FieldError::required(client, "required when strategy is set to Webhook"));
            } else if has_url == has_service {
                errors.push(FieldError::required(client, "exactly one of url or service is required"));
            }
            let names: Vec<_> = items(&webhook["conversionReviewVersions"]).map(text).collect();
            if names.is_empty() {
                errors.push(FieldError::required(reviews, ""));
            } else if !names.iter().any(|name| REVIEW_VERSIONS.contains(name)) {
                let detail = format!("must include at least one of {}", REVIEW_VERSIONS.join(", "));
                errors.push(FieldError::invalid(reviews, &json!(names), &detail));
            }
            errors
        }
        other => vec![FieldError::not_supported("spec.conversion.strategy", other, &["None", "Webhook"])],
    }
}

/// A name that two definitions of a group have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NameConflict {
    /// The reason of the condition `NamesAccepted`.
    pub(crate) reason: &'static str,
    /// The name.
    pub(crate) name: String,
}

impl NameConflict {
    /// Returns the last of the names of a definition that others have.
    pub(crate) fn find(crd: &Value, others: &[&Resource]) -> Option<Self> {
        let names = Names::of(&crd["spec"]["names"]);
        let is_resource = |name: &str| {
            others.iter().any(|one| {
                one.plural == name
                    || one.singular == name
                    || one.short_names.iter().any(|short| short == name)
            })
        };
        let is_kind = |name: &str| others.iter().any(|one| one.kind == name || one.list_kind == name);
        let short_names = texts(&crd["spec"]["names"]["shortNames"], text);
        let short_name = short_names.into_iter().find(|name| is_resource(name)).unwrap_or_default();
        let candidates = [
            ("ListKindConflict", is_kind(&names.list_kind), names.list_kind),
            ("KindConflict", is_kind(&names.kind), names.kind),
            ("ShortNamesConflict", !short_name.is_empty(), short_name),
            ("SingularConflict", is_resource(&names.singular), names.singular),
            ("PluralConflict", is_resource(&names.plural), names.plural),
        ];
        let found = candidates.into_iter().find(|(_, is_taken, _)| *is_taken);
        found.map(|(reason, _, name)| Self { reason, name })
    }
}

/// Sets the status of a definition whose resources are served, or cannot be served because of a name.
pub(crate) fn establish(crd: &mut Value, conflict: Option<&NameConflict>, now: &str) {
    if from_crd(crd).is_err() {
        return;
    }
    let names = Names::of(&crd["spec"]["names"]);
    crd["spec"]["names"]["singular"] = names.singular.into();
    crd["spec"]["names"]["listKind"] = names.list_kind.into();
    if !crd["spec"]["conversion"].is_object() {
        crd["spec"]["conversion"] = json!({"strategy": "None"});
    }
    let mut stored: Vec<_> = items(&crd["status"]["storedVersions"]).cloned().collect();
    let storage = versions(crd).filter(|one| one["storage"] == true).map(|one| one["name"].clone());
    let added: Vec<_> = storage.filter(|name| !stored.contains(name)).collect();
    stored.extend(added);
    let accepted = match conflict {
        None => crd["spec"]["names"].clone(),
        Some(_) => json!({ "plural": crd["spec"]["names"]["plural"], "kind": "" }),
    };
    let conditions = conditions(&crd["status"]["conditions"], conflict, now);
    crd["status"] = json!({"acceptedNames": accepted, "conditions": conditions, "storedVersions": stored});
}

/// Returns the conditions of a definition. The time of unchanged conditions does not change.
fn conditions(before: &Value, conflict: Option<&NameConflict>, now: &str) -> Vec<Value> {
    let condition = |kind: &str, status: &str, reason: &str, message: &str| {
        let known = items(before).find(|one| one["type"] == kind && one["status"] == status);
        let since = known.map_or_else(|| json!(now), |known| known["lastTransitionTime"].clone());
        json!({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": since})
    };
    let mut conditions = match conflict {
        None => vec![
            condition("NamesAccepted", "True", "NoConflicts", "no conflicts found"),
            condition("Established", "True", "InitialNamesAccepted", "the initial names have been accepted"),
        ],
        Some(NameConflict { reason, name }) => vec![
            condition("NamesAccepted", "False", reason, &format!("{name:?} is already in use")),
            condition("Established", "False", "NotAccepted", "not all names are accepted"),
        ],
    };
    let is_other = |one: &&Value| one["type"] != "NamesAccepted" && one["type"] != "Established";
    conditions.extend(items(before).filter(is_other).cloned());
    conditions
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
    for (index, version) in versions(crd).enumerate() {
        if text(&version["name"]).is_empty() {
            flaws.push(FieldError::required(&format!("spec.versions[{index}].name"), ""));
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
        schema: schema_of(version).map(|schema| Arc::new(Structural::new(schema))),
        storage_schema: None,
        conversion: None,
        openapi: schema_of(version).cloned().map(Arc::new),
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
