//! Determines the field manager of a change.

use kube_informer_wire::Raw;
use serde::Deserialize;
use serde_json::Value;

/// An entry of `metadata.managedFields` without the fields.
#[derive(Deserialize, PartialEq)]
struct Entry {
    #[serde(default)]
    manager: String,
    #[serde(default)]
    operation: String,
    #[serde(default)]
    subresource: String,
    #[serde(default)]
    time: String,
}

/// Returns the field manager with the newest entry in `metadata.managedFields`; `None` if there is none.
///
/// Times have a resolution of one second. If several entries have the newest time, it is the last one that the previous version did
/// not have, or had with other fields.
pub(crate) fn manager(object: &Raw, previous: Option<&Raw>) -> Option<String> {
    let entries = entries(object)?;
    let newest = entries.iter().map(|entry| entry.time.as_str()).max()?;
    let candidates: Vec<&Entry> = entries.iter().filter(|entry| entry.time == newest).collect();
    let chosen = match (candidates.as_slice(), previous) {
        ([], _) => None,
        ([only], _) => Some(*only),
        (several, None) => several.last().copied(),
        (several, Some(previous)) => {
            let known = self::entries(previous).unwrap_or_default();
            match several.iter().rfind(|entry| !known.contains(entry)) {
                Some(new) => Some(*new),
                None => return with_other_fields(object, previous, newest),
            }
        }
    };
    chosen.map(|entry| entry.manager.clone()).filter(|manager| !manager.is_empty())
}

/// Returns the manager of the last entry with the newest time whose fields changed; of the last one if none did.
fn with_other_fields(object: &Raw, previous: &Raw, newest: &str) -> Option<String> {
    let all = |raw: &Raw| raw.read::<Vec<Value>>("/metadata/managedFields").ok().flatten();
    let (mut entries, known) = (all(object)?, all(previous).unwrap_or_default());
    entries.retain(|entry| entry["time"] == newest);
    let changed = entries.iter().rfind(|entry| !known.contains(entry)).or(entries.last())?;
    changed["manager"].as_str().filter(|manager| !manager.is_empty()).map(str::to_owned)
}

fn entries(object: &Raw) -> Option<Vec<Entry>> {
    object.read("/metadata/managedFields").ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube_informer_wire::Format;
    use serde_json::json;

    fn object(entries: &Value) -> Raw {
        let object = json!({"metadata": {"name": "a", "managedFields": entries}});
        Raw::new(Format::Json, object.to_string().into())
    }

    #[test]
    fn the_newest_entry_has_the_manager() {
        let entries = json!([
            {"manager": "kubelet", "operation": "Update", "time": "2026-01-02T00:00:01Z", "fieldsV1": {"f:status": {}}},
            {"manager": "kubectl", "operation": "Apply", "time": "2026-01-02T00:00:00Z"},
        ]);
        assert_eq!(manager(&object(&entries), None).as_deref(), Some("kubelet"));
        assert_eq!(manager(&object(&json!([])), None), None);
        assert_eq!(manager(&Raw::new(Format::Json, "{}".into()), None), None);
    }

    #[test]
    fn the_new_one_of_entries_with_the_same_time_has_the_manager() {
        let one = json!({"manager": "one", "operation": "Update", "time": "2026-01-02T00:00:01Z"});
        let two = json!({"manager": "two", "operation": "Update", "time": "2026-01-02T00:00:01Z"});
        let both = object(&json!([one, two]));
        assert_eq!(manager(&both, None).as_deref(), Some("two"));
        assert_eq!(manager(&both, Some(&object(&json!([two])))).as_deref(), Some("one"));
        assert_eq!(manager(&both, Some(&object(&json!([one])))).as_deref(), Some("two"));
    }

    #[test]
    fn the_one_with_other_fields_of_known_entries_with_the_same_time_has_the_manager() {
        let entry = |manager: &str, fields: Value| json!({"manager": manager, "operation": "Update", "time": "2026-01-02T00:00:01Z", "fieldsV1": fields});
        let before = object(&json!([entry("one", json!({})), entry("two", json!({}))]));
        let after = object(&json!([entry("one", json!({"f:status": {}})), entry("two", json!({}))]));
        assert_eq!(manager(&after, Some(&before)).as_deref(), Some("one"));
        assert_eq!(manager(&before, Some(&before)).as_deref(), Some("two"), "no entry changed");
    }
}
