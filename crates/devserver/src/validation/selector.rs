//! Label selectors and node selectors.

use crate::object::label_selector_matches;
use crate::validation::field::{Errors, Field};
use serde_json::Value;

/// Checks a label selector.
pub(super) fn check(e: &mut Errors, selector: &Field<'_, '_>) {
    e.labels(&selector.get("matchLabels"));
    for one in selector.get("matchExpressions").items() {
        let (key, values) = (one.get("key"), one.get("values"));
        match one.get("operator").text() {
            "In" | "NotIn" => {
                if values.is_empty() {
                    e.required(&values, "must be specified when `operator` is 'In' or 'NotIn'");
                }
            }
            "Exists" | "DoesNotExist" => {
                if !values.is_empty() {
                    let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                    e.forbidden(&values, detail);
                }
            }
            _ => e.invalid(&one.get("operator"), "not a valid selector operator"),
        }
        e.qualified_name(&key);
        values.items().for_each(|value| e.label_value(&value));
    }
}

/// Returns whether a selector has no requirements.
pub(super) fn is_empty(selector: &Field<'_, '_>) -> bool {
    selector.get("matchLabels").is_empty() && selector.get("matchExpressions").is_empty()
}

/// Checks the selector of a controller: it is there, valid and not empty, and matches the labels of the template.
pub(super) fn check_controller(e: &mut Errors, spec: &Field<'_, '_>, kind: &str) {
    let (selector, template) = (spec.get("selector"), spec.get("template"));
    let found = e.len();
    if !selector.is_set() {
        e.required(&selector, "");
    } else {
        check(e, &selector);
        if is_empty(&selector) {
            e.invalid(&selector, &format!("empty selector is invalid for {kind}"));
        }
    }
    if e.len() == found {
        check_matches(e, &selector, &template);
    }
}

/// Checks that a selector matches the labels of the template.
pub(super) fn check_matches(e: &mut Errors, selector: &Field<'_, '_>, template: &Field<'_, '_>) {
    if !label_selector_matches(Some(selector.value()), template.value()) {
        let metadata = template.get("metadata");
        e.invalid(&metadata.get("labels"), "`selector` does not match template `labels`");
    }
}

/// Whether the values of a node selector have to be labels.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeValues {
    Labels,
    Any,
}

/// Checks one term of a node selector.
pub(super) fn check_node_term(e: &mut Errors, term: &Field<'_, '_>, form: NodeValues) {
    for one in term.get("matchExpressions").items() {
        let values = one.get("values");
        match one.get("operator").text() {
            "In" | "NotIn" => {
                if values.is_empty() {
                    e.required(&values, "must be specified when `operator` is 'In' or 'NotIn'");
                }
            }
            "Exists" | "DoesNotExist" => {
                if !values.is_empty() {
                    let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                    e.forbidden(&values, detail);
                }
            }
            "Gt" | "Lt" => {
                if values.len() != 1 {
                    e.required(&values, "must be specified single value when `operator` is 'Lt' or 'Gt'");
                }
            }
            _ => e.invalid(&one.get("operator"), "not a valid selector operator"),
        }
        e.qualified_name(&one.get("key"));
        if form == NodeValues::Labels {
            values.items().for_each(|value| e.label_value(&value));
        }
    }
    for one in term.get("matchFields").items() {
        let values = one.get("values");
        match one.get("operator").text() {
            "In" | "NotIn" => {
                if values.len() != 1 {
                    let detail =
                        "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
                    e.required(&values, detail);
                }
            }
            _ => e.invalid(&one.get("operator"), "not a valid selector operator"),
        }
        match one.get("key").text() {
            "metadata.name" => values.items().for_each(|value| e.subdomain(&value)),
            _ => e.invalid(&one.get("key"), "not a valid field selector key"),
        }
    }
}

/// Returns the keys that a label selector names.
pub(super) fn keys<'v>(selector: &Field<'_, 'v>) -> Vec<&'v str> {
    let labels = selector.get("matchLabels").value().as_object().into_iter().flatten();
    let expressions = selector.get("matchExpressions").value().as_array().into_iter().flatten();
    let of_expressions = expressions.filter_map(|one| one.get("key").and_then(Value::as_str));
    labels.map(|(key, _)| key.as_str()).chain(of_expressions).collect()
}
