//! Events, valid and malformed.

use super::{
    DecodeError, EventType, WatchEvent, encode_bookmark, encode_error, encode_event,
    encode_initial_events_end,
};
use crate::{frame::JsonLines, object::decode_object, status::StatusExt, version::ResourceVersion};
use k8s_openapi::api::core::v1::Pod;
use kube_core::{Status, TypeMeta};
use proptest::prelude::*;
use std::error::Error;

fn decode(frame: &str) -> Result<WatchEvent<Pod>, DecodeError> {
    WatchEvent::decode(frame.as_bytes())
}

fn pod(name: &str) -> Pod {
    let mut pod = Pod::default();
    pod.metadata.name = Some(name.to_owned());
    pod.metadata.namespace = Some("web".to_owned());
    pod.metadata.resource_version = Some("7".to_owned());
    pod
}

fn json(name: &str) -> String {
    serde_json::to_string(&pod(name)).unwrap()
}

fn bookmark(version: u64, initial_events_end: bool) -> WatchEvent<Pod> {
    WatchEvent::Bookmark { version: ResourceVersion::number(version), initial_events_end }
}

#[test]
fn reads_the_fields_in_any_order() {
    let object = json("a");
    type Wrap = fn(Pod) -> WatchEvent<Pod>;
    let table: [(&str, Wrap); 3] =
        [("ADDED", WatchEvent::Added), ("MODIFIED", WatchEvent::Modified), ("DELETED", WatchEvent::Deleted)];
    for (name, event) in table {
        for frame in [
            format!(r#"{{"type":"{name}","object":{object}}}"#),
            format!(r#"{{"object":{object},"type":"{name}"}}"#),
            format!(r#" {{ "new" : [{{}}] , "type" : "{name}" , "object" : {object} , "more" : null }} "#),
        ] {
            assert_eq!(decode(&frame).unwrap(), event(pod("a")), "{frame}");
        }
    }
}

#[test]
fn reads_a_type_with_escapes() {
    let frame = format!(r#"{{"type":"\u0041DDED","object":{}}}"#, json("a"));
    assert_eq!(decode(&frame).unwrap(), WatchEvent::Added(pod("a")));
}

// R27 R42
#[test]
fn reads_a_bookmark() {
    let types = TypeMeta { api_version: "v1".into(), kind: "Pod".into() };
    let line = encode_bookmark(&types, &ResourceVersion::number(30));
    let expected = r#"{"type":"BOOKMARK","object":{"apiVersion":"v1","kind":"Pod","metadata":{"resourceVersion":"30"}}}"#;
    assert_eq!(line, format!("{expected}\n"));
    assert_eq!(decode(expected).unwrap(), bookmark(30, false));
    let end = encode_initial_events_end(&types, &ResourceVersion::number(2));
    assert_eq!(WatchEvent::decode(&end).unwrap(), bookmark(2, true));
}

// R44
#[test]
fn initial_events_end_requires_the_annotation_to_be_true() {
    for (annotations, end) in [
        (r#"{"k8s.io/initial-events-end":"true","a":"b"}"#, true),
        (r#"{"k8s.io/initial-events-end":"false"}"#, false),
        (r#"{"k8s.io/initial-events-end":"True"}"#, false),
        (r#"{"k8s.io/initial-events-end":""}"#, false),
        (r#"{"a":"true"}"#, false),
        ("{}", false),
        ("null", false),
    ] {
        let metadata =
            format!(r#"{{"resourceVersion":"2","annotations":{annotations},"creationTimestamp":null}}"#);
        let frame = format!(r#"{{"type":"BOOKMARK","object":{{"metadata":{metadata}}}}}"#);
        assert_eq!(decode(&frame).unwrap(), bookmark(2, end), "{annotations}");
    }
}

// R26
#[test]
fn errors_of_frames_do_not_show_values() {
    for frame in
        [r#"{"type":{"a":"HUNTER2"},"object":{}}"#, r#"{"type":["HUNTER2"],"object":{}}"#, r#""HUNTER2""#]
    {
        let error = WatchEvent::<Pod>::decode(frame.as_bytes()).unwrap_err();
        let cause = std::error::Error::source(&error).unwrap();
        assert!(!format!("{error} {error:?} {cause}").contains("HUNTER2"), "{error:?}");
    }
}

#[test]
fn reads_an_error_with_any_object() {
    let status = Status::failure("too old", "Expired").with_code(410);
    let read = |line: &[u8]| match WatchEvent::<Pod>::decode(line).unwrap() {
        WatchEvent::Error(status) => *status,
        other => panic!("{other:?}"),
    };
    let expired = read(&encode_error(&status));
    assert_eq!(Status { metadata: None, ..expired }, status);
    let pod = json("a");
    for object in [r#""boom""#, "null", "{}", "[]", r#"{"code":"x"}"#, r#"{"code":99999}"#, &pod] {
        for frame in [
            format!(r#"{{"type":"ERROR","object":{object}}}"#),
            format!(r#"{{"object":{object},"type":"ERROR"}}"#),
        ] {
            let status = read(frame.as_bytes());
            assert!(status.is_internal_error_status() && status.message == object, "{status:?}");
        }
    }
    let odd = r#"{"kind":"Status","code":410,"reason":"Expired","details":{"causes":null}}"#;
    assert!(read(format!(r#"{{"type":"ERROR","object":{odd}}}"#).as_bytes()).is_expired_status());
}

// R39
#[test]
fn an_unknown_type_has_its_version() {
    let table = [
        (r#"{"metadata":{"resourceVersion":"9"},"x":[1]}"#, Some(ResourceVersion::number(9))),
        (r#"{"metadata":{"resourceVersion":""}}"#, None),
        (r#"{"metadata":5}"#, None),
        ("null", None),
    ];
    for (object, version) in table {
        for frame in [
            format!(r#"{{"type":"SYNCED","object":{object}}}"#),
            format!(r#"{{"object":{object},"type":"SYNCED"}}"#),
        ] {
            let expected = WatchEvent::Unknown { kind: "SYNCED".into(), version: version.clone() };
            assert_eq!(decode(&frame).unwrap(), expected, "{frame}");
        }
    }
}

// R25
#[test]
fn an_undecodable_object_is_reported_with_its_key_and_path() {
    let object = r#"{"metadata":{"name":"a","namespace":"web","resourceVersion":"7"},"spec":{"containers":[{"name":5}]}}"#;
    for frame in [
        format!(r#"{{"type":"MODIFIED","object":{object}}}"#),
        format!(r#"{{"object":{object},"type":"MODIFIED"}}"#),
    ] {
        let error = decode(&frame).unwrap_err();
        assert_eq!(error.to_string(), "MODIFIED event cannot be decoded");
        let object = error.object().unwrap();
        assert_eq!(object.to_string(), "object web/a cannot be decoded at spec.containers[0].name");
        assert_eq!(object.key().unwrap().as_str(), "web/a");
        assert_eq!(object.version(), Some(&ResourceVersion::number(7)));
        assert!(object.source().unwrap().to_string().starts_with("invalid type: integer, expected a string"));
    }
    for object in ["5", "null", r#"{"metadata":{"name":5}}"#] {
        let error = decode(&format!(r#"{{"type":"ADDED","object":{object}}}"#)).unwrap_err();
        assert!(error.object().unwrap().key().is_none(), "{object}");
    }
}

#[test]
fn a_bookmark_without_a_version_is_an_undecodable_object() {
    for metadata in ["{}", r#"{"resourceVersion":""}"#] {
        let error =
            decode(&format!(r#"{{"type":"BOOKMARK","object":{{"metadata":{metadata}}}}}"#)).unwrap_err();
        assert!(error.object().is_some(), "{metadata}");
    }
}

#[test]
fn a_malformed_frame_is_not_an_undecodable_object() {
    let object = json("a");
    for frame in [
        String::new(),
        "{}".into(),
        "[]".into(),
        r#"{"type":"ADDED"}"#.into(),
        format!(r#"{{"object":{object}}}"#),
        format!(r#"{{"type":5,"object":{object}}}"#),
        format!(r#"{{"type":"ADDED","type":"ADDED","object":{object}}}"#),
        format!(r#"{{"type":"ADDED","object":{object},"object":{object}}}"#),
        format!(r#"{{"object":{object},"object":{object},"type":"ADDED"}}"#),
        format!(r#"{{"type":"ADDED","object":{object}}}x"#),
        format!(r#"{{"type":"ADDED","object":{object}"#),
        r#"{"type":"ADDED","object":{"metadata":{"name":5},}}"#.into(),
    ] {
        let error = decode(&frame).unwrap_err();
        assert!(error.object().is_none(), "{frame}");
        assert_eq!(error.to_string(), "malformed watch frame");
    }
}

#[test]
fn an_object_that_is_nested_too_deep_does_not_end_the_watch() {
    let object = format!(r#"{{"metadata":{{"name":"deep"}},"spec":{}{}}}"#, "[".repeat(200), "]".repeat(200));
    let frame = format!(r#"{{"type":"ADDED","object":{object}}}"#);
    let error = WatchEvent::<serde_json::Value>::decode(frame.as_bytes()).unwrap_err();
    assert_eq!(error.object().unwrap().key().unwrap().as_str(), "deep");
}

#[test]
fn invalid_utf8_is_a_malformed_frame() {
    let frame = b"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"\xff\"}}}";
    assert!(WatchEvent::<Pod>::decode(frame).unwrap_err().object().is_none());
}

#[test]
fn decodes_one_object() {
    assert_eq!(decode_object::<Pod>(json("a").as_bytes()).unwrap(), pod("a"));
    let error = decode_object::<Pod>(br#"{"metadata":{"name":"a"},"spec":[]}"#).unwrap_err();
    assert_eq!((error.key().unwrap().as_str(), error.path()), ("a", "spec"));
    assert!(decode_object::<Pod>(b"{} {}").is_err());
}

proptest! {
    #[test]
    fn reads_its_own_output(name in "[a-z]{1,5}", label in "\\PC{0,9}") {
        let mut pod = pod(&name);
        pod.metadata.labels = Some([("l".to_owned(), label)].into());
        let object = serde_json::to_vec(&pod).unwrap();
        let mut lines = JsonLines::new();
        lines.push(encode_event(EventType::Added, &object));
        let frame = lines.next().unwrap().unwrap();
        prop_assert_eq!(WatchEvent::<Pod>::decode(&frame).unwrap(), WatchEvent::Added(pod));
    }

    #[test]
    fn never_panics_on_a_malformed_frame(position: prop::sample::Index, byte: u8, random: Vec<u8>) {
        let line = encode_event(EventType::Modified, json("a").as_bytes());
        let position = position.index(line.len());
        let mut changed = line.to_vec();
        changed[position] = byte;
        for frame in [&line[..position], &changed, &random] {
            let _ = WatchEvent::<Pod>::decode(frame);
        }
        prop_assert!(WatchEvent::<Pod>::decode(&line[..position.min(line.len() - 2)]).unwrap_err().object().is_none());
    }
}
