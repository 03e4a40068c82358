//! Checks validating admission policies and their bindings when they are stored.

use super::condition::condition_errors;
use super::policy::{Binding, Policy};
use super::scope::Scope;
use super::validation::operation_errors;
use crate::expression::DYNAMIC;
use crate::invalid::FieldError;
use crate::object::{broken_key, metadata};
use crate::structural::RESERVED;
use regex::Regex;
use serde_json::Value;
use std::collections::HashSet;
use std::sync::LazyLock;

const REASONS: [&str; 3] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
const ACTIONS: [&str; 3] = ["Audit", "Deny", "Warn"];
static IDENTIFIER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("^[_a-zA-Z][_a-zA-Z0-9]*$").expect("the pattern is valid"));
/// The maximum number of audit annotations.
const MAX_AUDIT_ANNOTATIONS: usize = 20;

/// Returns the errors of a validating admission policy.
pub(super) fn policy_errors(object: &Value) -> Vec<FieldError> {
    let spec = &object["spec"];
    let mut errors = Vec::new();
    if let Some(policy) = text(spec, "failurePolicy").filter(|policy| !["Fail", "Ignore"].contains(policy)) {
        errors.push(FieldError::not_supported("spec.failurePolicy", policy, &["Fail", "Ignore"]));
    }
    for part in ["apiVersion", "kind"] {
        if spec["paramKind"].is_object() && text(&spec["paramKind"], part).unwrap_or_default().is_empty() {
            errors.push(FieldError::required(&format!("spec.paramKind.{part}"), ""));
        }
    }
    match &spec["matchConstraints"] {
        Value::Null => errors.push(FieldError::required("spec.matchConstraints", "")),
        constraints => {
            errors.extend(match_errors("spec.matchConstraints", constraints));
            if items(&constraints["resourceRules"]).next().is_none() {
                errors.push(FieldError::required("spec.matchConstraints.resourceRules", ""));
            }
        }
    }
    let mut scope = Scope { has_params: spec["paramKind"].is_object(), variables: None };
    errors.extend(condition_errors("spec.matchConditions", &spec["matchConditions"], &scope));
    if items(&spec["variables"]).next().is_some() {
        errors.extend(variable_errors(spec, &mut scope));
    }
    if items(&spec["validations"]).chain(items(&spec["auditAnnotations"])).next().is_none() {
        let detail = "validations or auditAnnotations must contain at least one item";
        errors.push(FieldError::required("spec.validations", detail));
        errors.push(FieldError::required("spec.auditAnnotations", detail));
    }
    for (position, validation) in items(&spec["validations"]).enumerate() {
        errors.extend(validation_errors(&format!("spec.validations[{position}]"), validation, &scope));
    }
    errors.extend(audit_errors(object, &scope));
    if errors.is_empty() && Policy::read(object).is_none() {
        errors.push(FieldError::invalid_omitted("spec", "the policy cannot be read"));
    }
    errors
}

/// Checks the variables in their order: each may refer to those before it.
fn variable_errors(spec: &Value, scope: &mut Scope) -> Vec<FieldError> {
    let mut errors = Vec::new();
    scope.variables = Some(Vec::new());
    for (position, variable) in items(&spec["variables"]).enumerate() {
        let field = |name: &str| format!("spec.variables[{position}].{name}");
        let name = text(variable, "name").unwrap_or_default();
        if name.trim().is_empty() {
            errors.push(FieldError::required(&field("name"), "name is not specified"));
        } else if !IDENTIFIER.is_match(name) || RESERVED.contains(&name) {
            errors.push(FieldError::invalid(&field("name"), &name.into(), "must be a valid CEL identifier"));
        }
        let source = text(variable, "expression").unwrap_or_default();
        if source.trim().is_empty() {
            errors.push(FieldError::required(&field("expression"), "expression is not specified"));
            continue;
        }
        let compiled = scope.compile(source, &[]);
        let found = compiled.map(|(_, found)| found).unwrap_or_else(|cause| {
            errors.push(FieldError::invalid(&field("expression"), &source.into(), &cause));
            DYNAMIC
        });
        scope.variables.get_or_insert_default().push((name.to_owned(), found));
    }
    errors
}

fn validation_errors(path: &str, validation: &Value, scope: &Scope) -> Vec<FieldError> {
    let field = |name: &str| format!("{path}.{name}");
    let mut errors = Vec::new();
    let compile = |name: &str, source: &str, output: &str| {
        let compiled = scope.compile(source, &[output]);
        compiled.err().map(|cause| FieldError::invalid(&field(name), &source.into(), &cause))
    };
    match text(validation, "expression").unwrap_or_default() {
        source if source.trim().is_empty() => {
            errors.push(FieldError::required(&field("expression"), "expression is not specified"));
        }
        source => errors.extend(compile("expression", source, "bool")),
    }
    match text(validation, "messageExpression").unwrap_or_default() {
        "" => {}
        source if source.trim().is_empty() => {
            let detail = "must be non-empty if specified";
            errors.push(FieldError::invalid(&field("messageExpression"), &source.into(), detail));
        }
        source => errors.extend(compile("messageExpression", source, "string")),
    }
    let message = text(validation, "message").unwrap_or_default();
    let detail = match message.trim() {
        "" if !message.is_empty() => Some("must be non-empty if specified"),
        message if message.contains(['\n', '\r']) => Some("must not contain line breaks"),
        _ => None,
    };
    errors.extend(detail.map(|detail| FieldError::invalid(&field("message"), &message.into(), detail)));
    if let Some(reason) = text(validation, "reason").filter(|reason| !REASONS.contains(reason)) {
        errors.push(FieldError::not_supported(&field("reason"), reason, &REASONS));
    }
    errors
}

fn audit_errors(object: &Value, scope: &Scope) -> Vec<FieldError> {
    let path = "spec.auditAnnotations";
    let annotations = &object["spec"]["auditAnnotations"];
    let mut errors = Vec::new();
    if items(annotations).count() > MAX_AUDIT_ANNOTATIONS {
        let detail = format!("must not have more than {MAX_AUDIT_ANNOTATIONS} auditAnnotations");
        errors.push(FieldError::invalid(path, annotations, &detail));
    }
    let mut keys = HashSet::new();
    for (position, annotation) in items(annotations).enumerate() {
        let field = |name: &str| format!("{path}[{position}].{name}");
        let key = text(annotation, "key").unwrap_or_default();
        let name = format!("{}/{key}", metadata::name(object));
        let broken = broken_key(&name);
        let invalid = |detail: &String| FieldError::invalid(&field("key"), &name.as_str().into(), detail);
        errors.extend(broken.iter().map(invalid));
        match text(annotation, "valueExpression").unwrap_or_default() {
            source if source.trim().is_empty() => {
                errors.push(FieldError::required(
                    &field("valueExpression"),
                    "valueExpression is not specified",
                ));
            }
            source => {
                if let Err(cause) = scope.compile(source.trim(), &["string", "null_type"]) {
                    errors.push(FieldError::invalid(&field("valueExpression"), &source.into(), &cause));
                }
            }
        }
        if !keys.insert(key) {
            errors.push(FieldError::duplicate(&field("key"), &key.into()));
        }
    }
    errors
}

/// Returns the errors of the binding of a validating admission policy.
pub(super) fn binding_errors(object: &Value) -> Vec<FieldError> {
    let spec = &object["spec"];
    let mut errors = Vec::new();
    if text(spec, "policyName").unwrap_or_default().is_empty() {
        errors.push(FieldError::required("spec.policyName", ""));
    }
    errors.extend(param_errors(&spec["paramRef"]));
    if spec["matchResources"].is_object() {
        errors.extend(match_errors("spec.matchResources", &spec["matchResources"]));
    }
    let path = "spec.validationActions";
    let mut actions = HashSet::new();
    for (position, action) in items(&spec["validationActions"]).enumerate() {
        let field = format!("{path}[{position}]");
        let action = action.as_str().unwrap_or_default();
        if !ACTIONS.contains(&action) {
            errors.push(FieldError::not_supported(&field, action, &ACTIONS));
        }
        if !actions.insert(action) {
            errors.push(FieldError::duplicate(&field, &action.into()));
        }
    }
    if actions.contains("Deny") && actions.contains("Warn") {
        let detail = "must not contain both Deny and Warn (repeating the same validation failure information in the API response \
             and headers serves no purpose)";
        errors.push(FieldError::invalid(path, &spec["validationActions"], detail));
    }
    if actions.is_empty() {
        errors.push(FieldError::required(path, "at least one validation action is required"));
    }
    if errors.is_empty() && Binding::read(object).is_none() {
        errors.push(FieldError::invalid_omitted("spec", "the binding cannot be read"));
    }
    errors
}

fn param_errors(params: &Value) -> Vec<FieldError> {
    let path = "spec.paramRef";
    if !params.is_object() {
        return Vec::new();
    }
    let has_name = !text(params, "name").unwrap_or_default().is_empty();
    let has_selector = params["selector"].is_object();
    let exclusive = "name and selector are mutually exclusive";
    let mut errors = Vec::new();
    match (has_name, has_selector) {
        (true, true) => {
            errors.push(FieldError::forbidden(&format!("{path}.name"), exclusive));
            errors.push(FieldError::forbidden(&format!("{path}.selector"), exclusive));
        }
        (false, false) => {
            errors.push(FieldError::required(path, "one of name or selector must be specified"));
        }
        (true, false) | (false, true) => {}
    }
    let field = format!("{path}.parameterNotFoundAction");
    match text(params, "parameterNotFoundAction").unwrap_or_default() {
        "" => errors.push(FieldError::required(&field, "")),
        "Allow" | "Deny" => {}
        other => errors.push(FieldError::not_supported(&field, other, &["Deny", "Allow"])),
    }
    errors
}

fn match_errors(path: &str, resources: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let policies = ["Equivalent", "Exact"];
    if let Some(policy) = text(resources, "matchPolicy").filter(|policy| !policies.contains(policy)) {
        errors.push(FieldError::not_supported(&format!("{path}.matchPolicy"), policy, &policies));
    }
    for list in ["resourceRules", "excludeResourceRules"] {
        let field = format!("{path}.{list}");
        for (position, rule) in items(&resources[list]).enumerate() {
            for part in ["operations", "apiGroups", "apiVersions", "resources"] {
                if items(&rule[part]).next().is_none() {
                    errors.push(FieldError::required(&format!("{field}[{position}].{part}"), ""));
                }
            }
        }
        errors.extend(operation_errors(&field, &resources[list]));
    }
    errors
}

fn text<'v>(value: &'v Value, field: &str) -> Option<&'v str> {
    value.get(field).and_then(Value::as_str)
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
