//! Malformed and unexpected protobuf is reported as an error.

use crate::corpus;
use k8s_openapi::{
    api::core::v1::Pod, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube_informer_wire::{Format, ManagedFields, ObjectError, Raw, Schema, open_protobuf};
use proptest::prelude::*;
use serde_json::Value;
use std::error::Error;

/// Calls every function on an object, which must not panic.
fn try_everything(raw: &Raw) {
    for managed_fields in [ManagedFields::Keep, ManagedFields::Drop] {
        drop(raw.decode::<Value>(managed_fields));
        drop(raw.decode::<Pod>(managed_fields));
        drop(raw.decode::<CustomResourceDefinition>(managed_fields));
    }
    drop(raw.identity());
    drop(raw.without_managed_fields());
}

fn pod(bytes: Vec<u8>) -> Raw {
    Raw::new(Format::ProtobufItem(Schema::of("v1", "Pod").unwrap()), bytes.into())
}

fn describe(error: &ObjectError) -> String {
    format!("{} at {}", error.source().unwrap(), error.path())
}

/// Encodes a length-delimited field.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    let mut length = content.len();
    while length >= 0x80 {
        bytes.push(length as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
    [bytes.as_slice(), content].concat()
}

#[test]
fn truncated_objects_do_not_panic() {
    for object in corpus::all() {
        let raw = open_protobuf(&object.body).unwrap();
        // Every offset would take minutes; a prime step reaches all kinds of them.
        for end in (0..raw.bytes().len()).step_by(61) {
            try_everything(&Raw::new(raw.format(), raw.bytes().slice(..end)));
        }
    }
}

#[test]
fn errors_have_an_offset_and_a_path() {
    let truncated = [0x0a, 0x05, 0x0a];
    let error = pod(truncated.to_vec()).decode::<Pod>(ManagedFields::Keep).unwrap_err();
    assert_eq!(describe(&error), "unexpected end of protobuf at byte 1 at metadata");
    let duplicate = [field(1, &field(1, b"a")), field(2, &[]), field(1, &field(1, b"b"))].concat();
    let error = pod(duplicate).decode::<Pod>(ManagedFields::Keep).unwrap_err();
    assert!(describe(&error).starts_with("duplicate field metadata at byte "), "{}", describe(&error));
    let other = [field(1, &[0x08, 0x01])].concat();
    let error = pod(other).decode::<Pod>(ManagedFields::Keep).unwrap_err();
    assert!(describe(&error).starts_with("field name has the wrong wire type"), "{}", describe(&error));
}

/// Go accepts invalid UTF-8, and writes a replacement character for each invalid byte in JSON.
#[test]
fn invalid_utf8_decodes_as_in_json() {
    let entry = [field(1, b"note"), field(2, b"caf\xe9 \xed\xa0\x80\xf0\x9f\xa6!\xc3\xa9")].concat();
    let bytes = field(1, &[field(1, b"a"), field(12, &entry)].concat());
    let pod = pod(bytes).decode::<Pod>(ManagedFields::Keep).unwrap();
    let expected = "caf\u{fffd} \u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}!é";
    assert_eq!(pod.metadata.annotations.unwrap()["note"], expected);
}

#[test]
fn an_error_has_the_key_and_version_of_its_object() {
    let metadata = [field(1, b"web-0"), field(3, b"shop"), field(5, b"u"), field(6, b"7")].concat();
    let bytes = [field(1, &metadata), field(2, b"\x0a")].concat();
    let error = pod(bytes).decode::<Pod>(ManagedFields::Keep).unwrap_err();
    assert_eq!(error.key().unwrap().as_str(), "shop/web-0");
    assert_eq!(error.version().unwrap().to_number(), Some(7));
}

#[test]
fn entries_of_maps_may_have_fields_in_any_order() {
    let (key, value, unknown) = (field(1, b"k"), field(2, b"v"), field(3, b"?"));
    let long = "v".repeat(300);
    for (entry, expected) in [
        ([key.clone(), value.clone()].concat(), ("k", "v")),
        ([value.clone(), key.clone()].concat(), ("k", "v")),
        ([key.clone(), unknown.clone(), value.clone()].concat(), ("k", "v")),
        ([key.clone(), value.clone(), unknown].concat(), ("k", "v")),
        ([key.clone(), value.clone(), field(2, b"w")].concat(), ("k", "w")),
        ([key.clone(), field(1, b"l"), value.clone()].concat(), ("l", "v")),
        ([key.clone(), field(2, long.as_bytes())].concat(), ("k", &*long)),
        (key.clone(), ("k", "")),
        (value.clone(), ("", "v")),
        (Vec::new(), ("", "")),
    ] {
        let pod: Pod = pod(field(1, &field(11, &entry))).decode(ManagedFields::Keep).unwrap();
        let labels = pod.metadata.labels.unwrap();
        assert_eq!(labels.iter().map(|(key, value)| (&**key, &**value)).collect::<Vec<_>>(), [expected]);
    }
    let wrong = field(1, &field(11, &[field(1, b"\xff"), value].concat()));
    let error = pod(wrong).decode::<Pod>(ManagedFields::Keep).unwrap_err();
    assert!(describe(&error).starts_with("invalid UTF-8 at byte "), "{}", describe(&error));
}

#[test]
fn unknown_fields_are_skipped() {
    // Number 15 is unused, and numbers of two bytes are larger than any in the tables.
    let unknown = [&field(15, b"?")[..], &[0x78, 0x01, 0x80, 0x7f, 0x07]].concat();
    let metadata = [field(1, b"a"), unknown, field(3, b"b")].concat();
    let bytes = [field(1, &metadata), field(15, b"?")].concat();
    let untyped: Value = pod(bytes.clone()).decode(ManagedFields::Keep).unwrap();
    assert!(untyped["metadata"].get("").is_none(), "{untyped}");
    let decoded: Pod = pod(bytes).decode(ManagedFields::Keep).unwrap();
    assert_eq!(
        (decoded.metadata.name.as_deref(), decoded.metadata.namespace.as_deref()),
        (Some("a"), Some("b"))
    );
    for (tag, expected) in [(0x0b, "unsupported wire type 3"), (0x02, "invalid field number 0")] {
        let bytes = field(1, &[&field(1, b"a")[..], &[tag, 0x00]].concat());
        let error = pod(bytes).decode::<Pod>(ManagedFields::Keep).unwrap_err();
        assert!(describe(&error).starts_with(expected), "{}", describe(&error));
        assert!(describe(&error).ends_with(" at byte 5 at metadata"), "{}", describe(&error));
    }
}

#[test]
fn deeply_nested_schemas_are_rejected() {
    let mut schema = Vec::new();
    for _ in 0..2000 {
        // The number of `not` has two bytes.
        schema = [&[0xe2, 0x01][..], &field(1, &schema)[1..]].concat();
    }
    let version = field(4, &field(1, &schema));
    let bytes = field(2, &field(7, &version));
    let schema = Schema::of("apiextensions.k8s.io/v1", "CustomResourceDefinition").unwrap();
    let raw = Raw::new(Format::ProtobufItem(schema), bytes.into());
    let error = raw.decode::<Value>(ManagedFields::Keep).unwrap_err();
    assert!(describe(&error).contains("nested deeper than"), "{}", describe(&error));
    assert!(raw.decode::<CustomResourceDefinition>(ManagedFields::Keep).is_err());
}

#[test]
fn lists_with_too_many_elements_are_rejected() {
    let containers = [0x12, 0x00].repeat(1 << 20);
    let error = pod(field(2, &containers)).decode::<Pod>(ManagedFields::Keep).unwrap_err();
    assert!(describe(&error).contains("a list has more than"), "{}", describe(&error));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_do_not_panic(bytes: Vec<u8>) {
        try_everything(&pod(bytes.clone()));
        try_everything(&Raw::new(Format::Json, bytes.clone().into()));
        drop(open_protobuf(&bytes.into()));
    }

    #[test]
    fn changed_objects_do_not_panic(
        index: prop::sample::Index,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let objects = corpus::all();
        let object = index.get(&objects);
        let mut body = object.body.to_vec();
        for (position, byte) in &changes {
            let position = position.index(body.len());
            body[position] = *byte;
        }
        if let Ok(raw) = open_protobuf(&body.into()) {
            try_everything(&raw);
        }
        let mut json = object.json.to_string().into_bytes();
        for (position, byte) in changes {
            let position = position.index(json.len());
            json[position] = byte;
        }
        try_everything(&Raw::new(Format::Json, json.into()));
    }
}
