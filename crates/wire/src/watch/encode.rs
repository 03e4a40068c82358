//! Encodes the frames of a watch.

use super::event::{EventType, INITIAL_EVENTS_END};
use crate::{status::status_to_json, version::ResourceVersion};
use bytes::Bytes;
use kube_core::{Status, TypeMeta};

/// Encodes an event for an object in JSON, which must not contain line ends.
#[must_use]
pub fn encode_event(event: EventType, object: &[u8]) -> Bytes {
    let parts: [&[u8]; 5] = [b"{\"type\":\"", event.as_str().as_bytes(), b"\",\"object\":", object, b"}\n"];
    parts.concat().into()
}

/// Encodes a bookmark at `version`. `types` are those of the watched objects.
#[must_use]
pub fn encode_bookmark(types: &TypeMeta, version: &ResourceVersion) -> Bytes {
    bookmark(types, &serde_json::json!({ "resourceVersion": version.to_string() }))
}

/// Encodes the bookmark that ends the initial events of a streaming list.
#[must_use]
pub fn encode_initial_events_end(types: &TypeMeta, version: &ResourceVersion) -> Bytes {
    let annotations = serde_json::json!({ INITIAL_EVENTS_END: "true" });
    bookmark(
        types,
        &serde_json::json!({ "resourceVersion": version.to_string(), "annotations": annotations }),
    )
}

/// Encodes an error event.
#[must_use]
pub fn encode_error(status: &Status) -> Bytes {
    encode_event(EventType::Error, &status_to_json(status))
}

fn bookmark(types: &TypeMeta, metadata: &serde_json::Value) -> Bytes {
    let TypeMeta { api_version, kind } = types;
    let object = serde_json::json!({ "kind": kind, "apiVersion": api_version, "metadata": metadata });
    encode_event(EventType::Bookmark, object.to_string().as_bytes())
}
