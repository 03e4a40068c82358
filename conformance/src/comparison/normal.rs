//! Normalizes responses for the comparison: removes texts, times, and values that a server chooses.

use serde_json::{Value, json};

/// Values that each server chooses, which must be present on both or on none.
const CHOSEN: [&str; 9] = [
    "/metadata/uid",
    "/metadata/resourceVersion",
    "/metadata/creationTimestamp",
    "/metadata/deletionTimestamp",
    "/metadata/namespace",
    "/spec/clusterIP",
    "/spec/clusterIPs",
    "/spec/healthCheckNodePort",
    "/details/uid",
];
/// Values of admission plugins that the devserver does not have.
const REMOVED: [&str; 4] =
    ["/spec/tolerations", "/spec/priority", "/spec/preemptionPolicy", "/status/qosClass"];

/// Returns what is compared of a response.
pub(super) fn answer(answer: &Value) -> Value {
    if answer["kind"] != "Status" {
        return object(answer);
    }
    let causes = answer["details"]["causes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut causes: Vec<_> =
        causes.iter().map(|cause| json!([cause["reason"], cause["field"]]).to_string()).collect();
    causes.sort_unstable();
    let details = &answer["details"];
    json!({
        "code": answer["code"], "status": answer["status"], "reason": answer["reason"],
        "name": details["name"], "kind": details["kind"], "group": details["group"], "causes": causes,
    })
}

/// Returns what is compared of an object.
pub(super) fn object(object: &Value) -> Value {
    let mut object = object.clone();
    for path in CHOSEN {
        if let Some(value) = object.pointer_mut(path) {
            *value = "present".into();
        }
    }
    for path in REMOVED {
        let (parent, name) = path.rsplit_once('/').unwrap();
        if let Some(fields) = object.pointer_mut(parent).and_then(Value::as_object_mut) {
            fields.remove(name);
        }
    }
    if let Some(Value::Array(entries)) = object.pointer_mut("/metadata/managedFields") {
        for entry in entries.iter_mut() {
            entry["time"] = "present".into();
        }
        // Entries of the same operation are sorted by time, in seconds.
        entries.sort_by_key(|entry| {
            ["operation", "manager", "apiVersion", "subresource"].map(|name| entry[name].to_string())
        });
    }
    object
}
