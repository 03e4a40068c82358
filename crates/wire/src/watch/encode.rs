//! Writes the frames of a watch, around objects that are encoded already.

use super::event::{EventType, INITIAL_EVENTS_END};
use crate::{status::status_to_json, version::ResourceVersion};
use bytes::Bytes;
use kube_core::{Status, TypeMeta};

/// Writes an event about an object of which this is the JSON.
///
/// One encoded object serves every watch that sees it. The JSON must be one value without a line end in it, as
/// `serde_json::to_vec` writes it.
#[must_use]
pub fn encode_event(event: EventType, object: &[u8]) -> Bytes {
    let parts: [&[u8]; 5] = [b"{\"type\":\"", event.as_str().as_bytes(), b"\",\"object\":", object, b"}\n"];
    parts.concat().into()
}

/// Writes a bookmark: nothing has changed up to `version`. `types` are those of the objects that are watched.
#[must_use]
pub fn encode_bookmark(types: &TypeMeta, version: &ResourceVersion) -> Bytes {
    bookmark(types, &serde_json::json!({ "resourceVersion": version.to_string() }))
}

/// Writes the bookmark that ends what was there when a streaming list began.
#[must_use]
pub fn encode_initial_events_end(types: &TypeMeta, version: &ResourceVersion) -> Bytes {
    let annotations = serde_json::json!({ INITIAL_EVENTS_END: "true" });
    bookmark(
        types,
        &serde_json::json!({ "resourceVersion": version.to_string(), "annotations": annotations }),
    )
}

/// Writes the event with which a watch fails.
#[must_use]
pub fn encode_error(status: &Status) -> Bytes {
    encode_event(EventType::Error, &status_to_json(status))
}

fn bookmark(types: &TypeMeta, metadata: &serde_json::Value) -> Bytes {
    let TypeMeta { api_version, kind } = types;
    let object = serde_json::json!({ "kind": kind, "apiVersion": api_version, "metadata": metadata });
    encode_event(EventType::Bookmark, object.to_string().as_bytes())
}
