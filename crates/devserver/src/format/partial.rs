//! Objects of which only the metadata is served.

use serde_json::{Value, json};

/// Returns the metadata of an object as a `PartialObjectMetadata`.
pub(crate) fn partial(object: &Value) -> Value {
    let metadata = object.get("metadata").cloned().unwrap_or_else(|| json!({}));
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_metadata_is_left() {
        let pod =
            json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}, "spec": {"nodeName": "n"}});
        let expected = json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "a"}});
        assert_eq!(partial(&pod), expected);
        assert_eq!(partial(&json!(3))["metadata"], json!({}));
    }
}
