//! Reads objects from JSON without decoding all of it, so that many objects can be loaded and changed
//! quickly.

use crate::storage::record::{Content, ContentParts, Part, Record};
use kube_informer_wire::Key;
use serde::de::Error as _;
use serde_json::{
    Map, Value, json,
    value::{RawValue, to_raw_value},
};
use std::collections::BTreeMap;

/// The maximum length of a value that is read for field selectors.
const SHORT: usize = 256;

type Raw<'a> = BTreeMap<&'a str, &'a RawValue>;

impl Content {
    /// Creates an object from its JSON without a change; `fields` computes the fields for selectors from a
    /// value that contains only short values.
    ///
    /// # Errors
    /// Returns an error if the text is not a JSON object, has no name, or has a field name with escapes.
    pub(crate) fn from_json(
        json: &str,
        fields: impl FnOnce(&Value) -> Vec<(String, String)>,
    ) -> serde_json::Result<Self> {
        let (metadata, rest) = parts(json)?;
        Self::of_raw(&metadata, &rest, fields)
    }

    fn of_raw(
        metadata: &Raw<'_>,
        rest: &Raw<'_>,
        fields: impl FnOnce(&Value) -> Vec<(String, String)>,
    ) -> serde_json::Result<Self> {
        let key = Key::new(text(metadata, "namespace"), text(metadata, "name").unwrap_or_default());
        let key = key.map_err(serde_json::Error::custom)?;
        let uid = text(metadata, "uid").unwrap_or_default().to_owned();
        let labels = metadata.get("labels").map(|raw| serde_json::from_str(raw.get())).transpose()?;
        let shown: Map<String, Value> =
            rest.iter().map(|(name, raw)| ((*name).to_owned(), short_parts(raw))).collect();
        let fields = fields(&Value::Object(shown));
        let mut bytes =
            Vec::with_capacity(metadata.values().chain(rest.values()).map(|raw| raw.get().len() + 32).sum());
        bytes.push(b'"');
        append(&mut bytes, metadata);
        let metadata_end = bytes.len();
        append(&mut bytes, rest);
        bytes.shrink_to_fit();
        let labels = labels.unwrap_or_default();
        let content = Self::of_parts(ContentParts { key, uid, labels, fields, json: bytes, metadata_end });
        match metadata.get("ownerReferences") {
            Some(references) => Ok(content.owned_by(&serde_json::from_str(references.get())?)),
            None => Ok(content),
        }
    }
}

impl Record {
    /// Changes the labels and the status of an object; `change` receives an object with only these fields.
    ///
    /// # Errors
    /// Returns the errors of [`Content::from_json`].
    pub(crate) fn changed(
        &self,
        fields: impl FnOnce(&Value) -> Vec<(String, String)>,
        change: impl FnOnce(&mut Value),
    ) -> serde_json::Result<Content> {
        let json = self.json("{", Part::Whole);
        let (mut metadata, mut rest) = parts(&json)?;
        let read =
            |raw: Option<&&RawValue>| raw.map_or(Ok(Value::Null), |raw| serde_json::from_str(raw.get()));
        let (labels, status) = (read(metadata.get("labels"))?, read(rest.get("status"))?);
        let mut shown = json!({ "metadata": { "labels": labels }, "status": status });
        change(&mut shown);
        let labels = to_raw_value(&shown["metadata"]["labels"])?;
        let status = to_raw_value(&shown["status"])?;
        for (fields, name, raw) in [(&mut metadata, "labels", &labels), (&mut rest, "status", &status)] {
            match raw.get() {
                "null" => fields.remove(name),
                _ => fields.insert(name, raw),
            };
        }
        Content::of_raw(&metadata, &rest, fields)
    }
}

/// Returns the metadata of an object, and its other fields without the types and the version.
fn parts(json: &str) -> serde_json::Result<(Raw<'_>, Raw<'_>)> {
    let mut rest: Raw<'_> = serde_json::from_str(json)?;
    rest.remove("kind");
    rest.remove("apiVersion");
    let metadata = rest.remove("metadata").map_or("{}", RawValue::get);
    let mut metadata: Raw<'_> = serde_json::from_str(metadata)?;
    metadata.remove("resourceVersion");
    Ok((metadata, rest))
}

/// Returns a text without escapes.
fn text<'a>(fields: &Raw<'a>, name: &str) -> Option<&'a str> {
    fields.get(name).and_then(|raw| serde_json::from_str(raw.get()).ok())
}

/// Returns the short parts of a value, up to a depth of one.
fn short_parts(raw: &RawValue) -> Value {
    let read = |raw: &RawValue| serde_json::from_str(raw.get()).unwrap_or_default();
    let Ok(fields) = serde_json::from_str::<Raw<'_>>(raw.get()) else {
        return if raw.get().len() < SHORT { read(raw) } else { Value::Null };
    };
    let short = fields.into_iter().filter(|(_, raw)| raw.get().len() < SHORT);
    Value::Object(short.map(|(name, raw)| (name.to_owned(), read(raw))).collect())
}

fn append(bytes: &mut Vec<u8>, fields: &Raw<'_>) {
    for (name, raw) in fields {
        bytes.extend_from_slice(b",\"");
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(b"\":");
        bytes.extend_from_slice(raw.get().as_bytes());
    }
    bytes.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::{Pods, mutate};
    use crate::storage::record::head;
    use std::sync::Arc;

    #[test]
    fn a_raw_object_equals_a_decoded_one() {
        let pods = Pods::new(5);
        for index in 0..50 {
            let fields = |object: &Value| {
                let text = |pointer| object.pointer(pointer).map(Value::to_string).unwrap_or_default();
                vec![
                    (text("/spec/nodeName"), text("/status/podIPs/0/ip")),
                    (text("/status/phase"), String::new()),
                ]
            };
            let raw = Content::from_json(&pods.json(index), fields).unwrap();
            let pod = pods.pod(index);
            let read = Content::new(raw.key().clone(), pod.clone(), fields(&pod));
            assert_eq!((raw.uid(), raw.labels()), (read.uid(), read.labels()));
            let whole = |content: Content| {
                (content.fields().to_vec(), Record::new(Arc::new(content), 7).to_value(&head("v1", "Pod")))
            };
            assert_eq!(whole(raw), whole(read));
        }
        for wrong in ["[]", "{}", "{\"metadata\":{\"name\":\"a/b\"}}", "{\"metadata\":3}"] {
            assert!(Content::from_json(wrong, |_| vec![]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_raw_change_equals_that_of_a_decoded_object() {
        let pods = Pods::new(5);
        for tick in 0..80 {
            let mut pod = pods.pod(tick);
            let record = Record::new(Arc::new(Content::from_json(&pods.json(tick), |_| vec![]).unwrap()), 7);
            let changed = record.changed(|_| vec![], |shown| mutate(shown, tick)).unwrap();
            mutate(&mut pod, tick);
            let expected = Content::new(record.key().clone(), pod, vec![]);
            assert_eq!((changed.uid(), changed.labels()), (expected.uid(), expected.labels()));
            let whole = |content| Record::new(Arc::new(content), 8).to_value("{");
            assert_eq!(whole(changed), whole(expected), "at {tick}");
        }
    }

    #[test]
    fn empty_labels_and_status_are_omitted() {
        let record = Record::new(
            Arc::new(Content::from_json("{\"metadata\":{\"name\":\"a\"}}", |_| vec![]).unwrap()),
            7,
        );
        let same = record.changed(|_| vec![], |_| {}).unwrap();
        assert!(same.is_same(record.content()));
        let labelled =
            record.changed(|_| vec![], |shown| shown["metadata"]["labels"] = json!({ "x": "y" })).unwrap();
        assert_eq!(labelled.labels().get("x").map(String::as_str), Some("y"));
    }
}
