//! Label selectors as objects carry them.

use serde_json::Value;

/// Returns true if a label selector matches an object. An absent selector matches no object.
pub(crate) fn label_selector_matches(selector: Option<&Value>, object: &Value) -> bool {
    let Some(selector) = selector else { return false };
    let label = |key: &str| object.pointer("/metadata/labels")?.get(key)?.as_str();
    let mut labels = selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten();
    let mut expressions = selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten();
    let holds = |one: &Value| {
        let found = label(one["key"].as_str().unwrap_or_default());
        let is_listed = || {
            let mut values = one["values"].as_array().into_iter().flatten().filter_map(Value::as_str);
            found.is_some_and(|found| values.any(|value| value == found))
        };
        match one["operator"].as_str().unwrap_or_default() {
            "In" => is_listed(),
            "NotIn" => !is_listed(),
            "Exists" => found.is_some(),
            "DoesNotExist" => found.is_none(),
            _ => false,
        }
    };
    labels.all(|(key, value)| label(key) == value.as_str()) && expressions.all(holds)
}
