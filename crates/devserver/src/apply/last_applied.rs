//! The annotation of client-side `kubectl apply`, which is treated as ownership when kubectl switches to
//! server-side apply.

use crate::apply::{
    compare::compare,
    field_set::field_set,
    schema::Type,
    set::FieldSet,
    validate::{Duplicates, validate},
};
use serde_json::Value;

/// The annotation in which kubectl records the last applied configuration.
const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The field manager of `kubectl apply --server-side`.
pub(super) const KUBECTL: &str = "kubectl";

/// Returns the fields that client-side apply set and that were not changed since then.
pub(super) fn owned(ty: Type<'_>, api_version: &str, live: &Value) -> Option<FieldSet> {
    let text = annotation(live)?;
    let applied: Value = serde_json::from_str(text).ok()?;
    if applied.get("apiVersion").and_then(Value::as_str) != Some(api_version) {
        return None;
    }
    validate(ty, &applied, Duplicates::Refused).ok()?;
    let changes = compare(ty, &applied, live);
    let set = field_set(ty, &applied).difference(&changes.modified);
    Some(set.difference(&changes.added).difference(&changes.removed))
}

/// Records a configuration in the annotation, if the object has this annotation.
pub(super) fn record(object: &mut Value, config: &Value) {
    if annotation(object).is_none() {
        return;
    }
    let mut config = config.clone();
    if let Some(annotations) = config.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove(ANNOTATION);
    }
    if let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.insert(ANNOTATION.to_owned(), format!("{config}\n").into());
    }
}

fn annotation(object: &Value) -> Option<&str> {
    let annotations = object.pointer("/metadata/annotations")?;
    annotations.get(ANNOTATION)?.as_str().filter(|text| !text.is_empty())
}
