//! Encodes objects, lists and events as protobuf.

use crate::registry::Resource;
use crate::storage::{Part, Record};
use crate::verb::form::{ObjectEncoder, Representation};
use bytes::Bytes;
use kube_core::Status;
use kube_informer_wire::{EventType, ResourceVersion, Schema, join_protobuf_list, status_to_json};
use serde_json::{Value, json};

/// Encodes objects of a resource, either completely or only their metadata.
#[derive(Clone, Debug)]
pub(crate) struct Protobuf {
    /// The schema of the response.
    schema: Schema,
    part: Part,
    /// The schema of the stored objects.
    stored: Option<Schema>,
}

impl Protobuf {
    /// Creates the encoder of a resource in this form; `None` for complete custom resources and for tables,
    /// which have no protobuf encoding.
    pub(crate) fn new(resource: &Resource, form: Representation) -> Option<Self> {
        let stored = Schema::of(&resource.api_version(), &resource.kind);
        match form {
            Representation::Whole => stored.map(|schema| Self { schema, part: Part::Whole, stored }),
            Representation::Metadata => {
                Some(Self { schema: Schema::partial_object_metadata(), part: Part::Metadata, stored })
            }
            Representation::Table => None,
        }
    }

    /// Returns the body of a response with an object.
    pub(crate) fn object(&self, record: &Record) -> Bytes {
        self.schema.body(&self.message(record))
    }

    /// Returns the body of a response with a list.
    pub(crate) fn list(
        &self,
        encoder: &ObjectEncoder,
        metadata: &Value,
        records: &[Record],
    ) -> Option<Bytes> {
        let types = encoder.list_types();
        let schema = Schema::of(&types.api_version, &types.kind)?;
        let list = schema.encode(&json!({ "metadata": metadata })).ok()?;
        let items: Vec<_> = records.iter().map(|record| self.message(record)).collect();
        let items = join_protobuf_list(items.iter().map(Vec::as_slice));
        Some(schema.body(&[list, items].concat()))
    }

    /// Returns an event for an object.
    pub(crate) fn event(&self, kind: EventType, record: &Record) -> Bytes {
        self.schema.frame(kind.as_str(), &self.message(record))
    }

    /// Returns a bookmark at `version`.
    pub(crate) fn bookmark(&self, version: &ResourceVersion) -> Bytes {
        self.mark(&json!({ "resourceVersion": version.to_string() }))
    }

    /// Returns the bookmark that ends the initial events of a streaming list.
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

/// Returns the event for an error of a watch.
pub(crate) fn error_event(status: &Status) -> Bytes {
    let (schema, message) = encoded(status);
    schema.frame(EventType::Error.as_str(), &message)
}

/// Returns the body of an error response.
pub(crate) fn status(status: &Status) -> Bytes {
    let (schema, message) = encoded(status);
    schema.body(&message)
}

fn encoded(status: &Status) -> (Schema, Vec<u8>) {
    let schema = Schema::of("v1", "Status").expect("the tables have it");
    let json: Value = serde_json::from_slice(&status_to_json(status)).unwrap_or_default();
    (schema, schema.encode(&json).unwrap_or_default())
}
