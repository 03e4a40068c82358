//! Writes watch events and lists of encoded objects.

use super::{encoded_object::EncodedObject, resource::Resource};
use kube_informer_bench_client::options::Encoding;
use kube_informer_wire::{EventType, Schema};
use serde_json::{Value, json};

/// Writes responses of a resource in one encoding.
#[derive(Clone, Copy, Debug)]
pub(super) struct Encoder<'a> {
    pub(super) encoding: Encoding,
    pub(super) resource: &'a Resource,
}

/// An object with its version and the time of sending.
#[derive(Clone, Copy, Debug)]
pub(super) struct Revision<'a> {
    pub(super) object: &'a EncodedObject,
    pub(super) version: u64,
    pub(super) sent: u64,
}

/// The metadata of a list page, and the number of bytes of its items.
#[derive(Clone, Debug)]
pub(super) struct Page {
    pub(super) metadata: Value,
    pub(super) item_bytes: usize,
}

impl Encoder<'_> {
    /// Appends the frame of an event.
    pub(super) fn event(self, event_type: EventType, revision: Revision<'_>, out: &mut Vec<u8>) {
        let Revision { object, version, sent } = revision;
        let Some(bytes) = object.bytes(self.encoding) else { return };
        match self.encoding {
            Encoding::Json => {
                out.extend_from_slice(b"{\"type\":\"");
                out.extend_from_slice(event_type.as_str().as_bytes());
                out.extend_from_slice(b"\",\"object\":");
                bytes.write(version, sent, out);
                out.extend_from_slice(b"}\n");
            }
            Encoding::Protobuf => {
                let mut message = Vec::with_capacity(bytes.len());
                bytes.write(version, sent, &mut message);
                if let Some(schema) = self.resource.schema {
                    out.extend_from_slice(&schema.frame(event_type.as_str(), &message));
                }
            }
        }
    }

    /// Appends the bookmark at the end of a streamed list.
    pub(super) fn initial_events_end(self, version: u64, out: &mut Vec<u8>) {
        let object = json!({
            "apiVersion": self.resource.api_version,
            "kind": self.resource.kind,
            "metadata": {
                "resourceVersion": version.to_string(),
                "annotations": { "k8s.io/initial-events-end": "true" },
            },
        });
        append_event(
            self.encoding,
            self.resource.schema,
            &Message { event_type: EventType::Bookmark, object },
            out,
        );
    }

    /// Appends the start of a list.
    pub(super) fn list_start(self, page: &Page, out: &mut Vec<u8>) {
        match self.encoding {
            Encoding::Json => {
                let Resource { kind, api_version, .. } = self.resource;
                let metadata = &page.metadata;
                let head = format!(
                    r#"{{"kind":"{kind}List","apiVersion":"{api_version}","metadata":{metadata},"items":["#
                );
                out.extend_from_slice(head.as_bytes());
            }
            Encoding::Protobuf => {
                let schema = Schema::of("v1", "PodList").expect("the tables contain PodList");
                let head = schema.encode(&json!({ "metadata": page.metadata })).unwrap_or_default();
                out.extend_from_slice(b"k8s\0\x0a\x0d\x0a\x02v1\x12\x07PodList\x12");
                varint(head.len() + page.item_bytes, out);
                out.extend_from_slice(&head);
            }
        }
    }

    /// Returns the number of bytes of an item in a protobuf list.
    pub(super) fn item_bytes(self, object: &EncodedObject) -> usize {
        let Some(bytes) = object.bytes(self.encoding) else { return 0 };
        let mut length = Vec::new();
        varint(bytes.len(), &mut length);
        1 + length.len() + bytes.len()
    }

    /// Appends one item of a list.
    pub(super) fn item(self, revision: Revision<'_>, out: &mut Vec<u8>) {
        let Revision { object, version, sent } = revision;
        let Some(bytes) = object.bytes(self.encoding) else { return };
        match self.encoding {
            Encoding::Json => {
                if !out.ends_with(b"[") {
                    out.push(b',');
                }
                let start = out.len();
                bytes.write(version, sent, out);
                // Items of a list have no `apiVersion` and `kind`.
                let prefix = self.resource.type_prefix().len() - 1;
                out[start + prefix] = b'{';
                out.drain(start..start + prefix);
            }
            Encoding::Protobuf => {
                out.push(0x12);
                varint(bytes.len(), out);
                bytes.write(version, sent, out);
            }
        }
    }

    /// Appends the end of a list.
    pub(super) fn list_end(self, out: &mut Vec<u8>) {
        match self.encoding {
            Encoding::Json => out.extend_from_slice(b"]}"),
            Encoding::Protobuf => out.extend_from_slice(b"\x1a\0\x22\0"),
        }
    }
}

/// Appends the event for an expired version.
pub(super) fn expired_event(encoding: Encoding, out: &mut Vec<u8>) {
    let object = json!({
        "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure",
        "message": "too old resource version", "reason": "Expired", "code": 410,
    });
    append_event(
        encoding,
        Schema::of("v1", "Status"),
        &Message { event_type: EventType::Error, object },
        out,
    );
}

struct Message {
    event_type: EventType,
    object: Value,
}

fn append_event(encoding: Encoding, schema: Option<Schema>, message: &Message, out: &mut Vec<u8>) {
    let event_type = message.event_type.as_str();
    match (encoding, schema) {
        (Encoding::Json, _) => {
            let event = json!({ "type": event_type, "object": message.object });
            out.extend_from_slice(format!("{event}\n").as_bytes());
        }
        (Encoding::Protobuf, Some(schema)) => {
            let bytes = schema.encode(&message.object).unwrap_or_default();
            out.extend_from_slice(&schema.frame(event_type, &bytes));
        }
        // Resources without a schema are served as JSON only.
        (Encoding::Protobuf, None) => {}
    }
}

fn varint(mut number: usize, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
