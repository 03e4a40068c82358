//! Reads the parts of an object that an update changed, from the bytes of both states.

use kube_informer_wire::{ManagedFields, Raw};
use serde_json::{Map, Value, json};

/// The metadata that is read only with [`ManagedFields::Keep`].
const MANAGED_FIELDS: &str = "/metadata/managedFields";

/// Returns both states with only the fields that differ: top-level fields, and fields of the metadata. Only these are decoded.
///
/// Returns `None` if the states cannot be compared by their bytes, because their encodings differ or one is malformed.
pub(super) fn changed_parts(old: &Raw, new: &Raw, managed_fields: ManagedFields) -> Option<[Value; 2]> {
    let is_wanted = |pointer: &str| managed_fields == ManagedFields::Keep || pointer != MANAGED_FIELDS;
    let mut parts = [(Map::new(), Map::new()), (Map::new(), Map::new())];
    for (pointer, values) in old.differing_values(new, is_wanted)? {
        for ((fields, metadata), value) in parts.iter_mut().zip(values) {
            let Some(value) = value else { continue };
            match pointer.strip_prefix("/metadata/") {
                Some(name) => metadata.insert(unescaped(name), value),
                None => fields.insert(unescaped(&pointer[1..]), value),
            };
        }
    }
    Some(parts.map(|(mut fields, metadata)| {
        fields.insert("metadata".to_owned(), Value::Object(metadata));
        Value::Object(fields)
    }))
}

/// Returns a state with only its managed fields.
pub(super) fn managed_part(state: &Raw) -> Value {
    let managed_fields = state.read::<Value>(MANAGED_FIELDS).ok().flatten().unwrap_or_default();
    json!({"metadata": {"managedFields": managed_fields}})
}

/// Reads a name in a JSON pointer.
fn unescaped(name: &str) -> String {
    name.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube_informer_wire::Format;

    fn raw(value: &Value) -> Raw {
        Raw::new(Format::Json, value.to_string().into())
    }

    #[test]
    fn only_differing_parts_are_read() {
        let old = json!({"metadata": {"name": "a", "resourceVersion": "1", "managedFields": [1]}, "spec": {"x": 1}, "a/b": 1, "status": {"y": 1, "z": 1}});
        let new = json!({"metadata": {"name": "a", "resourceVersion": "2", "managedFields": [2]}, "spec": {"x": 1}, "status": {"y": 2, "z": 1}});
        let parts = changed_parts(&raw(&old), &raw(&new), ManagedFields::Drop).unwrap();
        let expected = [
            json!({"metadata": {"resourceVersion": "1"}, "a/b": 1, "status": {"y": 1, "z": 1}}),
            json!({"metadata": {"resourceVersion": "2"}, "status": {"y": 2, "z": 1}}),
        ];
        assert_eq!(parts, expected);
        let parts = changed_parts(&raw(&old), &raw(&new), ManagedFields::Keep).unwrap();
        assert_eq!(parts[1]["metadata"]["managedFields"], json!([2]));
        assert_eq!(managed_part(&raw(&old)), json!({"metadata": {"managedFields": [1]}}));
    }
}
