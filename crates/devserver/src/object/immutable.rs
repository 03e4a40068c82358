//! Fields that an update cannot change.

use crate::invalid::FieldError;
use crate::registry::Resource;
use serde_json::Value;

/// The error for a field that cannot change.
#[derive(Clone, Copy)]
enum Rule {
    /// The new value is invalid.
    Invalid,
    /// Changes are forbidden, for this reason.
    Forbidden(&'static str),
}

/// Returns an error for each immutable field that an update of an object changes.
pub(crate) fn immutable_changes(resource: &Resource, old: &Value, new: &Value) -> Vec<FieldError> {
    let (group, plural) = resource.storage();
    let of_kind = FIELDS.iter().filter(|field| (field.group, field.plural) == (group, plural));
    let changed = of_kind.filter(|field| old.pointer(field.pointer) != new.pointer(field.pointer));
    let mut errors: Vec<_> = changed.map(|field| field.error(new)).collect();
    match (group, plural) {
        ("", "configmaps") => errors.extend(immutable_data(old, new, &["data", "binaryData"])),
        ("", "secrets") => errors.extend(immutable_data(old, new, &["data"])),
        ("apps", "statefulsets") => errors.extend(stateful_set(old, new)),
        _ => {}
    }
    errors
}

struct Field {
    group: &'static str,
    plural: &'static str,
    pointer: &'static str,
    rule: Rule,
}

impl Field {
    fn error(&self, new: &Value) -> FieldError {
        let path = self.pointer.trim_start_matches('/').replace('/', ".");
        match self.rule {
            Rule::Invalid => {
                let value = new.pointer(self.pointer).unwrap_or(&Value::Null);
                FieldError::invalid(&path, value, "field is immutable")
            }
            Rule::Forbidden(why) => FieldError::forbidden(&path, why),
        }
    }
}

const fn field(group: &'static str, plural: &'static str, pointer: &'static str) -> Field {
    Field { group, plural, pointer, rule: Rule::Invalid }
}

const FIELDS: &[Field] = &[
    field("", "secrets", "/type"),
    field("apps", "controllerrevisions", "/data"),
    field("apps", "daemonsets", "/spec/selector"),
    field("apps", "deployments", "/spec/selector"),
    field("apps", "replicasets", "/spec/selector"),
    field("batch", "jobs", "/spec/completionMode"),
    field("batch", "jobs", "/spec/selector"),
    field("networking.k8s.io", "ingressclasses", "/spec/controller"),
    field("networking.k8s.io", "ipaddresses", "/spec/parentRef"),
    field("node.k8s.io", "runtimeclasses", "/handler"),
    field("rbac.authorization.k8s.io", "clusterrolebindings", "/roleRef"),
    field("rbac.authorization.k8s.io", "rolebindings", "/roleRef"),
    field("scheduling.k8s.io", "priorityclasses", "/preemptionPolicy"),
    Field {
        rule: Rule::Forbidden("may not be changed in an update."),
        ..field("scheduling.k8s.io", "priorityclasses", "/value")
    },
    field("storage.k8s.io", "storageclasses", "/parameters"),
    field("storage.k8s.io", "storageclasses", "/provisioner"),
    field("storage.k8s.io", "storageclasses", "/reclaimPolicy"),
    field("storage.k8s.io", "storageclasses", "/volumeBindingMode"),
    field("storage.k8s.io", "volumeattachments", "/spec"),
];

/// Returns the errors for changes of an immutable config map or secret.
fn immutable_data(old: &Value, new: &Value, fields: &[&str]) -> Vec<FieldError> {
    if old.get("immutable") != Some(&Value::Bool(true)) {
        return Vec::new();
    }
    let changed = fields.iter().filter(|field| old.get(**field) != new.get(**field)).copied();
    let thawed = (new.get("immutable") != Some(&Value::Bool(true))).then_some("immutable");
    let why = "field is immutable when `immutable` is set";
    thawed.into_iter().chain(changed).map(|field| FieldError::forbidden(field, why)).collect()
}

/// The fields of a stateful set that can change.
const STATEFUL_SET: [&str; 7] = [
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];

fn stateful_set(old: &Value, new: &Value) -> Option<FieldError> {
    let fixed = |object: &Value| {
        let mut spec = object.get("spec").and_then(Value::as_object).cloned().unwrap_or_default();
        spec.retain(|name, _| !STATEFUL_SET.contains(&name.as_str()));
        spec
    };
    let names: Vec<_> = STATEFUL_SET.iter().map(|name| format!("'{name}'")).collect();
    let (last, others) = names.split_last()?;
    let why = format!(
        "updates to statefulset spec for fields other than {} and {last} are forbidden",
        others.join(", ")
    );
    (fixed(old) != fixed(new)).then(|| FieldError::forbidden("spec", &why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::resource;
    use serde_json::json;

    #[test]
    fn changes_of_immutable_fields_are_reported() {
        let table = [
            (
                "apps",
                "deployments",
                json!({"spec": {"selector": {"a": "b"}}}),
                json!({"spec": {}}),
                "spec.selector",
            ),
            ("apps", "statefulsets", json!({"spec": {"serviceName": "a"}}), json!({"spec": {}}), "spec"),
            ("", "secrets", json!({"type": "a"}), json!({"type": "b"}), "type"),
            (
                "",
                "configmaps",
                json!({"immutable": true}),
                json!({"immutable": true, "data": {"a": "b"}}),
                "data",
            ),
            ("", "configmaps", json!({"immutable": true}), json!({}), "immutable"),
            ("scheduling.k8s.io", "priorityclasses", json!({"value": 1}), json!({"value": 2}), "value"),
        ];
        for (group, plural, old, new, field) in table {
            let errors = immutable_changes(&resource(group, plural), &old, &new);
            let fields: Vec<_> = errors.iter().map(|error| error.field.as_str()).collect();
            assert_eq!(fields, [field], "{plural}");
            assert_eq!(immutable_changes(&resource(group, plural), &old, &old), []);
        }
    }

    #[test]
    fn other_fields_change() {
        let old = json!({"spec": {"replicas": 1, "selector": {"a": "b"}}});
        let new = json!({"spec": {"replicas": 2, "selector": {"a": "b"}}});
        for plural in ["deployments", "statefulsets", "replicasets"] {
            assert_eq!(immutable_changes(&resource("apps", plural), &old, &new), []);
        }
        let maps = resource("", "configmaps");
        assert_eq!(immutable_changes(&maps, &json!({"data": {"a": "b"}}), &json!({"immutable": true})), []);
    }
}
