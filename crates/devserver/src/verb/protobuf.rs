//! Objects, lists and events in protobuf.

use crate::registry::Resource;
use crate::storage::{Part, Record};
use crate::verb::form::{Form, Shape};
use bytes::Bytes;
use kube_core::Status;
use kube_informer_wire::{EventType, ResourceVersion, Schema, join_protobuf_list, status_to_json};
use serde_json::{Value, json};

/// Writes objects of one resource in protobuf, whole or their metadata alone.
#[derive(Clone, Debug)]
pub(crate) struct Protobuf {
    /// What is written.
    schema: Schema,
    part: Part,
    /// What is stored.
    stored: Option<Schema>,
}

impl Protobuf {
    /// The way to write a resource in this form, if there is one: custom resources have no protobuf, and no tables have.
    pub(crate) fn new(resource: &Resource, form: Form) -> Option<Self> {
        let stored = Schema::of(&resource.api_version(), &resource.kind);
        match form {
            Form::Whole => stored.map(|schema| Self { schema, part: Part::Whole, stored }),
            Form::Metadata => {
                Some(Self { schema: Schema::partial_object_metadata(), part: Part::Metadata, stored })
            }
            Form::Table => None,
        }
    }

    /// The body of an answer with one object.
    pub(crate) fn object(&self, record: &Record) -> Bytes {
        self.schema.body(&self.message(record))
    }

    /// The body of an answer with many.
    pub(crate) fn list(&self, shape: &Shape, metadata: &Value, records: &[Record]) -> Option<Bytes> {
        let types = shape.list_types();
        let schema = Schema::of(&types.api_version, &types.kind)?;
        let list = schema.encode(&json!({ "metadata": metadata })).ok()?;
        let items: Vec<_> = records.iter().map(|record| self.message(record)).collect();
        let items = join_protobuf_list(items.iter().map(Vec::as_slice));
        Some(schema.body(&[list, items].concat()))
    }

    /// An event about an object.
    pub(crate) fn event(&self, kind: EventType, record: &Record) -> Bytes {
        self.schema.frame(kind.as_str(), &self.message(record))
    }

    /// A bookmark: nothing has changed up to `version`.
    pub(crate) fn bookmark(&self, version: &ResourceVersion) -> Bytes {
        self.mark(&json!({ "resourceVersion": version.to_string() }))
    }

    /// The bookmark that ends what was there when a streaming list began.
    pub(crate) fn initial_events_end(&self, version: &ResourceVersion) -> Bytes {
        let annotations = json!({ "k8s.io/initial-events-end": "true" });
        self.mark(&json!({ "resourceVersion": version.to_string(), "annotations": annotations }))
    }

    fn mark(&self, metadata: &Value) -> Bytes {
        let object = self.schema.encode(&json!({ "metadata": metadata })).unwrap_or_default();
        self.schema.frame(EventType::Bookmark.as_str(), &object)
    }

    fn message(&self, record: &Record) -> Vec<u8> {
        record.protobuf(self.stored.unwrap_or(self.schema), self.part)
    }
}

/// The event with which a watch fails.
pub(crate) fn error_event(status: &Status) -> Bytes {
    let (schema, message) = encoded(status);
    schema.frame(EventType::Error.as_str(), &message)
}

/// The body of a refusal.
pub(crate) fn status(status: &Status) -> Bytes {
    let (schema, message) = encoded(status);
    schema.body(&message)
}

fn encoded(status: &Status) -> (Schema, Vec<u8>) {
    let schema = Schema::of("v1", "Status").expect("the tables have it");
    let json: Value = serde_json::from_slice(&status_to_json(status)).unwrap_or_default();
    (schema, schema.encode(&json).unwrap_or_default())
}
