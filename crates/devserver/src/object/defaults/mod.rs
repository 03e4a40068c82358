//! The defaults that the server sets for absent fields.
//!
//! Go has one defaulting function for each type, which is called wherever the type occurs. So do these modules: the
//! merge schema has the type of each part of an object.

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

/// A text that is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a quantity: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)]
pub(crate) struct InvalidQuantity(String);

/// Fills in the defaults of a built-in kind whose quantities were checked before.
pub(crate) fn fill(resource: &Resource, object: &mut Value) {
    let filled = try_fill(resource, object);
    debug_assert!(filled.is_ok(), "{filled:?}");
}

/// Fills in the defaults of a built-in kind, and writes its quantities in their canonical form.
///
/// # Errors
/// If a text is not a quantity.
pub(crate) fn try_fill(resource: &Resource, object: &mut Value) -> Result<(), InvalidQuantity> {
    if resource.is_custom() {
        return Ok(());
    }
    match resource.storage() {
        // The namespaces of every server are made at its start, before anything needs the types.
        ("", "namespaces") => {
            fill_namespace(object);
            return Ok(());
        }
        ("", "secrets") => fill_secret(object),
        _ => {}
    }
    let mut result = Ok(());
    if let Some(ty) = built_in().kind(&resource.api_version(), &resource.kind) {
        visit(ty, object, &mut |name, value| {
            if let Err(invalid) = fill_type(name, value) {
                result = Err(invalid);
            }
        });
    }
    result
}

/// Fills in the defaults of one type.
fn fill_type(name: &str, value: &mut Value) -> Result<(), InvalidQuantity> {
    if name == QUANTITY {
        let text = match value {
            Value::String(text) => quantity::canonical(text),
            Value::Number(number) => quantity::canonical(&number.to_string()),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return Ok(()),
        };
        let Some(text) = text else {
            return Err(InvalidQuantity(value.as_str().map_or_else(|| value.to_string(), str::to_owned)));
        };
        *value = text.into();
        return Ok(());
    }
    let Value::Object(fields) = value else { return Ok(()) };
    let Some(name) = name.strip_prefix(API) else {
        others::fill_extension(name, fields);
        return Ok(());
    };
    fields::fill(name, fields);
    pod::fill(name, fields);
    workload::fill(name, fields);
    service::fill(name, fields);
    others::fill(name, fields);
    Ok(())
}

/// The prefix of the names of the types of built-in kinds.
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

/// Sets the finalizer that retains a namespace until its contents are deleted.
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
