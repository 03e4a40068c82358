//! Checks webhook configurations when they are stored.

use super::{condition::condition_errors, review::ReviewVersion, scope::Scope, webhook::Webhook};
use crate::invalid::FieldError;
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashSet;

/// The operations in rules. This server calls no webhook for `CONNECT`.
const OPERATIONS: [&str; 5] = ["*", "CREATE", "UPDATE", "DELETE", "CONNECT"];

/// Returns the errors of a webhook configuration.
pub(super) fn configuration_errors(object: &Value) -> Vec<FieldError> {
    let mut names = HashSet::new();
    let webhooks = object.get("webhooks").and_then(Value::as_array).into_iter().flatten();
    let errors = webhooks.enumerate().flat_map(|(position, webhook)| {
        let path = format!("webhooks[{position}]");
        let mut errors = errors_of(&path, webhook);
        let name = webhook.get("name").and_then(Value::as_str).unwrap_or_default();
        if !name.is_empty() && !names.insert(name) {
            errors.push(FieldError::duplicate(&format!("{path}.name"), &name.into()));
        }
        errors
    });
    errors.collect()
}

fn errors_of(path: &str, webhook: &Value) -> Vec<FieldError> {
    let field = |name: &str| format!("{path}.{name}");
    let text = |name: &str| webhook.get(name).and_then(Value::as_str);
    let mut errors = Vec::new();
    let name = text("name").unwrap_or_default();
    if name.is_empty() {
        errors.push(FieldError::required(&field("name"), ""));
    } else if name.split('.').filter(|segment| !segment.is_empty()).count() < 3 {
        let detail = "should be a domain with at least three segments separated by dots";
        errors.push(FieldError::invalid(&field("name"), &name.into(), detail));
    }
    errors.extend(version_error(&field("admissionReviewVersions"), webhook));
    let side_effects = ["None", "NoneOnDryRun"];
    match text("sideEffects") {
        None => errors.push(FieldError::required(
            &field("sideEffects"),
            &format!("must specify one of {}", side_effects.join(", ")),
        )),
        Some(value) if !side_effects.contains(&value) => {
            errors.push(FieldError::not_supported(&field("sideEffects"), value, &side_effects));
        }
        Some(_) => {}
    }
    if let Some(value) = text("failurePolicy").filter(|value| !["Ignore", "Fail"].contains(value)) {
        errors.push(FieldError::not_supported(&field("failurePolicy"), value, &["Fail", "Ignore"]));
    }
    if let Some(seconds) =
        webhook.get("timeoutSeconds").and_then(Value::as_i64).filter(|n| !(1..=30).contains(n))
    {
        let detail = "the timeout value must be between 1 and 30 seconds";
        errors.push(FieldError::invalid(&field("timeoutSeconds"), &seconds.into(), detail));
    }
    errors.extend(client_errors(&field("clientConfig"), webhook.get("clientConfig").unwrap_or(&Value::Null)));
    errors.extend(operation_errors(&field("rules"), webhook.get("rules").unwrap_or(&Value::Null)));
    let conditions = webhook.get("matchConditions").unwrap_or(&Value::Null);
    errors.extend(condition_errors(&field("matchConditions"), conditions, &Scope::default()));
    if errors.is_empty()
        && let Err(error) = Webhook::deserialize(webhook)
    {
        errors.push(FieldError::invalid(path, &name.into(), &error.to_string()));
    }
    errors
}

fn version_error(field: &str, webhook: &Value) -> Option<FieldError> {
    let versions = webhook.get("admissionReviewVersions").and_then(Value::as_array);
    let versions = versions.filter(|versions| !versions.is_empty());
    let Some(versions) = versions else {
        return Some(FieldError::required(field, "must specify one of v1, v1beta1"));
    };
    let is_known = versions.iter().filter_map(Value::as_str).any(|name| ReviewVersion::parse(name).is_some());
    let detail = "must include at least one of v1, v1beta1";
    (!is_known).then(|| FieldError::invalid(field, &versions.as_slice().into(), detail))
}

fn client_errors(path: &str, client: &Value) -> Vec<FieldError> {
    let url = client.get("url").and_then(Value::as_str);
    let has_service = client.get("service").is_some_and(Value::is_object);
    match url {
        Some(_) if has_service => {
            vec![FieldError::required(path, "exactly one of url or service is required")]
        }
        None if !has_service => vec![FieldError::required(path, "exactly one of url or service is required")],
        None => Vec::new(),
        Some(url) => match url.split_once("://") {
            Some(("https", _)) => Vec::new(),
            scheme => {
                let scheme = scheme.map_or("", |(scheme, _)| scheme);
                let detail = "'https' is the only allowed URL scheme; desired format: https://host[/path]";
                vec![FieldError::invalid(&format!("{path}.url"), &scheme.into(), detail)]
            }
        },
    }
}

/// Returns the errors of the operations in a list of rules.
pub(super) fn operation_errors(path: &str, rules: &Value) -> Vec<FieldError> {
    let rules = rules.as_array().into_iter().flatten().enumerate();
    let errors = rules.flat_map(|(rule, value)| {
        let operations = value.get("operations").and_then(Value::as_array).into_iter().flatten().enumerate();
        operations.filter_map(move |(position, operation)| {
            let operation = operation.as_str().unwrap_or_default();
            let field = format!("{path}[{rule}].operations[{position}]");
            (!OPERATIONS.contains(&operation))
                .then(|| FieldError::not_supported(&field, operation, &OPERATIONS))
        })
    });
    errors.collect()
}
