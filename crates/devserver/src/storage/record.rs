//! A state of an object, which is encoded once and shared by all readers.

use bytes::Bytes;
use kube_informer_wire::{Key, Schema, protobuf_metadata, protobuf_with_version};
use serde_json::{Map, Value};
use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

/// An object without its version: its JSON, and the values that selectors need.
///
/// The JSON starts after the digits of `metadata.resourceVersion`, and the metadata is its first field.
/// Therefore the same bytes serve all API versions, complete objects and partial metadata, and the same state
/// with another version, as in the event for an object that no longer matches a selector or was deleted.
#[derive(Debug)]
pub(crate) struct Content {
    key: Key,
    uid: Box<str>,
    labels: Arc<BTreeMap<String, String>>,
    fields: Box<[(String, String)]>,
    /// The uids of the owners.
    owners: Box<[Box<str>]>,
    json: Bytes,
    metadata_end: usize,
    /// The object in protobuf, without its version; empty until it is requested.
    protobuf: OnceLock<(Schema, Bytes)>,
}

/// The values from which a [`Content`] is created.
#[derive(Debug)]
pub(super) struct ContentParts {
    pub(super) key: Key,
    pub(super) uid: String,
    pub(super) labels: BTreeMap<String, String>,
    /// The fields for selectors, with their values.
    pub(super) fields: Vec<(String, String)>,
    /// The JSON after the version.
    pub(super) json: Vec<u8>,
    /// The position in the JSON at which the metadata ends.
    pub(super) metadata_end: usize,
}

/// An object at a version.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    content: Arc<Content>,
    version: u64,
}

/// The part of an object to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    /// The complete object.
    Whole,
    /// Only `metadata`.
    Metadata,
}

const OPENING: &[u8] = br#""metadata":{"resourceVersion":""#;

impl Content {
    /// Encodes an object; `fields` are the fields for selectors of its kind, except the name and namespace.
    pub(crate) fn new(key: Key, object: Value, fields: Vec<(String, String)>) -> Self {
        let mut rest = into_map(object);
        let mut metadata = rest.remove("metadata").map(into_map).unwrap_or_default();
        metadata.remove("resourceVersion");
        rest.remove("kind");
        rest.remove("apiVersion");
        let uid = metadata.get("uid").and_then(Value::as_str).unwrap_or_default().to_owned();
        let labels = labels_of(&metadata);
        let owners = metadata.get("ownerReferences").map(owners_of).unwrap_or_default();
        let mut json = b"\"".to_vec();
        append_fields(&mut json, &metadata);
        let metadata_end = json.len();
        append_fields(&mut json, &rest);
        json.shrink_to_fit();
        Self { owners, ..Self::of_parts(ContentParts { key, uid, labels, fields, json, metadata_end }) }
    }

    /// Creates an object without owners.
    pub(super) fn of_parts(parts: ContentParts) -> Self {
        let ContentParts { key, uid, labels, fields, json, metadata_end } = parts;
        Self {
            key,
            uid: uid.into(),
            labels: Arc::new(labels),
            fields: fields.into(),
            owners: Box::default(),
            json: json.into(),
            metadata_end,
            protobuf: OnceLock::new(),
        }
    }

    /// Sets the owners from `ownerReferences`.
    pub(super) fn owned_by(self, references: &Value) -> Self {
        Self { owners: owners_of(references), ..self }
    }

    /// Returns the uids of the owners.
    pub(super) fn owners(&self) -> &[Box<str>] {
        &self.owners
    }

    /// Returns true if the object with this uid is an owner.
    pub(crate) fn is_owned_by(&self, uid: &str) -> bool {
        self.owners.iter().any(|owner| **owner == *uid)
    }

    #[cfg(test)]
    pub(super) fn fields(&self) -> &[(String, String)] {
        &self.fields
    }

    /// Shares the labels with the previous state if they are equal, to save memory.
    pub(crate) fn share_labels(&mut self, before: &Self) {
        if self.labels == before.labels {
            self.labels = Arc::clone(&before.labels);
        }
    }

    /// Returns true if the states are equal.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.json == other.json
    }

    pub(crate) fn key(&self) -> &Key {
        &self.key
    }

    pub(crate) fn uid(&self) -> &str {
        &self.uid
    }

    pub(crate) fn labels(&self) -> &BTreeMap<String, String> {
        &self.labels
    }

    /// Returns the value of a field for selectors; empty if it is absent.
    pub(crate) fn field(&self, name: &str) -> &str {
        match name {
            "metadata.name" => self.key.name(),
            "metadata.namespace" => self.key.namespace().unwrap_or_default(),
            _ => self.fields.iter().find(|(field, _)| field == name).map_or("", |(_, value)| value),
        }
    }
}

impl Record {
    pub(crate) fn new(content: Arc<Content>, version: u64) -> Self {
        Self { content, version }
    }

    pub(crate) fn content(&self) -> &Arc<Content> {
        &self.content
    }

    pub(crate) fn key(&self) -> &Key {
        &self.content.key
    }

    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Returns the same state with another version.
    pub(crate) fn at(&self, version: u64) -> Self {
        Self { content: Arc::clone(&self.content), version }
    }

    /// Returns the approximate number of bytes that [`Record::write`] writes.
    pub(crate) fn size(&self, part: Part) -> usize {
        let json = match part {
            Part::Whole => self.content.json.len(),
            Part::Metadata => self.content.metadata_end,
        };
        json + 128
    }

    /// Appends the JSON of the object after `head`, which is its JSON up to `"metadata"`.
    pub(crate) fn write(&self, head: &str, part: Part, out: &mut Vec<u8>) {
        let Content { json, metadata_end, .. } = &*self.content;
        out.extend_from_slice(head.as_bytes());
        out.extend_from_slice(OPENING);
        append_digits(self.version, out);
        match part {
            Part::Whole => out.extend_from_slice(json),
            Part::Metadata => {
                out.extend_from_slice(&json[..*metadata_end]);
                out.push(b'}');
            }
        }
    }

    /// Returns the object as a protobuf message of this schema, which is encoded once.
    pub(crate) fn protobuf(&self, schema: Schema, part: Part) -> Vec<u8> {
        let (encoded, message) = self.content.protobuf.get_or_init(|| (schema, self.encode(schema)));
        // Another API version can have another schema. Requests for it are rare, so that the message is not
        // cached.
        let other = if *encoded == schema { None } else { Some(self.encode(schema)) };
        let message = other.as_ref().unwrap_or(message);
        let message = match part {
            Part::Whole => message,
            Part::Metadata => protobuf_metadata(message).unwrap_or(message),
        };
        protobuf_with_version(message, &self.version.to_string()).unwrap_or_else(|| message.to_vec())
    }

    fn encode(&self, schema: Schema) -> Bytes {
        let encoded = schema.encode_json(&self.json("{", Part::Whole)).or_else(|error| {
            // A field of the wrong type has no protobuf encoding. kube-apiserver would have rejected the
            // object.
            tracing::warn!(key = %self.key(), %error, "object has no protobuf form");
            schema.encode_json(&self.json("{", Part::Metadata))
        });
        encoded.unwrap_or_default().into()
    }

    /// Returns the JSON of the object or of a part of it.
    pub(super) fn json(&self, head: &str, part: Part) -> String {
        let mut json = Vec::with_capacity(self.size(part));
        self.write(head, part, &mut json);
        String::from_utf8(json).expect("what was encoded here is text")
    }

    /// Decodes the object, with the types in `head`.
    pub(crate) fn to_value(&self, head: &str) -> Value {
        serde_json::from_str(&self.json(head, Part::Whole)).expect("what was encoded here decodes")
    }
}

/// Returns the start of the JSON of an object, with its types.
pub(crate) fn head(api_version: &str, kind: &str) -> String {
    format!("{{\"kind\":{},\"apiVersion\":{},", Value::from(kind), Value::from(api_version))
}

fn into_map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// Returns the uids in owner references.
fn owners_of(references: &Value) -> Box<[Box<str>]> {
    let references = references.as_array().into_iter().flatten();
    references.filter_map(|one| one["uid"].as_str()).map(Into::into).collect()
}

fn labels_of(metadata: &Map<String, Value>) -> BTreeMap<String, String> {
    let labels = metadata.get("labels").and_then(Value::as_object).into_iter().flatten();
    labels.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

/// Appends fields after others, and closes the enclosing object.
fn append_fields(json: &mut Vec<u8>, fields: &Map<String, Value>) {
    for (name, value) in fields {
        json.push(b',');
        serde_json::to_writer(&mut *json, name).expect("a string is JSON");
        json.push(b':');
        serde_json::to_writer(&mut *json, value).expect("a value is JSON");
    }
    json.push(b'}');
}

fn append_digits(mut number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn record(object: Value, version: u64) -> Record {
        Record::new(Arc::new(Content::new("a/b".parse().unwrap(), object, vec![])), version)
    }

    #[test]
    fn an_object_is_decoded_unchanged_with_its_version() {
        for version in [0, 7, 10, u64::MAX] {
            let object = json!({ "kind": "Pod", "apiVersion": "v1", "spec": { "a": [1, "\n"] }, "status": {},
                "metadata": { "name": "b", "resourceVersion": version.to_string() } });
            assert_eq!(record(object.clone(), version).to_value(&head("v1", "Pod")), object);
        }
    }

    #[test]
    fn metadata_can_be_written_alone() {
        let record = record(json!({ "metadata": { "name": "b", "labels": { "x": "y" } }, "spec": {} }), 4);
        let mut json = Vec::new();
        record.write("{", Part::Metadata, &mut json);
        let expected = json!({ "metadata": { "name": "b", "labels": { "x": "y" }, "resourceVersion": "4" } });
        assert_eq!(serde_json::from_slice::<Value>(&json).unwrap(), expected);
    }

    #[test]
    fn values_that_are_not_objects_become_empty_ones() {
        assert_eq!(record(json!(3), 1).to_value("{"), json!({ "metadata": { "resourceVersion": "1" } }));
        assert_eq!(
            record(json!({ "metadata": 1 }), 1).to_value("{"),
            json!({ "metadata": { "resourceVersion": "1" } })
        );
    }
}
