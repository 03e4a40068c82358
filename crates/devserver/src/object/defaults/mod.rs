//! The values that the server fills in where a client leaves them out.
//!
//! Go has one defaulting function for each type, which is called wherever the type occurs. So have these modules: the
//! merge schema tells the type of each part of an object.

mod edit;

mod fields;

mod pod;

mod workload;

mod service;

mod others;

use crate::apply::{built_in, visit};
use crate::object::{defaults::edit::set, metadata, quantity};
use crate::registry::Resource;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

/// Drops the status that a client gave a new object, where status is written on its own, and sets the first one.
pub(crate) fn reset_status(resource: &Resource, object: &mut Value) {
    // The kubelet registers its node together with the status.
    if !resource.has_status || resource.is("", "nodes") {
        return;
    }
    let fields = metadata::fields(object);
    if resource.is_custom() {
        fields.remove("status");
        return;
    }
    let first = match resource.storage() {
        ("", "pods") => json!({"phase": "Pending"}),
        ("", "namespaces") => json!({"phase": "Active"}),
        ("", "persistentvolumes" | "persistentvolumeclaims") => json!({"phase": "Pending"}),
        ("", "services") => json!({"loadBalancer": {}}),
        _ => json!({}),
    };
    fields.insert("status".to_owned(), first);
}

/// Fills in the defaults of a built-in kind, and writes its quantities in their canonical form.
pub(crate) fn fill(resource: &Resource, object: &mut Value) {
    if resource.is_custom() {
        return;
    }
    match resource.storage() {
        // The namespaces of every server are made at its start, before anything needs the types.
        ("", "namespaces") => return fill_namespace(object),
        ("", "secrets") => fill_secret(object),
        _ => {}
    }
    if let Some(ty) = built_in().kind(&resource.api_version(), &resource.kind) {
        visit(ty, object, &mut fill_type);
    }
}

/// Fills in the defaults of one type.
fn fill_type(name: &str, value: &mut Value) {
    if name == QUANTITY {
        let text = match value {
            Value::String(text) => quantity::canonical(text),
            Value::Number(number) => quantity::canonical(&number.to_string()),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        if let Some(text) = text {
            *value = text.into();
        }
        return;
    }
    let Value::Object(fields) = value else { return };
    let Some(name) = name.strip_prefix(API) else { return others::fill_extension(name, fields) };
    fields::fill(name, fields);
    pod::fill(name, fields);
    workload::fill(name, fields);
    service::fill(name, fields);
    others::fill(name, fields);
}

/// What the names of the types of built-in kinds begin with.
const API: &str = "io.k8s.api.";
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";

fn fill_namespace(object: &mut Value) {
    let name = metadata::name(object).to_owned();
    if !name.is_empty() {
        let labels = metadata::fields(metadata::of(object).entry("labels").or_insert(Value::Null));
        labels.insert("kubernetes.io/metadata.name".to_owned(), name.into());
    }
    let status = metadata::fields(metadata::fields(object).entry("status").or_insert(Value::Null));
    set(status, "phase", "Active");
}

/// Sets what holds a namespace until its contents are gone.
pub(crate) fn hold_namespace(resource: &Resource, object: &mut Value) {
    if resource.is("", "namespaces") {
        let spec = metadata::fields(metadata::fields(object).entry("spec").or_insert(Value::Null));
        spec.entry("finalizers").or_insert_with(|| json!(["kubernetes"]));
    }
}

/// `stringData` is only ever written: its values join the data, encoded.
fn fill_secret(object: &mut Value) {
    let fields = metadata::fields(object);
    let Some(Value::Object(plain)) = fields.remove("stringData") else { return };
    let encoded =
        plain.into_iter().filter_map(|(key, value)| Some((key, STANDARD.encode(value.as_str()?).into())));
    let encoded: Map<_, Value> = encoded.collect();
    metadata::fields(fields.entry("data").or_insert(Value::Null)).extend(encoded);
}
