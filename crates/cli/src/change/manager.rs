//! Finds the field manager of a change.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube_core::DynamicObject;

/// Returns the field manager with the newest entry in `metadata.managedFields`; `None` if there is none.
///
/// Times have a resolution of one second. If several entries have the newest time, it is the last one that differs from those of the
/// old state.
pub(crate) fn manager(old: Option<&DynamicObject>, new: &DynamicObject) -> Option<String> {
    let entries = new.metadata.managed_fields.as_deref()?;
    let newest = entries.iter().filter_map(|entry| entry.time.as_ref()).max();
    let known = old.and_then(|old| old.metadata.managed_fields.as_deref()).unwrap_or_default();
    let candidates = || entries.iter().filter(|entry| entry.time.as_ref() == newest);
    let is_new = |entry: &&ManagedFieldsEntry| !known.contains(entry);
    let chosen = candidates().rfind(is_new).or_else(|| candidates().next_back())?;
    chosen.manager.clone().filter(|manager| !manager.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn object(entries: &[(&str, u32, &str)]) -> DynamicObject {
        let entry = |(manager, second, field): &(&str, u32, &str)| {
            json!({"manager": manager, "time": format!("2026-01-01T00:00:{second:02}Z"),
                "fieldsV1": {format!("f:{field}"): {}}})
        };
        let entries: Vec<Value> = entries.iter().map(entry).collect();
        serde_json::from_value(json!({"metadata": {"managedFields": entries}})).unwrap()
    }

    #[test]
    fn the_manager_with_the_newest_entry_made_the_change() {
        let old = object(&[("apply", 1, "a"), ("kubelet", 2, "b")]);
        let of = |new: &[(&str, u32, &str)]| manager(Some(&old), &object(new)).unwrap();
        assert_eq!(of(&[("apply", 1, "a"), ("kubelet", 3, "b")]), "kubelet");
        assert_eq!(of(&[("apply", 9, "a"), ("kubelet", 2, "b")]), "apply");
        // Within the same second, the entry that differs.
        assert_eq!(of(&[("apply", 2, "c"), ("kubelet", 2, "b")]), "apply");
        assert_eq!(manager(None, &old).unwrap(), "kubelet");
        assert_eq!(manager(None, &object(&[])), None);
    }
}
