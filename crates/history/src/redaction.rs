//! Removes values from objects before they are recorded.

use crate::{error::RecordError, kind::Kind};
use kube_informer_wire::{Format, ManagedFields, Raw};
use serde_json::Value;
use std::str::FromStr;

/// A path whose values are replaced before an object is recorded.
///
/// The path is a JSON pointer in which `*` matches every field or item, such as `/spec/containers/*/env/*/value`, optionally after a
/// resource name and a colon: `configmaps:/data/*`.
///
/// If a value of an object was replaced, its annotation `kubectl.kubernetes.io/last-applied-configuration` is replaced as well, since
/// it may contain the same value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redaction {
    resource: Option<String>,
    path: Vec<String>,
}

/// The text that replaces a value.
const REDACTED: &str = "REDACTED";

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

impl FromStr for Redaction {
    type Err = RecordError;

    fn from_str(text: &str) -> Result<Self, RecordError> {
        let invalid = || RecordError::InvalidPath { path: text.to_owned() };
        let (resource, path) = match text.split_once(":/") {
            Some((resource, path)) if !resource.contains('/') && !resource.is_empty() => {
                (Some(resource), path)
            }
            _ => (None, text.strip_prefix('/').ok_or_else(invalid)?),
        };
        if path.is_empty() {
            return Err(invalid());
        }
        let path = path.split('/').map(|token| token.replace("~1", "/").replace("~0", "~")).collect();
        Ok(Self { resource: resource.map(Into::into), path })
    }
}

/// Returns the object without the values at the paths of its kind; `None` if it has none.
///
/// # Errors
/// If the object cannot be decoded, so that it is unknown whether it has such values.
pub(crate) fn redact(
    raw: &Raw,
    kind: &Kind,
    redactions: &[Redaction],
) -> Result<Option<Raw>, kube_informer_wire::ObjectError> {
    let applies =
        |redaction: &&Redaction| redaction.resource.as_deref().is_none_or(|name| kind.is_named(name));
    let mut redactions = redactions.iter().filter(applies).peekable();
    if redactions.peek().is_none() {
        return Ok(None);
    }
    let mut object: Value = raw.decode(ManagedFields::Keep)?;
    let count: usize = redactions.map(|redaction| replace(&mut object, &redaction.path)).sum();
    if count == 0 {
        return Ok(None);
    }
    if let Some(annotation) =
        object.pointer_mut("/metadata/annotations").and_then(|all| all.get_mut(LAST_APPLIED))
    {
        *annotation = REDACTED.into();
    }
    Ok(Some(Raw::new(Format::Json, object.to_string().into())))
}

/// Replaces the values at a path, and returns their number.
fn replace(value: &mut Value, path: &[String]) -> usize {
    let Some((token, rest)) = path.split_first() else {
        if value.is_null() {
            return 0;
        }
        *value = REDACTED.into();
        return 1;
    };
    match value {
        Value::Object(fields) if token == "*" => fields.values_mut().map(|field| replace(field, rest)).sum(),
        Value::Array(items) if token == "*" => items.iter_mut().map(|item| replace(item, rest)).sum(),
        Value::Object(fields) => fields.get_mut(token).map_or(0, |field| replace(field, rest)),
        Value::Array(items) => {
            let item = token.parse().ok().and_then(|index: usize| items.get_mut(index));
            item.map_or(0, |item| replace(item, rest))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn redacted(paths: &[&str], object: &Value) -> Option<Value> {
        let redactions: Vec<_> = paths.iter().map(|path| path.parse().unwrap()).collect();
        let kind = Kind::new("", "v1", "ConfigMap", "configmaps").short_names(["cm"]);
        let raw = Raw::new(Format::Json, object.to_string().into());
        let raw = redact(&raw, &kind, &redactions).unwrap()?;
        Some(raw.decode(ManagedFields::Keep).unwrap())
    }

    #[test]
    fn values_at_the_paths_are_replaced() {
        let object = json!({"metadata": {"name": "a", "annotations": {LAST_APPLIED: "{\"data\":1}"}},
            "data": {"user": "u", "password": "p"}, "list": [{"value": 1}, {"value": 2}, {}]});
        let expected = json!({"metadata": {"name": "a", "annotations": {LAST_APPLIED: REDACTED}},
            "data": {"user": "u", "password": REDACTED}, "list": [{"value": REDACTED}, {"value": REDACTED}, {}]});
        let paths = ["/data/password", "cm:/list/*/value", "/absent/*", "pods:/data/user"];
        assert_eq!(redacted(&paths, &object), Some(expected));
        assert_eq!(redacted(&["/data/absent", "/data/user/deep"], &object), None);
        assert_eq!(redacted(&["/list/1/value"], &object).unwrap()["list"][1]["value"], REDACTED);
    }

    #[test]
    fn invalid_paths_are_rejected() {
        for text in ["", "data", "/", "configmaps:data", ":/data"] {
            let error = text.parse::<Redaction>().unwrap_err().to_string();
            assert!(error.contains(&format!("{text:?}")), "{error}");
        }
    }
}
