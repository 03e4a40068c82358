//! Defaults of other kinds that depend on other fields.

use crate::object::defaults::edit::{is_empty, made, set, text};
use serde_json::{Map, Value, json};

type Fields = Map<String, Value>;

const RBAC: &str = "rbac.authorization.k8s.io";

/// Fills in the defaults of a type.
pub(super) fn fill(name: &str, fields: &mut Fields) {
    match name {
        "rbac.v1.RoleRef" => set(fields, "apiGroup", RBAC),
        "rbac.v1.Subject" => {
            if matches!(text(fields, "kind"), "User" | "Group") {
                set(fields, "apiGroup", RBAC);
            }
        }
        "admissionregistration.v1.MutatingWebhook" => set(fields, "reinvocationPolicy", "Never"),
        "storage.v1.CSIDriverSpec" if is_empty(fields, "volumeLifecycleModes") => {
            fields.insert("volumeLifecycleModes".to_owned(), json!(["Persistent"]));
        }
        "core.v1.LimitRangeItem" => limit_range(fields),
        "resource.v1.ExactDeviceRequest" | "resource.v1.DeviceSubRequest" => device_count(fields),
        _ => {}
    }
}

/// Fills in the defaults of the types of definitions and of aggregated APIs.
pub(super) fn fill_extension(name: &str, fields: &mut Fields) {
    match name.rsplit('.').next().unwrap_or_default() {
        "ServiceReference" => set(fields, "port", 443),
        "CustomResourceDefinitionSpec" => {
            set(fields, "conversion", json!({"strategy": "None"}));
            let names = made(fields, "names");
            let kind = text(names, "kind").to_owned();
            if !kind.is_empty() {
                set(names, "singular", kind.to_lowercase());
                set(names, "listKind", format!("{kind}List"));
            }
        }
        _ => {}
    }
}

fn device_count(request: &mut Fields) {
    set(request, "allocationMode", "ExactCount");
    let is_zero = request.get("count").is_none_or(|count| count.as_i64() == Some(0));
    if text(request, "allocationMode") == "ExactCount" && is_zero {
        request.insert("count".to_owned(), 1.into());
    }
}

/// Sets the defaults of containers to their limits, and the requests to the defaults.
fn limit_range(item: &mut Fields) {
    if text(item, "type") != "Container" {
        return;
    }
    for (from, to) in [("max", "default"), ("default", "defaultRequest"), ("min", "defaultRequest")] {
        let Some(values) = item.get(from).and_then(Value::as_object).cloned() else { continue };
        let defaults = made(item, to);
        for (name, value) in values {
            defaults.entry(name).or_insert(value);
        }
    }
    for name in ["default", "defaultRequest"] {
        if is_empty(item, name) {
            item.remove(name);
        }
    }
}
