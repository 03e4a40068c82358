//! The scale subresource: the actual and the desired number of replicas of an object of any kind.

use crate::invalid::FieldError;
use crate::object::{metadata, path};
use crate::registry::Resource;
use crate::structural::Part;
use serde_json::{Map, Value, json};

/// Returns the scale of an object; `None` if its resource has no scale.
pub(crate) fn read(resource: &Resource, object: &Value) -> Option<Value> {
    let paths = resource.scale.as_ref()?;
    let count = |at: &str| path::read(object, at).and_then(Value::as_i64).unwrap_or(0);
    let mut meta = Map::new();
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        metadata::keep(field, object.pointer(&format!("/metadata/{field}")), &mut meta);
    }
    let mut status = json!({"replicas": count(&paths.status_replicas)});
    if let Some(selector) = paths.selector.as_ref().and_then(|at| path::read(object, at)) {
        status["selector"] = selector_text(selector).into();
    }
    Some(json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": meta,
        "spec": {"replicas": count(&paths.spec_replicas)},
        "status": status,
    }))
}

/// Sets the number of replicas of an object to that of a scale.
///
/// # Errors
/// Returns an error if the number is negative or not an integer.
pub(crate) fn write(resource: &Resource, object: &mut Value, scale: &Value) -> Result<(), FieldError> {
    let Some(paths) = resource.scale.as_ref() else { return Ok(()) };
    let wanted = match scale.pointer("/spec/replicas") {
        None | Some(Value::Null) => 0,
        Some(wanted) => match wanted.as_i64().and_then(|wanted| i32::try_from(wanted).ok()) {
            Some(wanted) if wanted >= 0 => wanted,
            _ => {
                return Err(FieldError::invalid(
                    "spec.replicas",
                    wanted,
                    "must be greater than or equal to 0",
                ));
            }
        },
    };
    path::write(object, &paths.spec_replicas, wanted.into());
    Ok(())
}

/// Returns the errors in the fields of a custom resource that the scale subresource uses.
pub(crate) fn errors(resource: &Resource, object: &Value, part: Part) -> Vec<FieldError> {
    let Some(paths) = resource.scale.as_ref().filter(|_| resource.is_custom()) else { return Vec::new() };
    let spec = (part == Part::Object).then_some(&paths.spec_replicas);
    let mut errors: Vec<_> =
        spec.into_iter().chain([&paths.status_replicas]).filter_map(|at| count_error(object, at)).collect();
    if let Some(at) = &paths.selector
        && let Some(found) = path::read(object, at).filter(|found| !found.is_string())
    {
        let detail =
            format!("{at} accessor error: {found} is of the type {}, expected string", go_type(found));
        errors.push(FieldError::invalid(at, &"".into(), &detail));
    }
    errors
}

fn count_error(object: &Value, at: &str) -> Option<FieldError> {
    let found = path::read(object, at)?;
    let Some(count) = found.as_i64() else {
        let shown = found.as_str().map_or_else(|| found.to_string(), str::to_owned);
        let detail =
            format!("{at} accessor error: {shown} is of the type {}, expected int64", go_type(found));
        return Some(FieldError::invalid(at, &0.into(), &detail));
    };
    match count {
        ..0 => Some(FieldError::invalid(at, found, "should be a non-negative integer")),
        count if i32::try_from(count).is_err() => {
            Some(FieldError::invalid(at, found, &format!("should be less than or equal to {}", i32::MAX)))
        }
        _ => None,
    }
}

/// Returns the name of the Go type of a decoded value.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// Formats a selector, which is a text, a map of labels, or a `LabelSelector`.
fn selector_text(selector: &Value) -> String {
    let Value::Object(fields) = selector else { return selector.as_str().unwrap_or_default().to_owned() };
    let is_structured =
        fields.get("matchLabels").is_some_and(Value::is_object) || fields.contains_key("matchExpressions");
    let labels =
        if is_structured { fields.get("matchLabels").and_then(Value::as_object) } else { Some(fields) };
    let equal = labels
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()));
    let expressions = fields.get("matchExpressions").and_then(Value::as_array).into_iter().flatten();
    let mut parts: Vec<_> = equal.chain(expressions.map(expression_text)).collect();
    parts.sort();
    parts.join(",")
}

fn expression_text(expression: &Value) -> String {
    let key = expression["key"].as_str().unwrap_or_default();
    let values = expression["values"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut values: Vec<_> = values.collect();
    values.sort_unstable();
    let values = values.join(",");
    match expression["operator"].as_str().unwrap_or_default() {
        "Exists" => key.to_owned(),
        "DoesNotExist" => format!("!{key}"),
        "NotIn" => format!("{key} notin ({values})"),
        _ => format!("{key} in ({values})"),
    }
}
