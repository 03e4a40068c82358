//! Lists and watches in protobuf that arrive in pieces.

use crate::corpus;
use bytes::Bytes;
use kube_informer_wire::{
    Frames, Items, ListError, ListMeta, ManagedFields, Schema, WatchEvent, join_protobuf_list,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn schema(kind: &str) -> Schema {
    Schema::of("v1", kind).unwrap()
}

fn config_map(name: &str) -> Value {
    json!({ "metadata": { "name": name, "namespace": "a", "uid": name, "resourceVersion": "5" }, "data": { "k": name } })
}

fn pieces(body: &[u8], sizes: &[usize]) -> Vec<Bytes> {
    let (mut pieces, mut rest) = (Vec::new(), body);
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at((*size).clamp(1, rest.len()));
        pieces.push(Bytes::copy_from_slice(piece));
        rest = after;
    }
    pieces
}

/// Reads a list that arrives in pieces of these sizes, repeatedly.
fn read(body: &[u8], sizes: &[usize]) -> Result<(Vec<Value>, ListMeta), ListError> {
    let (mut items, mut values) = (Items::protobuf(), Vec::new());
    for piece in pieces(body, sizes) {
        items.push(piece);
        while let Some(item) = items.next()? {
            values.push(item.decode(ManagedFields::Keep).unwrap());
        }
    }
    items.finish().map(|meta| (values, meta))
}

fn list(items: &[Value]) -> Bytes {
    let items: Vec<_> = items.iter().map(|item| schema("ConfigMap").encode(item).unwrap()).collect();
    let head = schema("ConfigMapList")
        .encode(&json!({ "metadata": { "resourceVersion": "10", "continue": "C1",
        "remainingItemCount": 3, "shardInfo": { "selector": "s" } } }))
        .unwrap();
    let items = join_protobuf_list(items.iter().map(Vec::as_slice));
    schema("ConfigMapList").body(&[head, items].concat())
}

#[test]
fn reads_the_metadata_of_a_list() {
    let items = [config_map("a"), config_map("b")];
    let (values, meta) = read(&list(&items), &[1]).unwrap();
    assert_eq!(values, items);
    assert_eq!((meta.kind.as_str(), meta.api_version.as_str()), ("ConfigMapList", "v1"));
    assert_eq!(meta.version.unwrap().to_string(), "10");
    assert_eq!((meta.continue_token.as_deref(), meta.remaining), (Some("C1"), Some(3)));
    assert_eq!(meta.shard_selector.as_deref(), Some("s"));
    assert!(read(&list(&[]), &[3]).unwrap().0.is_empty());
}

#[test]
fn reads_the_items_of_lists_that_go_wrote() {
    for kind in ["ConfigMapList", "PartialObjectMetadataList"] {
        let object = corpus::one(kind);
        let (values, meta) = read(&object.body, &[100]).unwrap();
        assert_eq!(meta.kind, kind);
        let mut expected = object.json["items"].as_array().unwrap().clone();
        if kind == "PartialObjectMetadataList" {
            // A server sets these; the program that wrote the list did not.
            for item in &mut expected {
                item["kind"] = "PartialObjectMetadata".into();
                item["apiVersion"] = "meta.k8s.io/v1".into();
            }
        }
        assert_eq!(Value::from(values), Value::from(expected));
    }
}

#[test]
fn other_responses_are_not_lists() {
    let error = |body: &[u8]| read(body, &[7]).unwrap_err().to_string();
    assert_eq!(error(&corpus::one("Pod").body), "response is not a list but v1 Pod");
    assert_eq!(error(b"{\"kind\":\"PodList\"}"), "response is not a list");
    assert_eq!(error(b"k8s\0"), "response is not a list but of unknown kind");
    let whole = list(&[config_map("a")]);
    for end in 1..whole.len() {
        assert!(read(&whole[..end], &[11]).is_err() || whole.len() - end <= 4, "{end}");
    }
    // An item that is longer than its list.
    let body = schema("ConfigMapList").body(&[0x12, 0x05, 0x0a]);
    assert_eq!(error(&body), "response is not a list");
}

fn events(frames: &[Bytes], sizes: &[usize]) -> Vec<WatchEvent<Value>> {
    let (mut split, mut events) = (Frames::protobuf(), Vec::new());
    for piece in pieces(&frames.concat(), sizes) {
        split.push(piece);
        while let Some(frame) = split.next().unwrap() {
            events.push(frame.decode(ManagedFields::Keep).unwrap());
        }
    }
    events
}

#[test]
fn reads_events_of_every_type() {
    let map = schema("ConfigMap");
    let object = map.encode(&config_map("a")).unwrap();
    let end = json!({ "metadata": { "resourceVersion": "9", "annotations": { "k8s.io/initial-events-end": "true" } } });
    let gone = json!({ "status": "Failure", "code": 410, "reason": "Expired", "message": "too old" });
    let status = schema("Status");
    let read = events(
        &[
            map.frame("ADDED", &object),
            map.frame("MODIFIED", &object),
            map.frame("DELETED", &object),
            map.frame("BOOKMARK", &map.encode(&end).unwrap()),
            status.frame("ERROR", &status.encode(&gone).unwrap()),
            map.frame("RENAMED", &object),
        ],
        &[5],
    );
    let mut value = config_map("a");
    (value["kind"], value["apiVersion"]) = ("ConfigMap".into(), "v1".into());
    assert_eq!(
        read[..3],
        [WatchEvent::Added(value.clone()), WatchEvent::Modified(value.clone()), WatchEvent::Deleted(value),]
    );
    let WatchEvent::Bookmark { version, initial_events_end: true } = &read[3] else {
        panic!("{:?}", read[3])
    };
    assert_eq!(version.to_number(), Some(9));
    let WatchEvent::Error(status) = &read[4] else { panic!("{:?}", read[4]) };
    assert_eq!((status.code, status.reason.as_str()), (410, "Expired"));
    let WatchEvent::Unknown { kind, version: Some(version) } = &read[5] else { panic!("{:?}", read[5]) };
    assert_eq!((kind.as_str(), version.to_number()), ("RENAMED", Some(5)));
}

#[test]
fn an_undecodable_object_does_not_end_the_watch() {
    let mut frames = Frames::protobuf();
    frames.push(schema("ConfigMap").frame("ADDED", &[0x0a, 0x01]));
    let error = frames.next().unwrap().unwrap().decode::<Value>(ManagedFields::Keep).unwrap_err();
    assert_eq!(error.to_string(), "ADDED event cannot be decoded");
    assert!(error.object().is_some());
    frames.push(Bytes::from_static(b"\0\0\0\x03\xff\xff\xff"));
    let error = frames.next().unwrap().unwrap().decode::<Value>(ManagedFields::Keep).unwrap_err();
    assert!(error.object().is_none());
}

#[test]
fn splits_json_frames_without_decoding() {
    let mut frames = Frames::json();
    for (line, event) in [
        (r#"{"type":"ADDED","object":{"metadata":{"name":"a","managedFields":[]}}}"#, "Added"),
        (r#"{"object":{"metadata":{"name":"a","managedFields":[]}},"type":"MODIFIED"}"#, "Modified"),
        (r#"{"type":"DELETED","object":{"metadata":{"name":"a","managedFields":[]}},"more":{}}"#, "Deleted"),
        (r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7"}}}"#, "Bookmark"),
        (r#"{"type":"ERROR","object":{"kind":"Status","code":410}}"#, "Error"),
        (r#"{"type":"RENAMED","object":{"metadata":{"resourceVersion":"7"}}}"#, "Unknown"),
    ] {
        frames.push(format!("{line}\n").into());
        let frame = frames.next().unwrap().unwrap();
        assert!(format!("{:?}", frame.split().unwrap()).starts_with(event), "{line}");
        let decoded = format!("{:?}", frame.decode::<Value>(ManagedFields::Drop).unwrap());
        assert!(decoded.starts_with(event), "{line}: {decoded}");
        assert!(line.contains("more") || !decoded.contains("managedFields"), "{decoded}");
    }
}

proptest! {
    #[test]
    fn the_pieces_make_no_difference(count in 0..6_usize, sizes in prop::collection::vec(1..300_usize, 1..6)) {
        let items: Vec<_> = (0..count).map(|number| config_map(&"x".repeat(number * 40 + 1))).collect();
        let (values, _) = read(&list(&items), &sizes).unwrap();
        prop_assert_eq!(values, items.clone());
        let map = schema("ConfigMap");
        let frames: Vec<_> = items.iter().map(|item| map.frame("ADDED", &map.encode(item).unwrap())).collect();
        prop_assert_eq!(events(&frames, &sizes).len(), count);
    }

    #[test]
    fn any_bytes_do_not_panic(bytes: Vec<u8>, sizes in prop::collection::vec(1..9_usize, 1..4)) {
        drop(read(&bytes, &sizes));
        drop(read(&[b"k8s\0".as_slice(), &bytes].concat(), &sizes));
    }
}
