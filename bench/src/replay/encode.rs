//! What is around objects on the wire: frames of a watch, and the beginning and end of a list.

use super::{form::Form, object::Object};
use kube_informer_bench_client::options::Encoding;
use kube_informer_wire::{EventType, Schema};
use serde_json::{Value, json};

/// Appends the frame of an event about an object.
pub(super) fn event(
    (encoding, form): (Encoding, &Form),
    kind: EventType,
    (object, version, sent): (&Object, u64, u64),
    out: &mut Vec<u8>,
) {
    let Some(encoded) = object.encoded(encoding) else { return };
    match encoding {
        Encoding::Json => {
            out.extend_from_slice(b"{\"type\":\"");
            out.extend_from_slice(kind.as_str().as_bytes());
            out.extend_from_slice(b"\",\"object\":");
            encoded.write(version, sent, out);
            out.extend_from_slice(b"}\n");
        }
        Encoding::Protobuf => {
            let mut message = Vec::with_capacity(encoded.len());
            encoded.write(version, sent, &mut message);
            if let Some(schema) = form.schema {
                out.extend_from_slice(&schema.frame(kind.as_str(), &message));
            }
        }
    }
}

/// Appends the bookmark that ends what was there at first.
pub(super) fn initial_events_end((encoding, form): (Encoding, &Form), version: u64, out: &mut Vec<u8>) {
    let metadata = json!({
        "resourceVersion": version.to_string(),
        "annotations": { "k8s.io/initial-events-end": "true" },
    });
    let names = (form.api_version.as_str(), form.kind);
    small((encoding, form.schema), names, EventType::Bookmark, json!({ "metadata": metadata }), out);
}

/// Appends the event that says that a version has expired.
pub(super) fn expired(encoding: Encoding, out: &mut Vec<u8>) {
    let status = json!({
        "metadata": {}, "status": "Failure", "message": "too old resource version", "reason": "Expired", "code": 410,
    });
    small((encoding, Schema::of("v1", "Status")), ("v1", "Status"), EventType::Error, status, out);
}

fn small(
    (encoding, schema): (Encoding, Option<Schema>),
    (api_version, name): (&str, &str),
    kind: EventType,
    mut object: Value,
    out: &mut Vec<u8>,
) {
    match (encoding, schema) {
        (Encoding::Json, _) => {
            object["apiVersion"] = api_version.into();
            object["kind"] = name.into();
            let event = json!({ "type": kind.as_str(), "object": object });
            out.extend_from_slice(format!("{event}\n").as_bytes());
        }
        (Encoding::Protobuf, Some(schema)) => {
            let message = schema.encode(&object).unwrap_or_default();
            out.extend_from_slice(&schema.frame(kind.as_str(), &message));
        }
        // Nobody is answered in protobuf of what has none.
        (Encoding::Protobuf, None) => {}
    }
}

/// A part of a list: its metadata, and how many bytes its items have.
#[derive(Clone, Debug)]
pub(super) struct Page {
    pub(super) metadata: Value,
    pub(super) items: usize,
}

/// Appends what stands before the items.
pub(super) fn list_begin((encoding, form): (Encoding, &Form), page: &Page, out: &mut Vec<u8>) {
    match encoding {
        Encoding::Json => {
            let Form { kind, api_version, .. } = form;
            let metadata = &page.metadata;
            let head = format!(
                r#"{{"kind":"{kind}List","apiVersion":"{api_version}","metadata":{metadata},"items":["#
            );
            out.extend_from_slice(head.as_bytes());
        }
        Encoding::Protobuf => {
            let schema = Schema::of("v1", "PodList").expect("the tables have lists of pods");
            let head = schema.encode(&json!({ "metadata": page.metadata })).unwrap_or_default();
            out.extend_from_slice(b"k8s\0\x0a\x0d\x0a\x02v1\x12\x07PodList\x12");
            varint(head.len() + page.items, out);
            out.extend_from_slice(&head);
        }
    }
}

/// How many bytes an item takes within a list.
pub(super) fn item_len(encoding: Encoding, object: &Object) -> usize {
    let Some(encoded) = object.encoded(encoding) else { return 0 };
    let mut length = Vec::new();
    varint(encoded.len(), &mut length);
    1 + length.len() + encoded.len()
}

/// Appends one item.
pub(super) fn item(
    (encoding, form): (Encoding, &Form),
    (object, version, sent): (&Object, u64, u64),
    out: &mut Vec<u8>,
) {
    let Some(encoded) = object.encoded(encoding) else { return };
    match encoding {
        Encoding::Json => {
            if !out.ends_with(b"[") {
                out.push(b',');
            }
            let begin = out.len();
            encoded.write(version, sent, out);
            // An item does not say what it is.
            let types = form.types().len() - 1;
            out[begin + types] = b'{';
            out.drain(begin..begin + types);
        }
        Encoding::Protobuf => {
            out.push(0x12);
            varint(encoded.len(), out);
            encoded.write(version, sent, out);
        }
    }
}

/// Appends what stands behind the items.
pub(super) fn list_end(encoding: Encoding, out: &mut Vec<u8>) {
    match encoding {
        Encoding::Json => out.extend_from_slice(b"]}"),
        Encoding::Protobuf => out.extend_from_slice(b"\x1a\0\x22\0"),
    }
}

fn varint(mut number: usize, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
