//! Masks the contents of Secrets before they are sent to a page.

use serde_json::{Value, json};

/// The text in place of a masked value.
const MASK: &str = "***";
/// The text in place of a masked value that differs from the one it is compared with.
const CHANGED: &str = "*** (changed)";
/// The annotation in which kubectl stores the applied object, with the data of Secrets in clear text.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Masks the contents of a Secret.
pub(super) fn mask(secret: &mut Value) {
    for value in contents(secret) {
        *value = json!(MASK);
    }
}

/// Masks two states of a Secret, so that it is visible which values differ.
pub(super) fn mask_both(old: &mut Value, new: &mut Value) {
    for field in ["data", "stringData"] {
        let before = old.get(field).cloned().unwrap_or_default();
        if let Some(Value::Object(values)) = new.get_mut(field) {
            for (name, value) in values {
                let is_changed = before.get(name).is_some_and(|before| before != value);
                *value = json!(if is_changed { CHANGED } else { MASK });
            }
        }
    }
    mask(old);
    for value in contents(new).into_iter().filter(|value| *value != CHANGED) {
        *value = json!(MASK);
    }
}

/// Returns every value of a Secret that may be confidential.
fn contents(secret: &mut Value) -> Vec<&mut Value> {
    let Value::Object(fields) = secret else { return Vec::new() };
    let mut found = Vec::new();
    for (name, value) in fields {
        match (name.as_str(), value) {
            ("data" | "stringData", Value::Object(values)) => found.extend(values.values_mut()),
            ("data" | "stringData", value) => found.push(value),
            ("metadata", metadata) => found
                .extend(metadata.pointer_mut(&format!("/annotations/{}", LAST_APPLIED.replace('/', "~1")))),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(password: &str) -> Value {
        json!({"kind": "Secret", "metadata": {"name": "db", "annotations": {LAST_APPLIED: password, "note": "kept"}},
            "data": {"password": password, "user": "admin7"}, "stringData": {"other": password}})
    }

    #[test]
    fn no_value_of_a_secret_remains() {
        let mut one = secret("hunter2");
        mask(&mut one);
        assert!(!one.to_string().contains("hunter2") && !one.to_string().contains("admin7"), "{one}");
        assert_eq!(one["metadata"]["annotations"]["note"], "kept");
        let mut odd = json!({"data": "hunter2", "metadata": []});
        mask(&mut odd);
        assert_eq!(odd["data"], MASK);
    }

    #[test]
    fn a_changed_value_is_visible_as_changed() {
        let (mut old, mut new) = (secret("hunter2"), secret("hunter3"));
        mask_both(&mut old, &mut new);
        assert_eq!((&new["data"]["password"], &new["data"]["user"]), (&json!(CHANGED), &json!(MASK)));
        assert!(!format!("{old}{new}").contains("hunter"), "{old} {new}");
    }
}
